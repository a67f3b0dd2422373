package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// TestCheck: hosts are counted before any is enrolled, each for one machine, and those that a
// machine is on for no other.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	check := func() (texts []string) {
		t.Helper()
		w.ResetCalls()
		found, err := w.p.Check(t.Context(), []*fleet.Cluster{c})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Err != nil {
				f.Text = string(fleet.KindOf(f.Err)) + ": " + f.Err.Error()
			}
			texts = append(texts, f.Text)
		}
		if len(w.changes()) > 0 {
			t.Errorf("Ironic was asked for %q", w.changes())
		}
		return texts
	}
	want := func(at string, words ...string) {
		t.Helper()
		got := strings.Join(check(), "\n")
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q, want %q in it", at, got, word)
			}
		}
	}
	pool := &c.Workers[0]
	for i := range c.Workers {
		c.Workers[i].Replicas = 0
	}
	c.ControlPlane.Replicas, pool.Replicas = 0, 2
	want("before", "there are 2 for 2 machines of pool "+string(pool.Name)+", of which 2 have to be enrolled first")
	pool.Replicas = 3
	want("too few", "Exhausted: ", "3 more are needed, and of 2 that its hostSelector selects in namespace "+w.namespace+" only 2 are free")
	w.until(c, "available", allFree)
	pool.Replicas = 2
	want("enrolled", "there are 2 for 2 machines of pool")
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, worker).State == fleet.MachineRunning })
	want("one is there", "there are 1 for 1 machines")
	pool.Replicas = 1
	want("all are there", "has all its machines")
}
