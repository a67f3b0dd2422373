package forecast

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// many is the input of a pool of n machines that are new.
func many(t *testing.T, n int) plan.Input {
	t.Helper()
	s := newScript()
	for _, line := range [][]string{{"control-plane", "replicas=3"}, {"pool", "md"}} {
		if err := s.git(line[0], parse(line[1:])); err != nil {
			t.Fatal(err)
		}
	}
	s.in.Desired.Workers[0].Replicas = n
	return s.input()
}

// A forecast can be stopped before each of its plans.
func TestStopped(t *testing.T) {
	in, why := many(t, 20), errors.New("nobody waits for it")
	asked := 0
	if _, err := Within(1_000_000, func() error { asked++; return nil }, in); err != nil || asked < 5 {
		t.Fatalf("it is asked %d times, %v", asked, err)
	}
	for at := 1; at <= asked; at++ {
		left := at
		if _, err := Within(1_000_000, func() error {
			if left--; left == 0 {
				return why
			}
			return nil
		}, in); !errors.Is(err, why) || left != 0 {
			t.Errorf("stopped at plan %d, %d later: %v", at, -left, err)
		}
	}
}

// A definition cannot have a forecast go on for as long as it wants.
func TestBudget(t *testing.T) {
	in := many(t, 20)
	need := 1
	for ; need < 100_000; need *= 2 {
		if _, err := Within(need, func() error { return nil }, in); fleet.KindOf(err) != fleet.Exhausted {
			break
		}
	}
	if need < 64 || need > 2048 {
		t.Errorf("20 machines take a budget of %d", need)
	}
	f, err := Within(need, func() error { return nil }, in)
	if d := cmp.Diff(Of(in).Changes, f.Changes); err != nil || d != "" {
		t.Errorf("within the budget: %v %s", err, d)
	}
}

// Plans of all the machines of a pool take as many steps for many as for few.
func TestStepsDoNotGrow(t *testing.T) {
	steps := func(n int) (plans int) {
		in := many(t, n)
		f, err := Within(1_000_000, func() error { plans++; return nil }, in)
		if err != nil || len(f.Changes) != n+4 { // with the cluster and its control plane
			t.Fatalf("%d machines: %d changes, %v", n, len(f.Changes), err)
		}
		if !slices.IsSortedFunc(f.Observed.Infrastructure.Machines, func(a, b fleet.Machine) int { return compare(string(a.Name), string(b.Name)) }) {
			t.Error("the machines are in no order")
		}
		return plans
	}
	if few, lots := steps(40), steps(2000); lots > few+2 {
		t.Errorf("2,000 machines take %d plans, 40 take %d", lots, few)
	}
}

// Machines that a cloud keeps count in the budget, before the model has them.
func TestBudgetOfMachinePools(t *testing.T) {
	for reason, p := range map[string]fleet.KeptPool{
		"a number": {Name: "mp", Version: "v1.34.2", Count: 2_000_000_000},
		"a range":  {Name: "mp", Version: "v1.34.2", Count: 1, Range: &fleet.PoolRange{Min: 2_000_000_000, Max: 2_000_000_000}},
	} {
		in := many(t, 1)
		in.Desired.KeptPools = []fleet.KeptPool{p}
		if _, err := Within(1_000_000, func() error { return nil }, in); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("%s: %v", reason, err)
		}
		in.Desired.KeptPools[0].Count, in.Desired.KeptPools[0].Range = 1000, nil
		if f, err := Within(1_000_000, func() error { return nil }, in); err != nil || len(f.Observed.Infrastructure.Pools[0].Machines) != 1000 {
			t.Errorf("1,000 machines: %v", err)
		}
	}
}
