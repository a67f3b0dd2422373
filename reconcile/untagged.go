package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// lookForUntagged adds to o the machines of c behind Nodes that no machine is matched with, where a
// provider finds them by the ids of these Nodes: somebody took off their tags. They are damaged, and
// thus held: nothing is done to them, and none is made in their place. A cluster that is paused may
// have no tags yet.
func (l *Looker) lookForUntagged(ctx context.Context, c *fleet.Cluster, o *fleet.Observed) error {
	if c.Paused {
		return nil
	}
	nodes := make(map[fleet.ProviderID]*fleet.Node)
	kept := make(map[fleet.ProviderID]bool) // machines that a cloud keeps carry no tags of ours
	for _, p := range o.Infrastructure.Pools {
		for _, id := range p.Machines {
			kept[fleet.ProviderID(strings.ToLower(string(id)))] = true
		}
	}
	var ids []fleet.ProviderID
	for i := range o.Workload.Nodes {
		n := &o.Workload.Nodes[i]
		known := slices.ContainsFunc(o.Infrastructure.Machines, func(m fleet.Machine) bool {
			return m.Name == fleet.MachineName(n.Name) || strings.EqualFold(string(m.ProviderID), string(n.ProviderID))
		})
		if id := fleet.ProviderID(strings.ToLower(string(n.ProviderID))); id != "" && !known && !kept[id] && n.IsOf(c.Key) {
			nodes[id], ids = n, append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for _, provider := range append([]string{""}, c.GuestProviders()...) {
		if silent(o, provider) {
			continue
		}
		infra, err := l.o.Infrastructure(cmp.Or(provider, c.Provider))
		if err != nil {
			return err
		}
		finder := providers.AbilitiesOf(infra).UntaggedFinder
		if finder == nil {
			continue
		}
		found, err := finder.Untagged(ctx, c.At(provider), ids)
		if err != nil {
			return fmt.Errorf("cannot find what is behind Nodes of %s without a machine: %w", c.Key, err)
		}
		for _, m := range found {
			o.Infrastructure.Machines = append(o.Infrastructure.Machines, named(c, nodes[m.ProviderID], m, provider))
		}
	}
	slices.SortStableFunc(o.Infrastructure.Machines, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	return nil
}

// silent reports whether the site of a provider could not be observed.
func silent(o *fleet.Observed, provider string) bool {
	if provider == "" {
		return o.Silence != ""
	}
	return slices.ContainsFunc(o.Guests, func(g fleet.GuestSeen) bool { return g.Provider == provider && g.Silence != "" })
}

// named returns m, which n is on, with the name and the pool that n says.
func named(c *fleet.Cluster, n *fleet.Node, m fleet.Machine, provider string) fleet.Machine {
	m.Provider = provider
	if n == nil {
		return m
	}
	m.Name = n.Machine()
	if p, ok := c.PoolOfNode(n); ok {
		m.Pool, m.Role = p.Name, p.Role
	}
	return m
}
