package passes

import (
	"testing"
	"time"

	"fairlead.dev/agent/decisions"
	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestReminded: what only the last report tells comes with the cluster to the next
// pass, from the status branch where this agent made none yet.
func TestReminded(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu"}
	told := fleet.Report{
		Cluster: k, Memory: fleet.Memory{
			Fingerprint: "o", Remediation: fleet.Remediation{Machine: "m", At: noon},
			ObservedConditions: []fleet.ObservedCondition{{Machine: "m", Condition: "UpToDate"}}, Milestones: fleet.Milestones{Began: noon},
			Residence: fleet.Residence{Provider: "openstack", ControlPlane: fleet.InitializedOnce}, Clock: fleet.Clock{Ahead: time.Hour, Since: noon},
		},
	}
	w, store := &world{}, reports.New()
	w.decisions = decisions.New(w, store)
	store.Restore([]fleet.Report{told})
	m := w.maker(Options{})
	check := func(from string, want fleet.Report) {
		t.Helper()
		m.pass(t.Context(), &fleet.Cluster{Key: k})
		expect(t, "from "+from+" comes", w.known, want.Memory)
	}
	check("the status branch", told)
	newer := fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Memory: fleet.Memory{Fingerprint: "n"}}
	store.Put(newer, nil)
	check("the last pass", newer)
	store.Forget(k)
	check("a cluster of that name that came before", fleet.Report{})
}
