package metal3

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// orphanHost is the kind of an orphan.
const orphanHost = "host"

// A lostHost is a host that a machine has whose cluster is gone.
type lostHost struct {
	site    *site
	listing *listing
	node    *ironic.Node
}

// Orphans implements providers.OrphanRemover: hosts that machines of clusters have which are
// gone.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, failed := p.lost(ctx, id, clusters, nil)
	return driver.Orphans(found), ironic.WrapLook("look for orphans", fleet.JoinErrors(failed...))
}

// lost looks for them; where only is one of them, in its Ironic alone, with a new listing: it is to be removed.
func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, only *fleet.Orphan) ([]driver.Lost[lostHost], []error) {
	s := driver.Search[*site, lostHost]{
		Places: func(c *fleet.Cluster) ([]*site, error) {
			s, _, err := p.siteOf(ctx, c)
			return []*site{s}, err
		},
		Same: func(a, b *site) (bool, error) { return a == b, nil },
		List: func(s *site) (out []driver.Lost[lostHost], err error) {
			var owner snapshot.Owner
			if only != nil {
				if s.place().ID != only.Place {
					return nil, nil
				}
				owner = snapshot.Owner{Fleet: id, Cluster: only.Cluster}
				s.listings.Changed(owner)
			}
			l, err := s.listings.Get(ctx, owner)
			if err != nil {
				return nil, err
			}
			for i := range l.nodes {
				n := &l.nodes[i]
				if driver.IsLost(l.machineTags(n), id, clusters) { // two accounts, or two addresses, may lead to one Ironic
					out = append(out, driver.Lost[lostHost]{Orphan: orphan(s, l, n), Key: n.UUID, Thing: lostHost{s, l, n}})
				}
			}
			return out, nil
		},
	}
	return s.In(clusters)
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
	owner := snapshot.Owner{Fleet: id, Cluster: o.Cluster}
	found, failed := p.lost(ctx, id, clusters, &o)
	is := driver.Find(found, o)
	if is == nil {
		return ironic.WrapLook(op, fleet.JoinErrors(failed...)) // an unread host may be there
	}
	s := is.Thing.site
	defer s.listings.Changed(owner)
	p.found.Forget(owner)
	return s.releaseOrphan(ctx, op, is.Thing.listing, is.Thing.node)
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
		return nil // another machine has it since, or none
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
