package aws

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// A lost is something of a cluster that is in no Git, and how it goes.
type lost struct {
	place  *cloud.Place
	owner  snapshot.Owner
	remove func(ctx context.Context) error
}

// Orphans implements providers.OrphanRemover.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, err := p.lost(ctx, id, clusters)
	return driver.Orphans(found), err
}

// RemoveOrphan implements providers.OrphanRemover. What others still depend on is refused by AWS, and goes once they
// went.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Kind + " " + o.Name
	found, unseen := p.lost(ctx, id, clusters)
	is := driver.Find(found, o)
	if is == nil {
		return cloud.WrapLook(op, unseen) // what was not observed may be there
	}
	defer is.Thing.place.Changed(is.Thing.owner)
	return cloud.Wrap(op, is.Thing.remove(ctx))
}

func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]driver.Lost[lost], error) {
	s := driver.Search[*cloud.Place, lost]{
		Places: func(c *fleet.Cluster) ([]*cloud.Place, error) {
			if c.Provider != api.ProviderName {
				return nil, nil
			}
			spec, err := api.ReadShared(c)
			if err != nil {
				return nil, err
			}
			at, err := p.accounts.Place(ctx, c, spec)
			return []*cloud.Place{at}, err
		},
		Same: func(a, b *cloud.Place) (bool, error) {
			one, err := a.ID(ctx)
			if err != nil {
				return false, err
			}
			other, err := b.ID(ctx)
			return one == other, err
		},
		List: func(at *cloud.Place) ([]driver.Lost[lost], error) { return lostIn(ctx, at, id, clusters) },
	}
	found, failed := s.In(clusters)
	return found, cloud.WrapLook("list orphans", fleet.JoinErrors(failed...))
}

