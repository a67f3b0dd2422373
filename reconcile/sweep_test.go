package reconcile_test

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
)

// life takes a cluster through creation, scaling, an upgrade and deletion.
func life(w *world) {
	defer w.cloud.Close()
	w.reach(wish{3, 2, "v1.33.5", false}, fleet.PhaseProvisioned)
	if n := len(w.ours()); n != 5 {
		w.t.Fatalf("created %d machines, want 5", n)
	}
	w.reach(wish{3, 3, "v1.33.5", false}, fleet.PhaseProvisioned)
	before := map[string]bool{}
	for _, vm := range w.ours() {
		before[vm.ID] = true
	}
	w.reach(wish{3, 3, "v1.34.1", false}, fleet.PhaseProvisioned)
	after := w.ours()
	if len(after) != 6 {
		w.t.Fatalf("have %d machines after the upgrade, want 6", len(after))
	}
	for _, vm := range after {
		if before[vm.ID] {
			w.t.Fatalf("machine %s was not replaced", vm.Name)
		}
	}
	w.reach(wish{3, 3, "v1.34.1", true}, fleet.PhaseDeleted)
	w.nothingLeft()
}

// TestLife takes a cluster through its life without a crash.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		life(w)
		t.Logf("a life makes %d calls, before and after each of which an agent may crash", w.calls)
	})
}

// TestCrashSweep crashes the agent at one call of a cluster's life: before it
// was sent or before its answer was heard. A new agent that knows nothing must
// come to the same end, with one machine per name at every moment, nothing left
// over and nothing foreign touched.
//
// FAIRLEAD_SWEEP=all tries every call; otherwise every eleventh is tried.
func TestCrashSweep(t *testing.T) {
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		life(w)
		calls = w.calls
	})
	step := 11
	if os.Getenv("FAIRLEAD_SWEEP") == "all" {
		step = 1
	}
	for n := 1; n <= calls; n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, n)
				life(w)
				if w.crashes != 1 {
					t.Fatalf("crashed %d times, want 1", w.crashes)
				}
			})
		})
	}
}
