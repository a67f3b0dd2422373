package plan

import (
	"time"

	"fairlead.dev/fleet"
)

// passMilestones notes how far a cluster came that is being made. One of which
// something is there already when it is first seen has no beginning that anybody
// knows.
func (d *draft) passMilestones() {
	m := &d.out.Milestones
	*m = d.Memory.Milestones
	if d.deleting() && d.residence.ControlPlane != fleet.InitializedOnce {
		m.ControlPlane, m.Provisioned = time.Time{}, time.Time{}
	}
	if d.deleting() || d.paused() || d.contradicted != "" {
		return
	}
	nothing := !d.Observed.Infrastructure.Exists && len(d.machines)+len(d.Attempts) == 0 && (!d.Observed.Workload.Reachable || d.Desired.Hosted != nil) && d.unseen() == nil
	if nothing && (m.Began.IsZero() || !m.Infrastructure.IsZero()) { // a new one, or a recreated one
		*m = fleet.Milestones{Began: d.lookEnded()}
	}
	for _, step := range []struct {
		at   *time.Time
		done bool
	}{{&m.Infrastructure, d.infrastructureReady()}, {&m.ControlPlane, d.controlPlaneDone()}, {&m.Provisioned, d.phase() == fleet.PhaseProvisioned}} {
		if m.Began.IsZero() || !step.done {
			return
		}
		if step.at.IsZero() {
			*step.at = d.lookEnded()
		}
	}
}

// lookEnded is when this look ended, for the record: what it shows for the first
// time is not known to have been so before. A process may stand still while it looks.
func (f *facts) lookEnded() time.Time {
	return latest(f.Now, f.Observed.Until).UTC().Truncate(time.Second)
}
