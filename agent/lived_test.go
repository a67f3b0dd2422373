package agent

import (
	"testing"
	"time"

	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestReminded: what only the last report tells comes with the cluster to the next
// pass, from the status branch where this agent made none yet.
func TestReminded(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu"}
	told := fleet.Report{
		Cluster: k, Order: "o", Remediation: fleet.Remediation{Machine: "m", At: noon},
		Spells: []fleet.Spell{{Machine: "m", Condition: "UpToDate"}}, Milestones: fleet.Milestones{Began: noon},
		Residence: fleet.Residence{Provider: "openstack", ControlPlane: fleet.InitializedOnce}, Clock: fleet.Clock{Ahead: time.Hour, Since: noon},
	}
	a := &Agent{reports: reports.New()}
	a.reports.Recall([]fleet.Report{told})
	check := func(from string, want fleet.Report) {
		t.Helper()
		c := a.reminded(&fleet.Cluster{Key: k})
		if c.Order != want.Order || c.Remediation != want.Remediation || len(c.Spells) != len(want.Spells) || c.Milestones != want.Milestones || c.Clock != want.Clock ||
			c.Residence.ControlPlane != want.Residence.ControlPlane {
			t.Errorf("from %s comes %+v", from, c)
		}
	}
	check("the status branch", told)
	newer := fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Order: "n"}
	a.reports.Put(newer, nil)
	check("the last pass", newer)
	a.reports.Forget(k)
	check("a cluster of that name that came before", fleet.Report{})
}
