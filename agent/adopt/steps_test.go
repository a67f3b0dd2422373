package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// killed is what ends a call in its midst: nothing after it runs.
type killed struct{}

// kill adopts, and ends that at the nth thing that is told or marked. It reports
// whether it came so far.
func (w *world) kill(n int) (died bool) {
	w.Helper()
	count := func() {
		if n--; n < 0 {
			panic(killed{})
		}
	}
	w.call = func(call string, m inmemory.Moment) {
		if strings.HasPrefix(call, "set tags") && m == inmemory.After {
			count()
		}
	}
	defer func() {
		w.call = nil
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			died = true
		}
	}()
	a := w.adoption(func(o *adopt.Options) {
		say := o.Say
		o.Say = func(k fleet.Key, step adopt.Step, text string) {
			say(k, step, text)
			count()
		}
	})
	w.done(a.Run(w.Context(), []fleet.Key{w.key()}))
	return false
}

// TestKilledAnywhere ends an adoption everywhere it can. At no time may both
// sides act, or Fairlead on what is not marked; the same call goes on, and undo
// gives back, from wherever it was.
func TestKilledAnywhere(t *testing.T) {
	w := newWorld(t)
	before := w.vms()
	for n := 0; ; n++ {
		for _, undo := range []bool{false, true} {
			w.said = nil
			died := w.kill(n)
			at := strings.Join(w.said[max(0, len(w.said)-1):], "")
			c := w.inFleet()
			if acts := c != nil && !c.Paused; acts && (w.marked() != len(before) || !w.paused()) {
				t.Fatalf("killed at %d (%s): Fairlead may act with %d marked, paused there %t", n, at, w.marked(), w.paused())
			}
			if w.marked() > 0 && !w.paused() {
				t.Fatalf("killed at %d (%s): %d marked before the pause", n, at, w.marked())
			}
			if !undo {
				w.adopt()
				if c := w.inFleet(); c == nil || c.Paused || w.marked() != len(before) || !w.paused() {
					t.Fatalf("killed at %d (%s) and run again: in the fleet %v, marked %d, paused there %t", n, at, c, w.marked(), w.paused())
				}
			}
			w.done(w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()}))
			if c := w.inFleet(); c != nil && !c.Paused || w.marked() > 0 || w.paused() {
				t.Fatalf("killed at %d (%s) and undone: in the fleet %v, marked %d, paused there %t", n, at, c, w.marked(), w.paused())
			}
			if diff := cmp.Diff(before, w.vms()); diff != "" {
				t.Fatalf("killed at %d (%s): machines were touched: %s", n, at, diff)
			}
			w.afresh()
			if !died {
				if n < 9 {
					t.Errorf("an adoption has %d places to be killed at, want more", n)
				}
				return
			}
		}
	}
}

// afresh forgets all that an adoption left behind.
func (w *world) afresh() {
	w.Helper()
	w.store = memory()
	if err := os.RemoveAll(filepath.Join(w.folder, "clusters")); err != nil {
		w.Fatal(err)
	}
}

// A cluster that somebody else paused stays paused, on both sides.
func TestPausedBefore(t *testing.T) {
	w := newWorld(t)
	w.change(kind("Cluster"), "eu-1", false, func(o map[string]any) { _ = unstructured.SetNestedField(o, true, "spec", "paused") })
	w.adopt()
	if c := w.inFleet(); c == nil || !c.Paused || w.marked() != 3 {
		t.Errorf("in the fleet %v with %d marked, want it there and paused", c, w.marked())
	}
	w.said = nil
	w.adopt()
	if len(w.said) != 2 {
		t.Errorf("once more: said %q, want that it is adopted already", w.said)
	}
	w.done(w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()}))
	if !w.paused() || w.marked() != 0 {
		t.Errorf("after undo: paused %t, %d marked, want it paused as before", w.paused(), w.marked())
	}
}

// The controllers have to say that they stopped before anything is marked.
func TestPauseIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.say(t, "KubeadmControlPlane", "eu-1-cp", "False")
	r := w.adoption(func(o *adopt.Options) { o.Patience = 50 * time.Millisecond }).Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "KubeadmControlPlane eu-1-cp have not paused yet") || w.marked() > 0 || !w.inFleet().Paused {
		t.Fatalf("got %v, %d marked, in the fleet paused %t", r[0].Err, w.marked(), w.inFleet().Paused)
	}
	w.say(t, "KubeadmControlPlane", "eu-1-cp", "True")
	w.adopt()
}

// What Cluster API did until it paused is looked at again.
func TestBusyUntilThePause(t *testing.T) {
	w := newWorld(t)
	a := w.adoption(func(o *adopt.Options) {
		o.Say = func(_ fleet.Key, step adopt.Step, _ string) {
			if step == adopt.Pause {
				w.change(kind("MachineDeployment"), "eu-1-md-0", true, func(o map[string]any) {
					_ = unstructured.SetNestedField(o, int64(1), "status", "upToDateReplicas")
				})
			}
		}
	})
	r := a.Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "still at work") || w.marked() > 0 {
		t.Errorf("got %v with %d marked, want it to stop", r[0].Err, w.marked())
	}
}

// Somebody who takes the pause back ends the adoption before Fairlead may act.
func TestPauseTakenBack(t *testing.T) {
	w := newWorld(t)
	a := w.adoption(func(o *adopt.Options) {
		o.Say = func(_ fleet.Key, step adopt.Step, _ string) {
			if step == adopt.Plan {
				w.change(kind("Cluster"), "eu-1", false, func(o map[string]any) { unstructured.RemoveNestedField(o, "spec", "paused") })
			}
		}
	})
	r := a.Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "undid its pause") || !w.inFleet().Paused {
		t.Errorf("got %v, in the fleet paused %t, want it held", r[0].Err, w.inFleet().Paused)
	}
}

// A plan that is not empty stops everything with the manifests held.
func TestPlanMustBeEmpty(t *testing.T) {
	w := newWorld(t)
	a := w.adoption(func(o *adopt.Options) {
		o.Say = func(_ fleet.Key, step adopt.Step, _ string) {
			if step == adopt.Mark { // people change what was written meanwhile
				file := filepath.Join(w.folder, "clusters", w.ns, "eu-1", "eu-1-md-0.yaml")
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(strings.Replace(string(data), "replicas: 2", "replicas: 1", 1)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	r := a.Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "the plan is not empty: Fairlead would delete machine eu-1-md-0-") || !w.inFleet().Paused {
		t.Errorf("got %v, in the fleet paused %t", r[0].Err, w.inFleet().Paused)
	}
}
