package status_test

import (
	"errors"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// assumed returns an arbiter on b that assumed the fleet of agent a, which a process began to act
// for before.
func assumed(t *testing.T, b *branch, verified bool) (former *status.Arbiter, was fleet.Owner, a *status.Arbiter, owner fleet.Owner) {
	t.Helper()
	former, was = begun(t, b, verified)
	a = status.NewArbiter(b)
	if verified {
		a = arbiterOf(b, "a")
	}
	b.before = func() error { return fleet.Errorf(fleet.Unavailable, "commit", "the repository is read-only") }
	if _, _, err := a.Begin(t.Context(), was); fleet.KindOf(err) != fleet.Unavailable {
		t.Fatalf("the push gives %v", err)
	}
	owner, _, err := a.Assume(t.Context(), was)
	if err != nil || owner.Incarnation != was.Incarnation+1 || owner.Process == was.Process {
		t.Fatalf("assumed is %+v, %v", owner, err)
	}
	b.before = nil
	return former, was, a, owner
}

// TestAssume: a process that nothing can be pushed for reads itself as the one that acts, and is
// the one once it can be written, also of a branch that was deleted meanwhile.
func TestAssume(t *testing.T) {
	for _, verified := range []bool{false, true} {
		for _, deleted := range []bool{false, true} {
			b := &branch{}
			former, was, a, owner := assumed(t, b, verified)
			if now, err := former.Owner(t.Context()); err != nil || now != was {
				t.Errorf("the former process reads %+v, %v", now, err)
			}
			if now, _, err := a.Succession(t.Context()); err != nil || now != owner {
				t.Errorf("the process %+v reads %+v, %v", owner, now, err)
			}
			before := b.file(t, incarnationPath)
			w := status.NewWriter(b, status.Options{Owner: owner, OwnerIn: a.In, Now: clock})
			if deleted {
				b.log = nil
				if err := a.Restore(t.Context(), owner); err != nil {
					t.Fatal(err)
				}
			}
			commits := len(b.log)
			for range 2 { // it can be repeated
				if err := a.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if want := commits + 1; !deleted && len(b.log) != want {
				t.Errorf("there are %d commits, want %d", len(b.log), want)
			}
			if now, err := former.Owner(t.Context()); err != nil || now != owner {
				t.Errorf("the former process reads %+v of %+v, %v", now, owner, err)
			}
			w.Put(report(fleet.PhaseWorkers))
			if _, err := w.Flush(t.Context()); err != nil {
				t.Errorf("the process cannot write: %v", err)
			}
			// From then on the branch counts as it is.
			put(t, b, incarnationPath, before)
			if now, err := a.Owner(t.Context()); !errors.Is(err, status.ErrDistrusted) {
				t.Errorf("a branch that was put back says %+v, %v", now, err)
			}
		}
	}
}

// TestAssumedEnds: a process that nothing was pushed for ends for another one that begins, and for
// another owner.
func TestAssumedEnds(t *testing.T) {
	for name, play := range map[string]func(t *testing.T, b *branch, was fleet.Owner) fleet.Owner{
		"another process": func(t *testing.T, b *branch, was fleet.Owner) fleet.Owner {
			o, _, err := status.NewArbiter(b).Begin(t.Context(), was)
			if err != nil || o.Incarnation != was.Incarnation+1 {
				t.Fatal(o, err)
			}
			return o
		},
		"another agent": func(t *testing.T, b *branch, was fleet.Owner) fleet.Owner {
			o, err := status.NewArbiter(b).HandOver(t.Context(), was, "b", "there")
			if err != nil {
				t.Fatal(err)
			}
			return o
		},
	} {
		b := &branch{}
		_, was, a, _ := assumed(t, b, false)
		want := play(t, b, was)
		if now, _, err := a.Succession(t.Context()); err != nil || now != want {
			t.Errorf("%s: it reads %+v, %v, want %+v", name, now, err, want)
		}
		if err := a.Settle(t.Context()); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("%s: it is written that it acts: %v", name, err)
		}
	}
	b := &branch{}
	_, was := begun(t, b, false)
	a := status.NewArbiter(b)
	_, next := begun(t, b, false)
	if o, _, err := a.Assume(t.Context(), was); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("after process %d of another start it assumes %+v, %v", next.Incarnation, o, err)
	}
}
