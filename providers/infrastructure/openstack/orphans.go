package openstack

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/image"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// Orphans implements providers.OrphanRemover. It looks at every project that clusters
// are in.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, err := p.lost(ctx, id, clusters)
	return driver.Orphans(found), err
}

// lostIn is where something lost was seen.
type lostIn struct {
	project  *cloud.Project
	snapshot *cloud.Snapshot
}

func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]driver.Lost[lostIn], error) {
	gone := machine.Gone{Fleet: id, Clusters: make(map[fleet.Key]bool), Pools: make(map[fleet.Key]map[string]bool)}
	keys := keysOf(clusters)
	var ended []snapshot.Owner // whose deletion Git asks for
	for _, c := range clusters {
		gone.Clusters[c.Key] = true
		gone.Pools[c.Key] = pools{c}.names()
		if c.Delete {
			ended = append(ended, snapshot.OwnerOf(c))
		}
	}
	s := driver.Search[*cloud.Project, lostIn]{
		Places: func(c *fleet.Cluster) ([]*cloud.Project, error) {
			if c.Provider != api.ProviderName {
				return nil, nil
			}
			projects, _, err := p.projects(ctx, c)
			return projects, err
		},
		Same: func(a, b *cloud.Project) (bool, error) { return a.Same(ctx, b) },
		List: func(project *cloud.Project) ([]driver.Lost[lostIn], error) {
			s, err := project.Snapshot(ctx, snapshot.Owner{})
			if err != nil {
				return nil, err
			}
			name, err := project.Name(ctx)
			if err != nil {
				return nil, err
			}
			left := make(map[fleet.Key]machine.Observation)
			for _, c := range clusters {
				left[c.Key] = p.keeper.Observe(project, s, c)
			}
			gone.Left = func(o snapshot.Owner) bool { return left[o.Cluster].Left(o) }
			images, err := image.Orphans(ctx, project, s, id, haveImages(clusters))
			var out []driver.Lost[lostIn]
			for _, o := range slices.Concat(machine.Orphans(s, gone), network.Orphans(s, id, keys), network.Ended(s, ended, keys), images) {
				o.Provider, o.Place = api.ProviderName, name
				out = append(out, driver.Lost[lostIn]{Orphan: o, Thing: lostIn{project, s}})
			}
			return out, err
		},
	}
	found, failed := s.In(clusters)
	return found, openstackauth.WrapLook("list orphans", fleet.JoinErrors(failed...))
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Kind + " " + o.Name
	found, unseen := p.lost(ctx, id, clusters)
	is := driver.Find(found, o)
	switch {
	case is == nil:
		return openstackauth.WrapLook(op, unseen) // what was not observed may be there
	case is.Kind == image.KindOrphan:
		return openstackauth.Wrap(op, image.RemoveOrphan(ctx, is.Thing.project, is.Thing.snapshot, id, is.Orphan))
	case strings.HasSuffix(is.Reason, network.Unproven):
		return fleet.Errorf(fleet.Conflict, op, "nothing but its name says that it was made for cluster %s (see whose it is, and remove it yourself)", is.Cluster)
	}
	done, err := machine.RemoveOrphan(ctx, is.Thing.project, is.Thing.snapshot, id, is.Orphan)
	if !done {
		err = network.RemoveOrphan(ctx, is.Thing.project, is.Thing.snapshot, id, keysOf(clusters), is.Orphan)
	}
	return openstackauth.Wrap(op, err)
}

func keysOf(clusters []*fleet.Cluster) []fleet.Key {
	var out []fleet.Key
	for _, c := range clusters {
		out = append(out, c.Key)
	}
	return out
}
