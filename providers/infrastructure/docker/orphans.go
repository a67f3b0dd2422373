package docker

import (
	"context"
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
func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]driver.Lost[engine.Container], error) {
	s := driver.Search[string, engine.Container]{
		Places: func(*fleet.Cluster) ([]string, error) { return []string{p.client.Host}, nil },
		Same:   func(a, b string) (bool, error) { return a == b, nil },
		List: func(string) (out []driver.Lost[engine.Container], err error) {
			all, err := p.client.Containers(ctx, fleet.TagFleet+"="+string(id))
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
		},
	}
	if len(clusters) == 0 { // the place is there all the same
		clusters = []*fleet.Cluster{{}}
	}
	found, failed := s.In(clusters)
	return found, fleet.JoinErrors(failed...)
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
