package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// killed ends a call in the middle: nothing after it runs.
type killed struct{}

// kill adopts the cluster, and ends that at the nth step or call. It reports whether the
// adoption came so far.
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
		say := o.OnStep
		o.OnStep = func(k fleet.Key, step adopt.Step, text string) {
			say(k, step, text)
			count()
		}
	})
	w.done(a.Run(w.Context(), []fleet.Key{w.key()}))
	return false
}

// TestKilledAnywhere ends an adoption at every point. At no time may both sides act, or
// Fairlead on what has no ownership tags. From every point the same call goes on, and undo
// gives the cluster back.
func TestKilledAnywhere(t *testing.T) {
	w := newWorld(t)
	before := w.vms()
	for n := 0; ; n++ {
		for _, undo := range []bool{false, true} {
			w.output = nil
			died := w.kill(n)
			at := strings.Join(w.output[max(0, len(w.output)-1):], "")
			c := w.inFleet()
			if acts := c != nil && !c.Paused; acts && (w.tagged() != len(before) || !w.paused()) {
				t.Fatalf("killed at %d (%s): Fairlead may act with %d marked, paused there %t", n, at, w.tagged(), w.paused())
			}
			if w.tagged() > 0 && !w.paused() {
				t.Fatalf("killed at %d (%s): %d marked before the pause", n, at, w.tagged())
			}
			if !undo {
				w.adopt()
				if c := w.inFleet(); c == nil || c.Paused || w.tagged() != len(before) || !w.paused() {
					t.Fatalf("killed at %d (%s) and run again: in the fleet %v, marked %d, paused there %t", n, at, c, w.tagged(), w.paused())
				}
			}
			w.done(w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()}))
			if c := w.inFleet(); c != nil && !c.Paused || w.tagged() > 0 || w.paused() {
				t.Fatalf("killed at %d (%s) and undone: in the fleet %v, marked %d, paused there %t", n, at, c, w.tagged(), w.paused())
			}
			if diff := cmp.Diff(before, w.vms()); diff != "" {
				t.Fatalf("killed at %d (%s): machines were touched: %s", n, at, diff)
			}
			w.reset()
			if !died {
				if n < 9 {
					t.Errorf("an adoption has %d places to be killed at, want more", n)
				}
				return
			}
		}
	}
}

// reset removes everything that an adoption left behind.
func (w *world) reset() {
	w.Helper()
	w.store = memory()
	if err := os.RemoveAll(filepath.Join(w.folder, "clusters")); err != nil {
		w.Fatal(err)
	}
}

// A cluster that somebody else paused stays paused on both sides.
func TestPausedBefore(t *testing.T) {
	w := newWorld(t)
	w.change(kind("Cluster"), "eu-1", false, func(o map[string]any) { _ = unstructured.SetNestedField(o, true, "spec", "paused") })
	w.adopt()
	if c := w.inFleet(); c == nil || !c.Paused || w.tagged() != 3 {
		t.Errorf("in the fleet %v with %d marked, want it there and paused", c, w.tagged())
	}
	w.output = nil
	w.adopt()
	if len(w.output) != 2 {
		t.Errorf("once more: said %q, want that it is adopted already", w.output)
	}
	w.done(w.adoption(nil).Undo(t.Context(), []fleet.Key{w.key()}))
	if !w.paused() || w.tagged() != 0 {
		t.Errorf("after undo: paused %t, %d marked, want it paused as before", w.paused(), w.tagged())
	}
}

// Nothing gets ownership tags before the controllers confirm that they are paused.
func TestPauseIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.say(t, "KubeadmControlPlane", "eu-1-cp", "False")
	r := w.adoption(func(o *adopt.Options) { o.Timeout = 50 * time.Millisecond }).Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "KubeadmControlPlane eu-1-cp have not paused yet") || w.tagged() > 0 || !w.inFleet().Paused {
		t.Fatalf("got %v, %d marked, in the fleet paused %t", r[0].Err, w.tagged(), w.inFleet().Paused)
	}
	w.say(t, "KubeadmControlPlane", "eu-1-cp", "True")
	w.adopt()
}

// What Cluster API changed before it paused is noticed.
func TestChangesBeforeThePause(t *testing.T) {
	w := newWorld(t)
	a := w.adoption(func(o *adopt.Options) {
		o.OnStep = func(_ fleet.Key, step adopt.Step, _ string) {
			if step == adopt.Pause {
				w.change(kind("MachineDeployment"), "eu-1-md-0", true, func(o map[string]any) {
					_ = unstructured.SetNestedField(o, int64(1), "status", "upToDateReplicas")
				})
			}
		}
	})
	r := a.Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "still at work") || w.tagged() > 0 {
		t.Errorf("got %v with %d marked, want it to stop", r[0].Err, w.tagged())
	}
}

// Controllers of older contracts do not report that they have paused. What one of them began before
// the pause is noticed: all is compared after the time that it may take.
func TestControllersThatReportNoPause(t *testing.T) {
	w := newWorld(t)
	w.say(t, "KubeadmControlPlane", "eu-1-cp", "True") // the others report nothing
	const grace = time.Hour
	began := time.Now()
	looks := 0
	a := w.adoption(func(o *adopt.Options) {
		o.PauseGrace = grace
		o.Now = func() time.Time {
			if looks++; looks == 2 {
				w.change(kind("MachineDeployment"), "eu-1-md-0", true, func(o map[string]any) {
					_ = unstructured.SetNestedField(o, int64(1), "status", "upToDateReplicas")
				})
			}
			return began.Add(time.Duration(looks) * grace / 2)
		}
	})
	r := a.Run(t.Context(), []fleet.Key{w.key()})
	if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), "still at work") || w.tagged() > 0 {
		t.Errorf("got %v with %d marked after %d looks, want it to stop", r[0].Err, w.tagged(), looks)
	}
}

// Somebody who undoes the pause ends the adoption before Fairlead may act.
func TestPauseUndoneByOthers(t *testing.T) {
	w := newWorld(t)
	a := w.adoption(func(o *adopt.Options) {
		o.OnStep = func(_ fleet.Key, step adopt.Step, _ string) {
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

// A plan that is not empty ends the adoption while the manifests are paused.
func TestPlanMustBeEmpty(t *testing.T) {
	w := newWorld(t)
	a := w.adoption(func(o *adopt.Options) {
		o.OnStep = func(_ fleet.Key, step adopt.Step, _ string) {
			if step == adopt.Mark { // people change the manifests meanwhile
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
