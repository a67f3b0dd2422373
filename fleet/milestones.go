package fleet

import "time"

// Milestones are when a new cluster first reached each phase, by the clock of
// the agent that saw it first, in UTC. Each is noted once and kept. All are zero
// for a cluster that existed before the first observation.
type Milestones struct {
	Began          time.Time // nothing of it was there
	Infrastructure time.Time // what its machines share was there
	ControlPlane   time.Time // the control plane was as Git says
	Provisioned    time.Time // and everything else was
}

// A PhaseDuration is how long one phase on the way to a cluster that is provisioned took.
type PhaseDuration struct {
	Phase Phase
	Took  time.Duration
}

// PhaseDurations returns how long each part took, as far as the cluster came, and last the
// whole way as that of PhaseProvisioned.
func (m Milestones) PhaseDurations() []PhaseDuration {
	var out []PhaseDuration
	from := m.Began
	for _, l := range []struct {
		phase Phase
		at    time.Time
	}{{PhaseInfrastructure, m.Infrastructure}, {PhaseControlPlane, m.ControlPlane}, {PhaseWorkers, m.Provisioned}} {
		if m.Began.IsZero() || l.at.IsZero() {
			return out
		}
		out = append(out, PhaseDuration{l.phase, l.at.Sub(from)})
		from = l.at
	}
	return append(out, PhaseDuration{PhaseProvisioned, m.Provisioned.Sub(m.Began)})
}
