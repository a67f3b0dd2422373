package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// TestDrainsBegin: a pool that may lose all its machines at a time drains 32 Nodes at most. The
// others are not marked, and the plan says what they wait for.
func TestDrainsBegin(t *testing.T) {
	s := newScript()
	lines := []string{"pool md replicas=0 unavailable=50", "machine cp/0@v1.34.2"}
	for i := range 50 {
		state := ""
		if i < 10 {
			state = " draining=1m pods=web-1:budget" // which count
		} else if i < 15 {
			state = " draining=1h pods=web-1:budget" // which take long, and do not
		} else if i < 18 {
			state = " marked pre-drain=migrate" // whose hooks wait, and do not
		}
		lines = append(lines, fmt.Sprintf("machine md/%d@v1.34.2%s", i, state))
	}
	for _, line := range lines {
		if err := s.read(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
	}
	s.finish()
	p := plan.Compute(s.in)
	begun := 0
	marked := map[string]bool{}
	for _, n := range s.in.Observed.Workload.Nodes {
		marked[n.Name] = n.Draining
	}
	for _, a := range p.Actions {
		if a.Kind == fleet.DrainNode && !marked[a.Node] {
			begun++
		}
	}
	if begun != 22 {
		t.Errorf("%d drains begin beside 10 that are under way, want 22", begun)
	}
	if want := "pool md waits to drain more nodes: 32 nodes of the cluster are being drained, which is the limit"; !strings.Contains(strings.Join(p.Waiting, "\n"), want) {
		t.Errorf("waiting %q, want %q", p.Waiting, want)
	}
}
