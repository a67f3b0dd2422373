package wiring

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/sources/status"
	"fairlead.dev/test/run/short"
)

// ofMove reports whether a moment is one of a move, rather than of what every owner
// does at any time: how often that comes depends on who is faster.
func ofMove(moment string) bool { return !strings.Contains(moment, "the status") }

// sweep strikes each route at its moments with each fault, each in a world of its
// own: all of them with FAIRLEAD_SWEEP=all, or else one of so many.
func sweep(t *testing.T, faults ...fault) {
	oneOf := 1
	if os.Getenv("FAIRLEAD_SWEEP") != "all" {
		oneOf = short.Number(t, 211, 47)
	}
	n := 0
	all := routes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		for _, moment := range momentsOf(t, name) {
			for _, f := range faults {
				if !ofMove(moment) || !r.has(f) || f == unanswered && strings.HasPrefix(moment, "before ") {
					continue
				}
				if n++; n%oneOf != 0 {
					continue
				}
				t.Run(name+"/"+string(f)+" "+moment, func(t *testing.T) {
					t.Parallel()
					travel(t, r, moment, f)
				})
			}
		}
	}
	t.Logf("%d of %d", n/oneOf, n)
}

// peaceful are the moments of each route, by its name, where nothing strikes.
var peaceful struct {
	sync.Mutex
	moments map[string][]string
}

// momentsOf travels a route, once for all tests.
func momentsOf(t *testing.T, name string) []string {
	t.Helper()
	peaceful.Lock()
	defer peaceful.Unlock()
	if peaceful.moments[name] == nil {
		if peaceful.moments == nil {
			peaceful.moments = make(map[string][]string)
		}
		peaceful.moments[name] = travel(t, routes()[name], "", "")
	}
	return peaceful.moments[name]
}

// has reports whether f can come on the route.
func (r route) has(f fault) bool {
	switch f {
	case undone:
		return r.undo != nil
	case withdrawn, forsaken:
		return r.declared
	}
	return true
}

// TestSweepMoves strikes a fleet on its way: whoever is killed, and does not hear
// an answer, goes on with the same command, or is begun again, and comes to the
// same end. At every moment one agent owns the fleet, only that acts, and it could.
func TestSweepMoves(t *testing.T) { sweep(t, killed, unanswered) }

// TestSweepSignedMoves moves fleets whose agents and people believe only what is signed.
func TestSweepSignedMoves(t *testing.T) {
	all := routes()
	for _, name := range short.Of(t, 3, slices.Sorted(maps.Keys(all))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := all[name]
			begin, run := r.begin, r.run
			r.begin = func(ctx context.Context, w *moveWorld) {
				w.sign()
				begin(ctx, w)
			}
			r.run = func(ctx context.Context, w *moveWorld) error {
				err := run(ctx, w)
				if _, tree, errRead := w.git.Read(ctx); errRead != nil {
					t.Error(errRead)
				} else if s, errRead := status.Trusted(tree, w.statusKeys().Verify); errRead != nil || !s.Signed || s.Doubt != "" {
					t.Errorf("the owner is %+v, %s, %v", s.Owner, s.Doubt, errRead)
				}
				return err
			}
			travel(t, r, "", "")
		})
	}
}

// TestSweepWithdrawnMoves crashes a fleet on its way, and undoes the move.
func TestSweepWithdrawnMoves(t *testing.T) { sweep(t, undone, withdrawn, forsaken) }

// TestSweepUndo takes moves back that had come far, and is killed at each moment
// of that: the same command takes back what is left.
func TestSweepUndo(t *testing.T) {
	oneOf := 1
	if os.Getenv("FAIRLEAD_SWEEP") != "all" {
		oneOf = short.Number(t, 97, 29)
	}
	n := 0
	all := routes()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return all[name].undo == nil })
	for _, name := range short.Of(t, 2, names) {
		r := all[name]
		moved := ""
		for _, m := range momentsOf(t, name) {
			if strings.HasPrefix(m, "after ") && strings.Contains(m, "the secrets are with") {
				moved = m
			}
		}
		for _, moment := range takeBack(t, r, moved, "") {
			if n++; n%oneOf == 0 && ofMove(moment) {
				t.Run(name+"/"+moment, func(t *testing.T) {
					t.Parallel()
					takeBack(t, r, moved, moment)
				})
			}
		}
	}
}

// takeBack kills a move at one moment and takes it back, killed at another one,
// and returns the moments at which it could be.
func takeBack(t *testing.T, r route, moved, strike string) (moments []string) {
	t.Helper()
	inWorld(t, func(ctx context.Context, w *moveWorld) {
		r.begin(ctx, w)
		before := w.machines()
		w.begin(moved, undone)
		if err := r.run(ctx, w); err == nil {
			w.t.Fatalf("it was to be killed %s", moved)
		}
		w.begin(strike, killed)
		if err := r.undo(ctx, w); err != nil {
			w.t.Fatal(err)
		}
		moments = w.end()
		if strike != "" && !w.struck {
			w.t.Fatalf("it was to be struck %s; there was\n%s", strike, strings.Join(moments, "\n"))
		}
		w.back(r, before)
	})
	return moments
}
