package metal3

import (
	"context"
	"crypto/sha256"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// Watch implements providers.Watcher: it lists each Ironic in use, seldom while nothing is under
// way there.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.watch.Run(ctx, p.o.Tick, func(ctx context.Context, s *site) (snapshot.View, error) {
		l, err := s.listings.Get(ctx, snapshot.Owner{})
		if err != nil {
			return snapshot.View{}, err
		}
		return p.view(s, l), nil
	}, changed)
}

// view returns how clusters look: the hosts that their machines have, and the hosts of their
// namespace without a consumer.
func (p *Provider) view(s *site, l *listing) snapshot.View {
	out := snapshot.View{Prints: make(map[snapshot.Owner]string)}
	free := make(map[string]string) // by namespace
	for i := range l.nodes {
		n := &l.nodes[i]
		namespace, _, _ := machine.ParseNodeName(n.Name)
		sum := sha256.Sum256(fmt.Append(nil, n.Name, n.State, n.Target, n.Power, n.Fault, n.Maintenance, n.LastError, n.Instance, n.Extra))
		if tags := l.machineTags(n); tags != nil {
			o, _ := driver.OwnerOf(tags)
			out.Prints[o] += string(sum[:])
		} else {
			free[namespace] += string(sum[:])
		}
		out.Busy = out.Busy || underWay(n) || n.PowerTarget != ""
	}
	for o := range p.watch.In(s) {
		sum := sha256.Sum256([]byte(out.Prints[o] + free[o.Cluster.Namespace]))
		out.Prints[o] = string(sum[:])
	}
	return out
}

// Clusters implements providers.Lister: of the Ironics that this process uses, and those that it
// made ready.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	out, failed := driver.Clusters(id, p.watch.Places(), func(s *site) ([]snapshot.Owner, error) {
		l, err := s.listings.Get(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		var out []snapshot.Owner
		for i := range l.nodes {
			if o, ok := driver.OwnerOf(l.machineTags(&l.nodes[i])); ok {
				out = append(out, o)
			}
		}
		return out, nil
	}, &p.found)
	return out, ironic.WrapLook("list clusters", fleet.JoinErrors(failed...))
}

// machineTags returns the tags of the machine that has n; nil: none of Fairlead's does.
func (l *listing) machineTags(n *ironic.Node) map[string]string {
	r := l.records[n.UUID]
	if !r.occupied(n) {
		return nil
	}
	return r.ownerTags(n)
}
