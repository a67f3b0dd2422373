package docker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// Clusters implements providers.Lister.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	out, failed := driver.Clusters(id, []string{p.client.Host}, func(string) (out []snapshot.Owner, err error) {
		l, err := p.listings.Get(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		for i := range l.containers {
			if o, ok := driver.OwnerOf(l.containers[i].Labels); ok {
				out = append(out, o)
			}
		}
		return out, nil
	}, &p.found)
	return out, engine.WrapLook("list clusters", fleet.JoinErrors(failed...))
}

// Orphans implements providers.OrphanRemover.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, err := p.lost(ctx, id, clusters)
	return driver.Orphans(found), engine.WrapLook("look for orphans", err)
}

// lost looks for orphans, with a new listing.
func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) (out []driver.Lost[engine.Container], err error) {
	all, err := p.client.Containers(ctx, fleet.TagFleet+"="+string(id))
	slices.SortFunc(all, func(a, b engine.Container) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, x := range all {
		if !driver.IsLost(x.Labels, id, clusters) {
			continue
		}
		k, _ := fleet.ParseKey(x.Labels[fleet.TagCluster])
		out = append(out, driver.Lost[engine.Container]{Thing: x, Orphan: fleet.Orphan{
			Provider: api.ProviderName, Place: p.place().ID, Cluster: k, Kind: "container", ID: x.ID, Name: x.Name(),
			Reason: "it is of cluster " + x.Labels[fleet.TagCluster] + ", which the fleet does not have", Created: time.Unix(x.Created, 0).UTC(),
		}})
	}
	return out, err
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Name
	found, err := p.lost(ctx, id, clusters)
	is := driver.Find(found, o)
	if is == nil {
		return engine.WrapLook(op, err)
	}
	owner := snapshot.Owner{Fleet: id, Cluster: o.Cluster}
	defer p.listings.Changed(owner)
	p.found.Forget(owner)
	now, there, err := p.client.Container(ctx, is.Thing.ID)
	if err != nil || !there || now.Labels[fleet.TagCluster] != o.Cluster.String() || !driver.IsLost(now.Labels, id, clusters) {
		return engine.WrapLook(op, err)
	}
	return engine.Wrap(op, p.client.Remove(ctx, is.Thing.ID))
}