// lostIn returns what is lost in a place.
func lostIn(ctx context.Context, at *cloud.Place, id fleet.ID, clusters []*fleet.Cluster) ([]driver.Lost[lost], error) {
	s, err := at.Snapshot(ctx, snapshot.Owner{})
	if err != nil {
		return nil, err
	}
	name, err := at.ID(ctx)
	if err != nil {
		return nil, err
	}
	var out []driver.Lost[lost]
	add := func(kind, thing, named string, tags cloud.Tags, remove func(ctx context.Context) error) {
		if !driver.IsLost(tags, id, clusters) {
			return
		}
		o, _ := driver.OwnerOf(tags)
		out = append(out, driver.Lost[lost]{
			Orphan: fleet.Orphan{Provider: api.ProviderName, Place: name, Cluster: o.Cluster, Kind: kind, ID: thing, Name: named, Reason: "its cluster is not in Git"},
			Thing:  lost{at, o.Part(fleet.MachineName(tags[fleet.TagMachine])), remove},
		})
	}
	for _, i := range s.Instances.All {
		if i.Ended() {
			continue
		}
		add("instance", i.ID, i.Tags[nameTag], i.Tags, func(ctx context.Context) error {
			if _, same, err := (&view{place: at}).again(ctx, i); err != nil || !same {
				return err
			}
			return at.Terminate(ctx, i.ID)
		})
	}
	for _, x := range s.Secrets.All {
		add("secret", x.ID, x.Name, x.Tags, func(ctx context.Context) error { return at.Drop(ctx, x) })
	}
	parameters, unlisted := parametersOf(ctx, at, id, clusters)
	for _, x := range parameters {
		add("parameter", x.Name, x.Name, x.Tags, func(ctx context.Context) error { return at.Drop(ctx, x) })
	}
	for _, b := range s.Balancers.All {
		add("load balancer", b.ID, b.Name, b.Tags, func(ctx context.Context) error { return at.DeleteBalancer(ctx, b) })
	}
	for _, t := range s.Targets.All {
		add("target group", t.ID, t.Name, t.Tags, func(ctx context.Context) error { return at.DeleteTargetGroup(ctx, t.ID) })
	}
	for _, g := range s.Groups.All {
		add("security group", g.ID, g.Name, g.Tags, func(ctx context.Context) error {
			if err := clearGroup(ctx, at, g); err != nil {
				return err
			}
			return at.DeleteGroup(ctx, g.ID)
		})
	}
	for _, n := range s.NATs.All {
		add("NAT gateway", n.ID, n.Tags[nameTag], n.Tags, func(ctx context.Context) error { return at.DeleteNAT(ctx, n.ID) })
	}
	for _, a := range s.Addresses.All {
		add("address", a.ID, a.IP, a.Tags, func(ctx context.Context) error { return at.ReleaseAddress(ctx, a.ID) })
	}
	for _, x := range s.Subnets.All {
		add("subnet", x.ID, x.Tags[nameTag], x.Tags, func(ctx context.Context) error { return at.DeleteSubnet(ctx, x.ID) })
	}
	for _, t := range s.Tables.All {
		add("route table", t.ID, t.Tags[nameTag], t.Tags, func(ctx context.Context) error { return at.DeleteTable(ctx, t.ID) })
	}
	for _, g := range s.Gateways.All {
		add("internet gateway", g.ID, g.Tags[nameTag], g.Tags, func(ctx context.Context) error {
			if g.VPC != "" {
				if err := at.DetachGateway(ctx, g.ID, g.VPC); err != nil {
					return err
				}
			}
			return at.DeleteGateway(ctx, g.ID)
		})
	}
	if slices.ContainsFunc(s.VPCs.All, func(n cloud.VPC) bool { return len(n.Six) > 0 && n.Tags[fleet.TagFleet] != "" }) {
		egresses, err := at.Egresses(ctx, "tag:"+fleet.TagFleet, string(id))
		if err != nil {
			return nil, err
		}
		for _, g := range egresses {
			add("egress-only internet gateway", g.ID, g.Tags[nameTag], g.Tags, func(ctx context.Context) error { return at.DeleteEgress(ctx, g.ID) })
		}
	}
	for _, n := range s.VPCs.All {
		add("VPC", n.ID, n.Tags[nameTag], n.Tags, func(ctx context.Context) error { return at.DeleteVPC(ctx, n.ID) })
	}
	some := slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return c.Hosted != nil && c.ControlPlaneKind() == ManagedControlPlane })
	err = managedIn(ctx, at, some, func(k *cloud.ManagedCluster) {
		add("cluster of EKS", k.ARN, k.Name, k.Tags, func(ctx context.Context) error { return dropManaged(ctx, at, k) })
	})
	launched := templatesIn(ctx, at, id, slices.ContainsFunc(clusters, usesTemplates), func(t cloud.LaunchTemplate) {
		add("launch template", t.ID, t.Name, t.Tags, func(ctx context.Context) error { return at.DeleteTemplate(ctx, t.ID) })
	})
	untrusted := trustsIn(ctx, at, slices.ContainsFunc(clusters, associates), func(t *cloud.Trust) {
		add("OIDC provider", t.ARN, t.ARN[strings.LastIndexByte(t.ARN, '/')+1:], t.Tags, func(ctx context.Context) error { return at.DeleteTrust(ctx, t.ARN) })
	})
	return out, fleet.JoinErrors(unlisted, err, launched, untrusted)
}

// templatesIn calls each with the launch templates of a fleet. Credentials that may list none made none, unless there have to be some.
func templatesIn(ctx context.Context, at *cloud.Place, id fleet.ID, some bool, each func(t cloud.LaunchTemplate)) error {
	all, err := at.LaunchTemplates(ctx, "tag:"+fleet.TagFleet, string(id))
	if !some && fleet.KindOf(cloud.WrapLook("list launch templates", err)) == fleet.Unauthorized {
		return nil
	}
	for _, t := range all {
		each(t)
	}
	return err
}

