package openstack

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// A sight is what was seen of a cluster, in every project that it is in.
type sight struct {
	spec   *api.OpenStackClusterSpec
	home   *cloud.Project // of what the machines share
	net    network.State
	places []place // that of home first
}

// A place is one project that a cluster has machines in.
type place struct {
	reach
	snapshot *cloud.Snapshot
	machines machine.Observation
}

func (s *sight) homeSnapshot() *cloud.Snapshot { return s.places[0].snapshot }

// started reports whether the cluster has machines.
func (s *sight) started() bool {
	return slices.ContainsFunc(s.places, func(at place) bool { return len(at.machines.Machines) > 0 })
}

func (p *Provider) log() *slog.Logger {
	if p.o.Cloud.Log != nil {
		return p.o.Cloud.Log
	}
	return slog.New(slog.DiscardHandler)
}

// look sees everything of c.
func (p *Provider) look(ctx context.Context, c *fleet.Cluster) (*sight, error) {
	reached, spec, err := p.reached(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &sight{spec: spec, home: reached[0].project}
	projects := projectsOf(reached)
	for _, r := range reached {
		project := r.project
		s, err := project.Snapshot(ctx, cloud.OwnerOf(c))
		if err != nil {
			return nil, err
		}
		out.places = append(out.places, place{r, s, p.keeper.Observe(project, s, c)})
	}
	p.watched.set(cloud.OwnerOf(c), projects)
	p.keeper.Only(cloud.OwnerOf(c), projects)
	out.net = network.Observe(out.homeSnapshot(), c, spec)
	return out, nil
}

// sortMachines orders by name, then provider id.
func sortMachines(all []fleet.Machine) {
	slices.SortFunc(all, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
}
