package inmemory

import (
	"cmp"
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
)

// The kinds of orphan, in the order in which they can be removed.
const (
	orphanVM      = "server"
	orphanPool    = "pool" // that the cloud keeps
	orphanNetwork = "network"
)

// Orphans implements providers.OrphanRemover: a machine, a pool or a network is one whose
// cluster is none of clusters.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	const op = "list orphans"
	tags := map[string]string{fleet.TagFleet: string(id)}
	got, err := p.list(ctx, tags, tags)
	if err != nil {
		return nil, wrap(op, err)
	}
	var out []fleet.Orphan
	add := func(o fleet.Orphan, tags map[string]string) {
		if !driver.IsLost(tags, id, clusters) {
			return
		}
		key := tags[fleet.TagCluster]
		o.Provider, o.Place = ProviderName, "memory"
		o.Cluster, _ = fleet.ParseKey(key) // zero where it is none
		o.Reason = "the fleet has no cluster " + key
		out = append(out, o)
	}
	for _, v := range got.vms {
		if v.State != fleet.MachineDeleting && v.owned() {
			add(fleet.Orphan{Kind: orphanVM, ID: v.ID, Name: v.Name, Created: v.Created}, v.Tags)
		}
	}
	for _, pool := range poolsIn(got.networks) {
		if pool.State != fleet.KeptDeleting {
			add(fleet.Orphan{Kind: orphanPool, ID: pool.ID, Name: pool.Name, Created: pool.Created}, pool.Tags)
		}
	}
	for _, n := range got.networks {
		add(fleet.Orphan{Kind: orphanNetwork, ID: n.ID, Name: n.Name, Created: n.Created}, n.Tags)
	}
	slices.SortFunc(out, func(a, b fleet.Orphan) int {
		return cmp.Or(a.Cluster.Compare(b.Cluster), -cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove " + o.Kind + " " + o.Name
	for range 2 { // a listing may be old when somebody acts on it
		now, err := p.Orphans(ctx, id, clusters)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(now, func(n fleet.Orphan) bool { return n.Kind == o.Kind && n.ID == o.ID && n.Cluster == o.Cluster }) {
			return nil // gone, or somebody's
		}
	}
	remove := p.api.DeleteNetwork
	if o.Kind == orphanVM {
		remove = p.api.DeleteVM
	}
	if cloud, ok := p.api.(Pools); ok && o.Kind == orphanPool {
		remove = cloud.DeletePool
	}
	return wrap(op, ignoreNotFound(remove(ctx, o.ID)))
}
