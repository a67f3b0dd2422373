package agent

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
)

// TestLived: what took how long is counted once, when it is over, and not again by
// an agent that starts later.
func TestLived(t *testing.T) {
	m := NewMetrics("v0")
	p := passed()
	p.Report.Machines = []fleet.MachineReport{{Machine: fleet.Machine{Name: "m", Role: fleet.RoleWorker, Created: noon}}}
	p.Report.Milestones = fleet.Milestones{Began: noon}
	m.Passed(t.Context(), p)
	p.Report.Machines = []fleet.MachineReport{{Machine: p.Report.Machines[0].Machine, Joined: noon.Add(100 * time.Second)}}
	p.Report.Milestones.Infrastructure = noon.Add(20 * time.Second)
	m.Passed(t.Context(), p)
	m.Passed(t.Context(), p)
	text := scrape(m)
	for _, want := range []string{
		`fairlead_cluster_phase_seconds_sum{phase="Infrastructure"} 20`, `fairlead_cluster_phase_seconds_count{phase="Infrastructure"} 1`,
		`fairlead_machine_join_seconds_sum{role="worker"} 100`, `fairlead_machine_join_seconds_count{role="worker"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	late := NewMetrics("v0")
	late.Passed(t.Context(), p)
	if text := scrape(late); strings.Contains(text, `fairlead_machine_join_seconds_count{`) || strings.Contains(text, `fairlead_cluster_phase_seconds_count{`) {
		t.Error("an agent that was not there counts it, too")
	}
}

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
	a.reports.Put(newer)
	check("the last pass", newer)
	a.reports.Forget(k)
	check("a cluster of that name that came before", fleet.Report{})
}
