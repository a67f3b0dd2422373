package plan

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/rollout"
)

// slowRemoval is how long a removal may have others of its pool or its cluster wait. One that
// takes longer is held by something, which says nothing of the others.
const slowRemoval = 10 * time.Minute

// removeVanished plans the removal of the machines of g, whose pool is not in Git any more.
func (d *draft) removeVanished(g *group) {
	for _, m := range g.leaving {
		d.removeWorker(m, g.vanishedReason())
	}
	for _, name := range g.pending {
		d.wait("machine %s of pool %s, which is not in Git any more, was asked for and is not there yet", name, g.name)
	}
	p := d.Desired.Departed(g.name)
	counted := *g
	counted.pool = &p
	for _, s := range rollout.Departed(d.rolloutOf(&counted)) {
		m := g.all[s.Machine]
		if s.Kind == rollout.AwaitOthers {
			d.wait("machine %s waits until others of pool %s, which is not in Git any more, are removed", m.Name, g.name)
			d.wake(drainPace)
			continue
		}
		d.beginRemoval(m, g.vanishedReason())
	}
}

func (g *group) vanishedReason() string { return fmt.Sprintf("pool %s is not in Git any more", g.name) }

// busy reports whether pods are being moved away from m, or soon will be.
func (f *facts) busy(m *machine) bool {
	if !m.leaving || m.node == nil {
		return false
	}
	since := f.from(m.node.DrainStarted)
	if since.IsZero() {
		return m.State != fleet.MachineDeleting
	}
	return f.Now.Sub(since) < slowRemoval
}
