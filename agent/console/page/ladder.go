package page

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// A Rung is a phase on the way to a cluster that is provisioned.
type Rung struct {
	Phase fleet.Phase `json:"phase"`
	Sign  Sign        `json:"sign"`
	Took  string      `json:"took,omitempty"`
	X, W  int         `json:"-"` // its place in a line of 1,000, while it took time
}

// ladderOf returns the phases of a cluster, each with its sign and how long it took.
func ladderOf(r fleet.Report, now Sign) []Rung {
	phases := []fleet.Phase{fleet.PhaseInfrastructure, fleet.PhaseControlPlane, fleet.PhaseWorkers, fleet.PhaseProvisioned}
	at := slices.Index(phases, r.Phase)
	if at < 0 && r.Phase != "" {
		return []Rung{{Phase: r.Phase, Sign: now}}
	}
	out := make([]Rung, len(phases))
	for i, p := range phases {
		out[i] = Rung{Phase: p, Sign: Creating}
		switch {
		case i < at:
			out[i].Sign = OK
		case i == at:
			out[i].Sign = now
		}
	}
	for _, d := range r.Milestones.PhaseDurations() {
		out[slices.Index(phases, d.Phase)].Took = d.Took.String()
	}
	return out
}

// timeLine fills in when the cluster began to be made, and the places of its phases.
func (v *Cluster) timeLine(m fleet.Milestones) {
	if m.Began.IsZero() {
		return
	}
	began := m.Began.UTC()
	v.Began = &began
	took := make(map[fleet.Phase]time.Duration)
	all := time.Duration(0)
	for _, d := range m.PhaseDurations() {
		if d.Phase != fleet.PhaseProvisioned { // which is all of them
			took[d.Phase] = d.Took
			all += d.Took
		}
	}
	x := 0
	for i := range v.Ladder {
		if d := took[v.Ladder[i].Phase]; d > 0 {
			v.Ladder[i].X, v.Ladder[i].W = x, max(int(d*1000/all), 3)
			x += v.Ladder[i].W
		}
	}
}
