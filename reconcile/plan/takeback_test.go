package plan_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// TestNothingIsTakenBackWhilePaused: a machine whose removal has begun is reported as Deleting as
// long as nothing is done about it.
func TestNothingIsTakenBackWhilePaused(t *testing.T) {
	for reason, tc := range map[string]struct {
		set  func(*fleet.Cluster)
		want fleet.MachinePhase
	}{
		"it is wanted again":           {func(*fleet.Cluster) {}, "Running"},
		"the cluster is paused":        {func(c *fleet.Cluster) { c.Paused = true }, "Deleting"},
		"the pool is paused":           {func(c *fleet.Cluster) { c.Workers[0].Paused = true }, "Deleting"},
		"the cluster is to be deleted": {func(c *fleet.Cluster) { c.Delete = true }, "Deleting"},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newScript()
			for _, line := range []string{"pool md replicas=1", "machine cp/0@v1.34.2", "machine md/0@v1.34.2 draining=1m pods=web-1:budget"} {
				if err := s.read(strings.Fields(line)); err != nil {
					t.Fatal(err)
				}
			}
			tc.set(s.in.Desired)
			s.finish()
			machines := plan.Compute(s.in).Machines
			i := slices.IndexFunc(machines, func(r fleet.MachineReport) bool { return r.Machine.Pool == "md" })
			if got := machines[i].Phase; got != tc.want {
				t.Errorf("phase %s, want %s", got, tc.want)
			}
		})
	}
}
