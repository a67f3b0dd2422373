package metal3

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// orphanHost is the kind of an orphan.
const orphanHost = "host"

// Orphans implements providers.OrphanRemover: hosts that machines of clusters have which are
// gone.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	sites, failed := p.allSites(ctx, clusters)
	var out []fleet.Orphan
	seen := make(map[string]bool) // nodes: two accounts, or two addresses, may lead to one Ironic
	for _, s := range sites {
		l, err := s.listings.Get(ctx, snapshot.Owner{})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, n := range l.orphaned(id, clusters) {
			if !seen[n.UUID] {
				out = append(out, orphan(s, l, n))
			}
			seen[n.UUID] = true
		}
	}
	slices.SortFunc(out, func(a, b fleet.Orphan) int {
		return cmp.Or(a.Cluster.Compare(b.Cluster), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
	return out, ironic.WrapLook("look for orphans", fleet.JoinErrors(failed...))
}

// allSites returns the Ironics of clusters, each account of each once.
func (p *Provider) allSites(ctx context.Context, clusters []*fleet.Cluster) (out []*site, failed []error) {
	for _, c := range clusters {
		s, _, err := p.siteOf(ctx, c)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, failed
}

// orphaned returns the nodes that machines of fleet id have whose clusters are none of known.
func (l *listing) orphaned(id fleet.ID, known []*fleet.Cluster) []*ironic.Node {
	there := make(map[string]bool)
	for _, c := range known {
		there[c.Key.String()] = true
	}
	var out []*ironic.Node
	for i := range l.nodes {
		n := &l.nodes[i]
		if tags := l.machineTags(n); tags != nil && tags[fleet.TagFleet] == string(id) && !there[tags[fleet.TagCluster]] {
			out = append(out, n)
		}
	}
	return out
}

func orphan(s *site, l *listing, n *ironic.Node) fleet.Orphan {
	tags := l.machineTags(n)
	k, _ := fleet.ParseKey(tags[fleet.TagCluster])
	name := n.Name
	if namespace, host, ok := machine.ParseNodeName(n.Name); ok {
		name = namespace + "/" + host
	}
	return fleet.Orphan{
		Provider: api.ProviderName, Place: s.place().ID, Cluster: k, Kind: orphanHost, ID: n.UUID, Name: name,
		Reason: fmt.Sprintf("it has machine %s of cluster %s, which the fleet does not have", tags[fleet.TagMachine], tags[fleet.TagCluster]), Created: createdOf(tags),
	}
}

// RemoveOrphan implements providers.OrphanRemover: the host is released, and stays enrolled.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Name
	sites, failed := p.allSites(ctx, clusters)
	for _, s := range sites {
		if s.place().ID != o.Place {
			continue
		}
		owner := snapshot.Owner{Fleet: id, Cluster: o.Cluster}
		s.listings.Changed(owner) // what is decided on is as new as can be
		l, err := s.listings.Get(ctx, owner)
		if err != nil {
			return ironic.WrapLook(op, err)
		}
		for _, n := range l.orphaned(id, clusters) {
			if n.UUID != o.ID {
				continue
			}
			defer s.listings.Changed(owner)
			p.found.Forget(owner)
			return s.releaseOrphan(ctx, op, l, n)
		}
		return nil
	}
	return ironic.WrapLook(op, fleet.JoinErrors(failed...))
}

// releaseOrphan releases n, whose cluster is gone.
func (s *site) releaseOrphan(ctx context.Context, op string, l *listing, n *ironic.Node) error {
	tags := l.machineTags(n)
	now, err := s.client.Node(ctx, n.UUID)
	if err != nil {
		return wrap(op, err)
	}
	r := recordOf(&now)
	if !r.occupied(&now) || now.Instance != n.Instance || lifeOf(r.ownerTags(&now)) != lifeOf(tags) {
		return nil // it is another machine's since, or nobody's
	}
	n = &now
	if damage := r.damage(n, tags); damage != "" {
		return fleet.Errorf(fleet.Conflict, op, "what it is is not certain: %s", damage)
	}
	if n.Fault == ironic.PowerFault {
		return fleet.Errorf(fleet.Unavailable, op, "its BMC does not answer: Ironic would forget whose it is while the machine runs on")
	}
	if other := l.sharer(n); other != nil {
		return fleet.Errorf(fleet.Conflict, op, "%s", sharedWith("node "+nameOf(other)+" of Ironic"))
	}
	switch n.State {
	case ironic.Deleting:
		return nil
	case ironic.Available, ironic.Manageable:
		return wrap(op, s.client.Unclaim(ctx, n.UUID, n.Instance))
	}
	return wrap(op, s.client.Undeploy(ctx, n.UUID))
}
