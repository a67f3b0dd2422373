package openstack

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/image"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// An observation is what was seen of a cluster, in each of its projects.
type observation struct {
	spec     *api.OpenStackClusterSpec
	home     *cloud.Project // of what the machines share
	net      network.State
	projects []projectState // that of home first
}

// A projectState is what was seen of a cluster in one project.
type projectState struct {
	projectRef
	snapshot *cloud.Snapshot
	machines machine.Observation
	images   *image.View // nil where it is not needed
}

func (s *observation) homeSnapshot() *cloud.Snapshot { return s.projects[0].snapshot }

// started reports whether the cluster has machines.
func (s *observation) started() bool {
	return slices.ContainsFunc(s.projects, func(at projectState) bool { return len(at.machines.Machines) > 0 })
}

func (p *Provider) log() *slog.Logger {
	if p.o.Cloud.Log != nil {
		return p.o.Cloud.Log
	}
	return slog.New(slog.DiscardHandler)
}

// look sees everything of c with all changes of o: c, or one machine of it, for which its images
// are not needed.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	refs, spec, err := p.projectRefs(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &observation{spec: spec, home: refs[0].project}
	projects := projectsOf(refs)
	for _, r := range refs {
		project := r.project
		s, err := project.Snapshot(ctx, o)
		if err != nil {
			return nil, err
		}
		out.projects = append(out.projects, projectState{projectRef: r, snapshot: s, machines: p.keeper.Observe(project, s, c)})
	}
	if err := out.checkIDs(ctx); err != nil {
		return nil, err
	}
	if o.Machine == "" {
		if err := p.lookAtImages(ctx, c, out); err != nil {
			return nil, err
		}
	}
	p.watch.Looked(snapshot.OwnerOf(c), projects)
	p.keeper.Forget(snapshot.OwnerOf(c), projects)
	out.net = network.Observe(out.homeSnapshot(), c, spec, p.leaving.All()...)
	return out, nil
}

// checkIDs refuses two projects that show one server: they are one, and the cloud does
// not say so. Nodes and deletions name servers by their ids.
func (s *observation) checkIDs(ctx context.Context) error {
	seen := make(map[fleet.ProviderID]*cloud.Project)
	for _, at := range s.projects {
		for _, m := range at.machines.Machines {
			first := seen[m.ProviderID]
			if m.ProviderID == "" || first == nil || first == at.project {
				seen[m.ProviderID] = at.project
				continue
			}
			name, err := at.project.Name(ctx)
			if err != nil {
				return err
			}
			return fleet.Errorf(fleet.Invalid, "look in project "+name, "server %s is shown at %s and at %s, which are one project by two names (use one auth_url, interface and region for all identities of the cluster)",
				strings.TrimPrefix(string(m.ProviderID), machine.IDPrefix), first.Origin(), at.project.Origin())
		}
	}
	return nil
}

// images enters into out what follows from the images of c. Before the first machine
// those that machines need have to be there; later a machine that needs one waits by
// itself. What of them is to be done is upkeep: no one changed them behind Git's back.
func (s *observation) images(c *fleet.Cluster, out *fleet.Infrastructure) error {
	ready := out.Ready
	for _, at := range s.projects {
		if at.images == nil {
			continue
		}
		if err := at.images.Err(); err != nil && c.Delete {
			return err // whether the cluster is gone is not known
		}
		state := at.images.State()
		out.Exists = out.Exists || state.Exists
		if !state.Ready && !s.started() {
			out.Ready = false
			if out.Message != "" {
				out.Message += "; "
			}
			out.Message += state.Message
		}
		if ready {
			out.Upkeep = append(out.Upkeep, state.Drift...)
		}
	}
	if !out.Ready {
		out.Upkeep = nil
	}
	return nil
}
