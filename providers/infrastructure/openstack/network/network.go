package network

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// State is what is there of what the machines of a cluster share.
type State struct {
	Exists   bool // something that carries the cluster's mark
	Ready    bool
	Endpoint fleet.Endpoint
	Message  string   // why not ready; of one that is to go, what that waits for
	Drift    []string // what Ensure would fix of what is ready, sorted
	Faults   []error  // what cannot be done until Git changes, or somebody acts in the cloud
	Place    Placement
}

// Observe tells what the snapshot has of what the machines of c share, whose spec
// is spec. The endpoint is to lead to none of leaving, which are ids of servers. It is
// pure.
func Observe(s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec, leaving ...string) State {
	v := newView(s, c, spec, leaving...)
	out := v.state()
	if c.Delete && !c.Protect && !v.started() {
		out.Message = v.waitsFor()
	}
	return out
}

func (v *view) state() State {
	d := v.decide()
	out := State{Exists: v.exists(), Ready: d.Ready(v.started()), Endpoint: d.Endpoint, Place: d.placement, Faults: d.Faults}
	var faults, possible []string
	for _, err := range d.Faults {
		faults = append(faults, err.Error())
	}
	for _, s := range d.Steps {
		possible = append(possible, s.What)
	}
	if out.Ready {
		out.Drift = append(faults, possible...)
		slices.Sort(out.Drift)
		return out
	}
	words := append(faults, d.Waits...)
	if len(words) == 0 && len(possible) > 0 {
		words = append(words, "still to do: "+possible[0])
	}
	out.Message = strings.Join(words, "; ")
	return out
}

// waitsFor says what the removal of the cluster waits for, else what it does next.
func (v *view) waitsFor() string {
	d := v.teardown()
	if len(d.Waits) == 0 && len(d.Steps) > 0 {
		return "still to do: " + d.Steps[0].What
	}
	return strings.Join(d.Waits, "; ")
}

func (v *view) exists() bool {
	m := v.mine
	return len(m.networks)+len(m.subnets)+len(m.routers)+len(m.ports)+len(m.groups)+len(m.floatingIPs)+len(m.loadBalancers) > 0
}

// Ensure takes the steps towards what Git says that are possible at this moment,
// and does not wait for the cloud. Steps that fail hold up only what depends on
// them. What cannot be until Git changes is an error of kind Invalid, as is a
// change in Git that what exists cannot follow; it comes behind those of steps. leaving
// is that of Observe.
func Ensure(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec, leaving ...string) error {
	v := newView(s, c, spec, leaving...)
	errs, d := perform(ctx, p, v, v.decide)
	return fleet.JoinErrors(append(errs, d.Faults...)...)
}