// parametersOf returns the user data of machines of a fleet that is in parameters of SSM, with tags that follow from the names.
// Credentials that may list none keep none, unless clusters in Git have some.
func parametersOf(ctx context.Context, at *cloud.Place, id fleet.ID, clusters []*fleet.Cluster) ([]cloud.Secret, error) {
	path := pathOf(id)
	all, err := at.Stored(ctx, cloud.ParameterStore, path)
	err = cloud.WrapLook("list parameters", err)
	if fleet.KindOf(err) == fleet.Unauthorized && !slices.ContainsFunc(clusters, usesParameters) {
		return nil, nil
	}
	for i := range all {
		if parts := strings.Split(strings.TrimPrefix(all[i].Name, path), "/"); len(parts) > 3 {
			all[i].Tags = cloud.Tags{fleet.TagFleet: string(id), fleet.TagCluster: parts[0] + "/" + parts[1], fleet.TagMachine: parts[2]}
		}
	}
	return all, err
}

// managedIn calls each with the clusters of EKS in a place that carry tags of a fleet. Unless there have to be some,
// credentials that may list none are taken for those of EC2 alone, which make none. One that cannot be seen hides none of
// the others.
func managedIn(ctx context.Context, at *cloud.Place, some bool, each func(k *cloud.ManagedCluster)) error {
	names, err := at.ManagedClusters(ctx)
	if !some && fleet.KindOf(cloud.WrapLook("list clusters of EKS", err)) == fleet.Unauthorized {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		k, err := at.ManagedCluster(ctx, name)
		switch {
		case cloud.IsNotFound(err): // it went meanwhile
		case err != nil:
			errs = append(errs, err)
		case k.Tags[fleet.TagFleet] != "" && k.Status != cloud.Deleting:
			each(k)
		}
	}
	return fleet.JoinErrors(errs...)
}

// dropManaged deletes the node groups of a cluster, then its Fargate profiles, and once they are gone the cluster. One without its tags is of
// others.
func dropManaged(ctx context.Context, at *cloud.Place, k *cloud.ManagedCluster) error {
	name := k.Name
	groups, err := at.Nodegroups(ctx, name)
	if cloud.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		found, err := dropFargate(ctx, at, name, false, func(tags map[string]string) bool {
			return tags[fleet.TagFleet] == k.Tags[fleet.TagFleet] && tags[fleet.TagCluster] == k.Tags[fleet.TagCluster]
		})
		if err != nil {
			return err
		}
		if found {
			return fleet.Errorf(fleet.Unavailable, "delete cluster "+name, "its Fargate profiles are being deleted first")
		}
		return busyNow(at.DeleteManagedCluster(ctx, name))
	}
	for _, g := range groups {
		is, err := at.Nodegroup(ctx, name, g)
		switch {
		case cloud.IsNotFound(err):
		case err != nil:
			return err
		case is.Tags[fleet.TagFleet] != k.Tags[fleet.TagFleet] || is.Tags[fleet.TagCluster] != k.Tags[fleet.TagCluster]:
			return fleet.Errorf(fleet.Conflict, "delete cluster "+name, "node group %s has not its tags (delete it in AWS)", g)
		}
	}
	var errs []error
	for _, g := range groups {
		errs = append(errs, busyNow(at.DeleteNodegroup(ctx, name, g)))
	}
	errs = append(errs, fleet.Errorf(fleet.Unavailable, "delete cluster "+name, "its node groups are being deleted first"))
	return fleet.JoinErrors(errs...)
}

// clearGroup revokes the rules of a security group that name others, which cannot be deleted before.
func clearGroup(ctx context.Context, at *cloud.Place, g cloud.Group) error {
	rules := slices.DeleteFunc(slices.Clone(g.Rules), func(r cloud.Rule) bool { return len(r.Source) < 3 || r.Source[:3] != "sg-" || r.Source == g.ID })
	if len(rules) == 0 {
		return nil
	}
	return at.Revoke(ctx, g.ID, rules...)
}
