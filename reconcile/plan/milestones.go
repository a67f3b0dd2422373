package plan

import (
	"time"

	"fairlead.dev/fleet"
)

// passMilestones notes how far a cluster came that is being made. One of which
// something is there already when it is first seen has no beginning that anybody
// knows.
func (v *view) passMilestones() {
	m := &v.out.Milestones
	*m = v.Memory.Milestones
	if v.deleting() && v.residence.ControlPlane != fleet.InitializedOnce {
		m.ControlPlane, m.Provisioned = time.Time{}, time.Time{}
	}
	if v.deleting() || v.paused() || v.displaced != "" {
		return
	}
	nothing := !v.Observed.Infrastructure.Exists && len(v.machines)+len(v.Attempts) == 0 && !v.Observed.Workload.Reachable
	if nothing && (m.Began.IsZero() || !m.Infrastructure.IsZero()) { // a new one, or one made again
		*m = fleet.Milestones{Began: v.stamp()}
	}
	for _, step := range []struct {
		at   *time.Time
		done bool
	}{{&m.Infrastructure, v.infrastructureReady()}, {&m.ControlPlane, v.controlPlaneDone()}, {&m.Provisioned, v.phase() == fleet.PhaseProvisioned}} {
		if m.Began.IsZero() || !step.done {
			return
		}
		if step.at.IsZero() {
			*step.at = v.stamp()
		}
	}
}

// stamp is when this look ended, as it is written down: what it shows for the first
// time is not known to have been so before. A process may stand still while it looks.
func (v *view) stamp() time.Time { return latest(v.Now, v.Observed.Until).UTC().Truncate(time.Second) }
