package plan

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
	"k8s.io/apimachinery/pkg/util/version"
)

// planWorkers brings every worker pool nearer to what is asked for.
func (d *draft) planWorkers() {
	for _, g := range d.workers() {
		switch {
		case g.vanished:
			d.removeVanished(g)
		case g.pool.Paused:
			d.note("pool %s is paused", g.name)
		case d.frozen(g):
		case !d.siteReady(g): // keepSites says what it waits for
		default:
			d.removeDuplicates(g)
			d.roll(g)
			d.awaitAvailable(g)
		}
	}
	d.planKept()
}

// siteReady reports whether machines of g may be made: the phases see to the first site.
func (f *facts) siteReady(g *group) bool {
	return g.pool.Provider == "" || f.site(g.pool.Provider).seen.Ready
}

// awaitAvailable says which machines of g are not available, and why nothing
// will come of those that failed.
func (d *draft) awaitAvailable(g *group) {
	var late []string
	for _, m := range g.all {
		switch {
		case m.available || m.leaving || m.duplicate || d.going[m]:
		case m.State == fleet.MachineFailed:
			d.note("machine %s is Failed%s", m.Name, because(m.Message))
		default:
			late = append(late, string(m.Name))
		}
	}
	for _, name := range g.pending {
		late = append(late, string(name))
	}
	if len(late) > 0 {
		d.wait("pool %s waits until available: %s", g.name, text.Some(late))
	}
}

func (f *facts) workersDone() bool { return f.ownWorkersDone() && f.keptDone() }

// ownWorkersDone is workersDone without the pools that the cloud keeps.
func (f *facts) ownWorkersDone() bool {
	if len(f.held) > 0 || !f.sitesDone() {
		return false
	}
	for _, g := range f.workers() {
		if g.vanished || !g.settled() {
			return false
		}
		for _, m := range g.all {
			if !m.available {
				return false
			}
		}
	}
	return true
}

// settled reports whether g has the machines that it should have.
func (g *group) settled() bool {
	if len(g.leaving)+len(g.pending)+len(g.held) > 0 {
		return false
	}
	if g.pool.Strategy == fleet.OnDelete && g.pool.Role == fleet.RoleWorker {
		return len(g.fresh)+len(g.old) == g.pool.Replicas
	}
	return len(g.old) == 0 && len(g.fresh) == g.pool.Replicas
}

// A gate says which changes to a worker pool the control plane allows.
type gate struct {
	create string // why no machine may be created, or empty
	roll   string // why no machine may be replaced, or empty
}

// preflight checks the control plane before g changes. A machine that is missing
// may be created unless the control plane is being upgraded; a rollout needs a
// control plane at rest.
func (f *facts) preflight(g *group) gate {
	if f.Desired.Hosted != nil {
		return f.preflightHosted(g).undecided(g)
	}
	var out gate
	cp := f.controlPlane()
	for _, m := range cp.all {
		if m.Version != cp.pool.Version && !m.current {
			out.create = fmt.Sprintf("pool %s waits until the control plane is upgraded to %s", g.name, cp.pool.Version)
		}
	}
	if s := f.sites[0]; s.away != "" {
		out.roll = fmt.Sprintf("pool %s waits until the control plane is seen again", g.name)
	}
	if oldest := f.oldestControlPlane(); out.create == "" && NewerMinor(g.pool.Version, oldest) {
		out.create = fmt.Sprintf("pool %s waits: its version %s is newer than the control plane's %s", g.name, g.pool.Version, oldest)
	}
	out.roll = cmp.Or(out.roll, out.create, f.staging.Holds(g.name))
	if out.roll == "" && !f.controlPlaneDone() {
		out.roll = fmt.Sprintf("pool %s waits until the control plane is stable", g.name)
	}
	return out.undecided(g)
}

// undecided holds a rollout back until the number of machines of g is decided.
func (out gate) undecided(g *group) gate {
	if s := g.pool.Scaling; out.roll == "" && s != nil && !s.Decided {
		out.roll = fmt.Sprintf("pool %s waits until its number of machines is on the status branch", g.name)
	}
	return out
}

// oldestControlPlane returns the oldest version that the control plane has or
// is asked to have.
func (f *facts) oldestControlPlane() string {
	cp := f.controlPlane()
	oldest := cp.pool.Version
	for _, m := range slices.Concat(cp.all, cp.held) {
		if m.node != nil && NewerMinor(oldest, m.node.KubeletVersion) {
			oldest = m.node.KubeletVersion
		}
	}
	for _, n := range f.orphanNodes { // of machines that cannot be observed
		if f.sites[0].away != "" && n.ControlPlane && NewerMinor(oldest, n.KubeletVersion) {
			oldest = n.KubeletVersion
		}
	}
	return oldest
}

// NewerMinor reports whether a is of a newer minor version of Kubernetes than b.
// What cannot be read is not newer.
func NewerMinor(a, b string) bool {
	if a == b {
		return false
	}
	x, errA := version.ParseGeneric(a)
	y, errB := version.ParseGeneric(b)
	if errA != nil || errB != nil {
		return false
	}
	return x.Major() > y.Major() || (x.Major() == y.Major() && x.Minor() > y.Minor())
}
