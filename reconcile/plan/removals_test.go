package plan_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// What a pool says of the removal of its machines is remembered while it is in Git, and as
// long as it has machines afterwards; whoever drains them is told.
func TestRemovalsAreRemembered(t *testing.T) {
	s := newScript()
	for _, line := range [][]string{{"pool", "md", "replicas=1", "drain-timeout=60"}, {"pool", "plain", "replicas=1"}, {"machine", "cp/0@v1.34.2"}, {"machine", "md/0@v1.34.2"}} {
		if err := s.read(line); err != nil {
			t.Fatal(err)
		}
	}
	s.finish()
	p := plan.Compute(s.in)
	if len(p.Removals) != 1 || p.Removals[0].Pool != "md" || p.Removals[0].DrainSeconds != 60 {
		t.Fatalf("removals %+v, want that of md", p.Removals)
	}
	s.in.Memory.Removals = p.Removals
	gone := *s.in.Desired
	gone.Workers = nil
	s.in.Desired = &gone
	p = plan.Compute(s.in)
	if len(p.Removals) != 1 || p.Desired.Departed("md").NodeDrainTimeoutSeconds != 60 {
		t.Errorf("removals %+v, desired %+v: the pool is forgotten before its machines went", p.Removals, p.Desired.Removals)
	}
	s.in.Observed.Infrastructure.Machines = s.in.Observed.Infrastructure.Machines[:1]
	if s.in.Observed.Infrastructure.Machines[0].Role != fleet.RoleControlPlane {
		t.Fatal("the machine left is none of the control plane")
	}
	if p = plan.Compute(s.in); len(p.Removals) != 0 {
		t.Errorf("removals %+v of a pool without machines", p.Removals)
	}
}
