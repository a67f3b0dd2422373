package openstack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
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
	found, err := p.orphans(ctx, id, clusters)
	var out []fleet.Orphan
	for _, at := range found {
		out = append(out, at.orphans...)
	}
	slices.SortFunc(out, func(a, b fleet.Orphan) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), a.Cluster.Compare(b.Cluster), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// lost is what is lost in one project.
type lost struct {
	project  *cloud.Project
	snapshot *cloud.Snapshot
	orphans  []fleet.Orphan
}

func (p *Provider) orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]lost, error) {
	const op = "list orphans"
	gone := machine.Gone{Fleet: id, Clusters: make(map[fleet.Key]bool), Pools: make(map[fleet.Key]map[string]bool)}
	var all []*cloud.Project
	keys := keysOf(clusters)
	var ended []snapshot.Owner // whose deletion Git asks for
	var errs []error
	for _, c := range clusters {
		gone.Clusters[c.Key] = true
		gone.Pools[c.Key] = pools{c}.names()
		if c.Delete {
			ended = append(ended, snapshot.OwnerOf(c))
		}
		if c.Provider != api.ProviderName {
			continue
		}
		projects, _, err := p.projects(ctx, c)
		if err == nil {
			all, err = merge(ctx, all, projects)
		}
		errs = append(errs, err)
	}
	var out []lost
	for _, project := range all {
		s, err := project.Snapshot(ctx, snapshot.Owner{})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		name, err := project.Name(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		left := make(map[fleet.Key]machine.Observation)
		for _, c := range clusters {
			left[c.Key] = p.keeper.Observe(project, s, c)
		}
		gone.Left = func(o snapshot.Owner) bool { return left[o.Cluster].Left(o) }
		images, err := image.Orphans(ctx, project, s, id, haveImages(clusters))
		errs = append(errs, err)
		at := lost{project: project, snapshot: s, orphans: slices.Concat(machine.Orphans(s, gone), network.Orphans(s, id, keys), network.Ended(s, ended, keys), images)}
		for i := range at.orphans {
			at.orphans[i].Provider, at.orphans[i].Place = api.ProviderName, name
		}
		out = append(out, at)
	}
	return out, openstackauth.WrapLook(op, fleet.JoinErrors(errs...))
}

// merge adds to all those of more that it lacks. Where it cannot tell, it gives all as
// it was, and the error.
func merge(ctx context.Context, all, more []*cloud.Project) ([]*cloud.Project, error) {
	merged := slices.Clone(all)
	for _, m := range more {
		known := false
		for _, a := range merged {
			same, err := a.Same(ctx, m)
			if err != nil {
				return all, err
			}
			known = known || same
		}
		if !known {
			merged = append(merged, m)
		}
	}
	return merged, nil
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Kind + " " + o.Name
	found, unseen := p.orphans(ctx, id, clusters)
	for _, at := range found {
		for _, is := range at.orphans {
			if is.Place != o.Place || is.Kind != o.Kind || is.ID != o.ID {
				continue
			}
			if is.Kind == image.KindOrphan {
				return openstackauth.Wrap(op, image.RemoveOrphan(ctx, at.project, at.snapshot, id, is))
			}
			if strings.HasSuffix(is.Reason, network.Unproven) {
				return fleet.Errorf(fleet.Conflict, op, "nothing but its name says that it was made for cluster %s (see whose it is, and remove it yourself)", is.Cluster)
			}
			done, err := machine.RemoveOrphan(ctx, at.project, at.snapshot, id, is)
			if !done {
				err = network.RemoveOrphan(ctx, at.project, at.snapshot, id, keysOf(clusters), is)
			}
			return openstackauth.Wrap(op, err)
		}
	}
	return openstackauth.WrapLook(op, unseen) // what nobody saw may be there
}

func keysOf(clusters []*fleet.Cluster) []fleet.Key {
	var out []fleet.Key
	for _, c := range clusters {
		out = append(out, c.Key)
	}
	return out
}
