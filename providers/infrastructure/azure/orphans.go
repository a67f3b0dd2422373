package azure

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A lost is something of a cluster that is in no Git.
type lost struct {
	site *site
	id   string
}

// everything lists what is in a subscription: a copy that Azure keeps, and that may be late. Nothing is concluded from
// what is not in there. Azure can filter by tags, and leaves the tags out then.
// Source: Azure REST API, Resources, List.
func (s *site) everything(ctx context.Context) ([]arm.Resource[arm.State], error) {
	at := "/subscriptions/" + s.Subscription()
	out, err := arm.List[arm.Resource[arm.State]](ctx, s.Client, at+"/resources")
	if err != nil {
		return nil, err
	}
	groups, err := arm.List[arm.Resource[arm.State]](ctx, s.Client, at+"/resourcegroups")
	for i := range groups {
		groups[i].Type = resourceGroups
	}
	made := make(map[string]bool) // groups of services such as AKS, which give what is in them the tags of the cluster
	for _, g := range groups {
		made[strings.ToLower(g.ID)] = g.ManagedBy != ""
	}
	return slices.DeleteFunc(append(out, groups...), func(r arm.Resource[arm.State]) bool {
		seg := strings.Split(strings.ToLower(r.ID), "/")
		return made[strings.Join(seg[:min(5, len(seg))], "/")]
	}), err
}

const resourceGroups = "Microsoft.Resources/resourceGroups"

// orphanKinds are the kinds of orphans.
func orphanKinds() []string {
	return []string{arm.ManagedClusters, arm.VMs, arm.Sets, arm.NICs, arm.Disks, arm.Balancers, arm.Zones, arm.Bastions, arm.Endpoints, arm.VNets, arm.NATs, arm.NSGs, arm.RouteTables, arm.PublicIPs, resourceGroups}
}

// Orphans implements providers.OrphanRemover.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, err := p.lost(ctx, id, clusters)
	return driver.Orphans(found), err
}

func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]driver.Lost[lost], error) {
	s := driver.Search[*site, lost]{
		Places: func(c *fleet.Cluster) ([]*site, error) {
			if c.Provider != api.ProviderName {
				return nil, nil
			}
			spec, err := api.ReadShared(c)
			if err != nil {
				return nil, err
			}
			at, err := p.placeOf(ctx, c, spec)
			if err != nil {
				return nil, err
			}
			return []*site{at.site}, nil
		},
		Same: func(a, b *site) (bool, error) { return a == b, nil },
		List: func(s *site) (out []driver.Lost[lost], err error) {
			list, err := s.everything(ctx)
			for _, r := range list {
				tags := tagsFrom(r.Tags)
				if !driver.IsLost(tags, id, clusters) || !slices.ContainsFunc(orphanKinds(), func(k string) bool { return strings.EqualFold(k, r.Type) }) {
					continue
				}
				k, _ := fleet.ParseKey(tags[fleet.TagCluster])
				key := strings.ToLower(r.ID)
				out = append(out, driver.Lost[lost]{Thing: lost{s, r.ID}, Key: key, Orphan: fleet.Orphan{
					Provider: api.ProviderName, Place: s.String(), Cluster: k, Kind: r.Type[strings.LastIndexByte(r.Type, '/')+1:], ID: r.ID, Name: r.Name, Reason: "its cluster is not in Git",
				}})
			}
			return out, err
		},
	}
	found, failed := s.In(clusters)
	return found, arm.WrapLook("list orphans", fleet.JoinErrors(failed...))
}

// RemoveOrphan implements providers.OrphanRemover. What others still use is refused by Azure, and goes once they went.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Kind + " " + o.Name
	found, unseen := p.lost(ctx, id, clusters)
	is := driver.Find(found, o)
	if is == nil {
		return arm.WrapLook(op, unseen) // what was not observed may be there
	}
	s := is.Thing.site
	var now arm.Resource[struct {
		arm.State
		Endpoint *arm.Ref `json:"privateEndpoint"` // of an interface
	}]
	switch err := s.Get(ctx, is.Thing.id, &now); {
	case arm.IsMissing(err):
		return nil
	case err != nil:
		return arm.WrapLook(op, err)
	case !driver.IsLost(tagsFrom(now.Tags), id, clusters), tagsFrom(now.Tags)[fleet.TagCluster] != o.Cluster.String(), now.Properties.Provisioning == "Deleting":
		return nil
	case now.Properties.Endpoint != nil && slices.ContainsFunc(found, func(l driver.Lost[lost]) bool { return arm.Same(l.Thing.id, now.Properties.Endpoint.ID) }):
		return nil // it goes with its private endpoint
	}
	if seg := strings.Split(is.Thing.id, "/"); len(seg) > 4 {
		defer s.place(seg[4]).lists.Changed(snapshot.Owner{Fleet: id, Cluster: o.Cluster})
	}
	if strings.EqualFold(o.Kind, "privateDnsZones") {
		if unlinked, err := s.unlink(ctx, is.Thing.id); err != nil || !unlinked {
			return arm.Wrap(op, err)
		}
	}
	if strings.EqualFold(o.Kind, "managedClusters") {
		if err := s.onlyOf(ctx, is.Thing.id, o); err != nil {
			return arm.WrapLook(op, err)
		}
	}
	if strings.EqualFold(o.Kind, "resourceGroups") {
		if err := s.place(is.Thing.id[strings.LastIndexByte(is.Thing.id, '/')+1:]).empty(ctx); err != nil {
			return arm.WrapLook(op, err)
		}
	}
	return arm.Wrap(op, s.Delete(ctx, is.Thing.id))
}

// onlyOf returns an error if a cluster of AKS has agent pools that are not of the orphan o: they would go with it.
func (s *site) onlyOf(ctx context.Context, id string, o fleet.Orphan) error {
	pools, err := arm.List[arm.Resource[arm.AgentPool]](ctx, s.Client, id+"/agentPools")
	if err != nil && !arm.IsMissing(err) {
		return err
	}
	for _, p := range pools {
		if tagsFrom(p.Properties.Tags)[fleet.TagCluster] != o.Cluster.String() {
			return fleet.Errorf(fleet.Conflict, "", "agent pool %s of it is not of the fleet, and would go with it (delete it in Azure)", p.Name)
		}
	}
	return nil
}

// unlink deletes the links of a private zone, and reports whether there are none any more.
func (s *site) unlink(ctx context.Context, zone string) (bool, error) {
	links, err := arm.List[arm.Resource[arm.Link]](ctx, s.Client, zone+"/virtualNetworkLinks")
	if err != nil {
		return false, arm.WrapLook("list links of the zone", err)
	}
	for _, l := range links {
		if err := s.Delete(ctx, l.ID); err != nil {
			return false, err
		}
	}
	return len(links) == 0, nil
}
