package plan_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// TestOrderIsRemembered: with what infrastructure was in line is what tells later
// whether somebody else changed it.
func TestOrderIsRemembered(t *testing.T) {
	s := newScript()
	in := s.in
	order := func() string { return plan.Compute(in).Fingerprint }
	first := order()
	if first == "" {
		t.Fatal("infrastructure in line has no mark")
	}
	in.Memory.Fingerprint, in.Observed.Infrastructure.Drift = first, []string{"a rule is missing"}
	if got := order(); got != first {
		t.Errorf("with drift the mark is %q, want that of before, %q", got, first)
	}
	in.Observed.Infrastructure.Drift = nil
	in.Observed.Infrastructure.Machines = []fleet.Machine{{Name: "m", ProviderID: "sim://m", Role: fleet.RoleControlPlane, Pool: "cp"}}
	if order() == first {
		t.Error("another machine, and the same mark")
	}
	in.Observed.Infrastructure.Machines = nil
	in.Desired = change(in.Desired, func(c *fleet.Cluster) { c.Digest = "another" })
	if order() == first {
		t.Error("another definition, and the same mark")
	}
	in.Observed.Infrastructure.Ready = false
	if got := order(); got != first {
		t.Errorf("infrastructure that is not ready has the mark %q", got)
	}
}
