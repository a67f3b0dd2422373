package network

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/snapshot"
)

// State is what is there of what the machines of a cluster share.
type State struct {
	Exists   bool // something that carries the cluster's mark
	Ready    bool
	Endpoint fleet.Endpoint
	Message  string   // why not ready; of one that is to go, what that waits for
	Drift    []string // what Ensure would mend of what is ready, sorted
	Faults   []error  // what cannot be done until Git changes, or somebody acts in the cloud
	Place    Placement
}

// Observe tells what the snapshot has of what the machines of c share, whose spec
// is spec. It is pure.
func Observe(s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec) State {
	v := newView(s, c, spec)
	out := v.state()
	if c.Delete && !c.Protect && !v.started() {
		out.Message = v.waitsFor()
	}
	return out
}

func (v *view) state() State {
	d := v.decide()
	out := State{Exists: v.exists(), Ready: d.ready(v.started()), Endpoint: d.endpoint, Place: d.placement, Faults: d.faults}
	var faults, possible []string
	for _, err := range d.faults {
		faults = append(faults, err.Error())
	}
	for _, s := range d.steps {
		possible = append(possible, s.what)
	}
	if out.Ready {
		out.Drift = append(faults, possible...)
		slices.Sort(out.Drift)
		return out
	}
	words := append(faults, d.waitsFor...)
	if len(words) == 0 && len(possible) > 0 {
		words = append(words, "still to do: "+possible[0])
	}
	out.Message = strings.Join(words, "; ")
	return out
}

// waitsFor says what the removal of the cluster waits for, else what it does next.
func (v *view) waitsFor() string {
	d := v.teardown()
	if len(d.waitsFor) == 0 && len(d.steps) > 0 {
		return "still to do: " + d.steps[0].what
	}
	return strings.Join(d.waitsFor, "; ")
}

func (v *view) exists() bool {
	m := v.mine
	return len(m.networks)+len(m.subnets)+len(m.routers)+len(m.ports)+len(m.groups)+len(m.floatingIPs)+len(m.loadBalancers) > 0
}

// Ensure takes the steps towards what Git says that are possible at this moment,
// and does not wait for the cloud. Steps that fail hold up only what depends on
// them. What cannot be until Git changes is an error of kind Invalid, as is a
// change in Git that what exists cannot follow; it comes behind those of steps.
func Ensure(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec) error {
	v := newView(s, c, spec)
	errs, d := perform(ctx, p, v, v.decide)
	return fleet.JoinErrors(append(errs, d.faults...)...)
}

// RemoveMember takes a machine of the control plane out of the load balancer,
// before it is removed. A load balancer that takes no change at this moment gives
// the kind Conflict; one that is broken, and a machine that is no member, nothing.
func RemoveMember(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, o snapshot.Owner) error {
	v := ownedView(s, o.Shared())
	var blocked []string
	errs, _ := perform(ctx, p, v, func() *decision {
		d, waits := v.memberRemoval(o.Machine)
		blocked = waits
		return d
	})
	if len(errs) == 0 && len(blocked) > 0 {
		errs = append(errs, fleet.Errorf(fleet.Conflict, "take machine "+string(o.Machine)+" out of the load balancer", "%s", blocked[0]))
	}
	return fleet.JoinErrors(errs...)
}

// HandOver puts the floating IP of the API server on another machine of the control
// plane, where machine name, which is to be removed, has it and another can take it.
func HandOver(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, c *fleet.Cluster, spec *api.OpenStackClusterSpec, name fleet.MachineName) error {
	v := newView(s, c, spec)
	for i := range v.machines {
		v.machines[i].leaving = v.machines[i].leaving || v.machines[i].name == name
	}
	errs, _ := perform(ctx, p, v, func() *decision {
		d := v.decide()
		d.steps = filter(d.steps, func(s step) bool { return s.handsOver })
		return d
	})
	return fleet.JoinErrors(errs...)
}

// stuckAfter is how long a load balancer may be pending. Octavia does not take
// that long; where one of its parts died, nothing ends it, and a machine that is
// to go must not wait for that.
const stuckAfter = 15 * time.Minute

// settling reports whether lb will take changes again by itself.
func (v *view) settling(lb loadbalancers.LoadBalancer) bool {
	since := lb.UpdatedAt
	if since.IsZero() {
		since = lb.CreatedAt
	}
	return strings.HasPrefix(lb.ProvisioningStatus, "PENDING_") && v.at.Sub(since) < stuckAfter
}

// memberRemoval follows how a machine leaves the load balancers of the cluster.
func (v *view) memberRemoval(name fleet.MachineName) (*decision, []string) {
	d := new(decision)
	var blocked []string
	for _, lb := range v.mine.loadBalancers {
		for _, p := range v.poolsOf(lb) {
			for _, m := range p.Members {
				if v.memberOf(m) != name {
					continue
				}
				s := v.removeMember(lb, p, m, name)
				d.add(s)
				if v.settling(lb) {
					blocked = append(blocked, "load balancer "+cmp.Or(lb.Name, lb.ID)+" is "+lb.ProvisioningStatus)
				}
			}
		}
	}
	return d, blocked
}
