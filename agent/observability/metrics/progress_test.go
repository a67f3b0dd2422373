package metrics

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// TestLived: what took how long is counted once, when it is over, and not again by
// an agent that starts later.
func TestLived(t *testing.T) {
	m := New("v0")
	p := passed()
	p.Report.Machines = []fleet.MachineReport{{Machine: fleet.Machine{Name: "m", Role: fleet.RoleWorker, Created: noon}}}
	p.Report.Milestones = fleet.Milestones{Began: noon}
	m.pass(t.Context(), p)
	p.Report.Machines = []fleet.MachineReport{{Machine: p.Report.Machines[0].Machine, Joined: noon.Add(100 * time.Second)}}
	p.Report.Milestones.Infrastructure = noon.Add(20 * time.Second)
	m.pass(t.Context(), p)
	m.pass(t.Context(), p)
	text := scrape(m)
	for _, want := range []string{
		`fairlead_cluster_phase_seconds_sum{phase="Infrastructure"} 20`, `fairlead_cluster_phase_seconds_count{phase="Infrastructure"} 1`,
		`fairlead_machine_join_seconds_sum{role="worker"} 100`, `fairlead_machine_join_seconds_count{role="worker"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	late := New("v0")
	late.pass(t.Context(), p)
	if text := scrape(late); strings.Contains(text, `fairlead_machine_join_seconds_count{`) || strings.Contains(text, `fairlead_cluster_phase_seconds_count{`) {
		t.Error("an agent that was not there counts it, too")
	}
}
