package wiring

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/sources/status"
)

// ofMove reports whether a moment is one of a move, rather than of what every owner
// does at any time: how often that comes depends on who is faster.
func ofMove(moment string) bool { return !strings.Contains(moment, "the status") }

// sweep strikes each route at its moments with each fault, each in a world of its
// own: all of them with FAIRLEAD_SWEEP=all, or else each one of so many.
func sweep(t *testing.T, oneOf int, faults ...fault) {
	if os.Getenv("FAIRLEAD_SWEEP") == "all" {
		oneOf = 1
	}
	n := 0
	all := routes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		for _, moment := range travel(t, r, "", "") {
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
func TestSweepMoves(t *testing.T) { sweep(t, 47, killed, unanswered) }

// TestSweepSignedMoves moves fleets whose agents and people believe only what is signed.
func TestSweepSignedMoves(t *testing.T) {
	all := routes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
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
func TestSweepWithdrawnMoves(t *testing.T) { sweep(t, 47, undone, withdrawn, forsaken) }

// TestSweepUndo takes moves back that had come far, and is killed at each moment
// of that: the same command takes back what is left.
func TestSweepUndo(t *testing.T) {
	oneOf := 29
	if os.Getenv("FAIRLEAD_SWEEP") == "all" {
		oneOf = 1
	}
	n := 0
	all := routes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if r.undo == nil {
			continue
		}
		moved := ""
		for _, m := range travel(t, r, "", "") {
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
