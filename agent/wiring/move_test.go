package wiring

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// inWorld runs do in a world whose clusters can have agents.
func inWorld(t *testing.T, do func(ctx context.Context, w *moveWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newMoveWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer func() {
			cancel()
			time.Sleep(time.Hour) // whoever waits for something sees that it is over
			w.cloud.Close()
		}()
		go w.kubelet(ctx, keyHome())
		go w.kubelet(ctx, keyOther())
		do(ctx, w)
	})
}

// travel lets a fleet take a route, with f at one moment, and returns the moments
// at which it could be.
func travel(t *testing.T, r route, strike string, f fault) (moments []string) {
	t.Helper()
	inWorld(t, func(ctx context.Context, w *moveWorld) {
		r.begin(ctx, w)
		before := w.machines()
		w.begin(strike, f)
		err := r.run(ctx, w)
		moments = w.end()
		if f == unanswered && err != nil {
			err = r.run(ctx, w) // it ended with an error, and the person repeats the command
		}
		if strike != "" && !w.struck {
			w.t.Fatalf("it was to be struck %s; there was\n%s", strike, strings.Join(moments, "\n"))
		}
		switch {
		case f == undone && err != nil:
			w.undo(ctx, r, before)
		case err != nil:
			w.t.Fatal(err)
		case f == withdrawn || f == forsaken:
			w.awaitUndone(ctx, r, before)
		default:
			w.arrived(r, before)
		}
	})
	return moments
}

// undo takes a move back, or finds that it is too late, and makes it once more.
func (w *moveWorld) undo(ctx context.Context, r route, before []string) {
	w.t.Helper()
	if err := r.undo(ctx, w); err == nil {
		w.back(r, before)
	} else if fleet.KindOf(err) != fleet.Invalid || w.owner() != r.to {
		w.t.Fatalf("undo: %v, and the owner is %s", err, w.owner())
	}
	w.begin("", "")
	if err := r.run(ctx, w); err != nil {
		w.t.Fatal(err)
	}
	w.arrived(r, before)
}

// awaitUndone waits until a move that fleet.yaml does not ask for any more is taken
// back, or has come to its end, and declares it once more.
func (w *moveWorld) awaitUndone(ctx context.Context, r route, before []string) {
	w.t.Helper()
	time.Sleep(10 * time.Minute)
	switch {
	case w.owner() == r.from:
		w.back(r, before)
	case r.from == laptop:
		r.keeps = true // it clears nothing that fleet.yaml does not ask for, and has ended
		w.arrived(r, before)
		return
	}
	if err := r.run(ctx, w); err != nil {
		w.t.Fatal(err)
	}
	w.arrived(r, before)
}

func (w *moveWorld) owner() string {
	s, err := w.status(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Owner.Agent
}

// back checks that a move was taken back: the owner is the one that was, all is as
// it was, and nothing is left of the move.
func (w *moveWorld) back(r route, before []string) {
	w.t.Helper()
	s, err := w.status(context.Background())
	if err != nil || s.Owner.Agent != "" && s.Owner.Agent != r.from || s.Next != (fleet.Succession{}) {
		w.t.Fatalf("taken back, and the owner is %+v, the succession %+v, %v", s.Owner, s.Next, err)
	}
	w.nothingWith(r.to)
	if len(before) > 0 {
		w.calm(before)
	}
}

// begin lets moments count, and strikes a process at one.
func (w *moveWorld) begin(strike string, f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.seen)
	w.moments, w.strike, w.fault, w.struck = nil, strike, f, false
}

// end returns the moments since begin.
func (w *moveWorld) end() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.moments)
}

// arrived checks that the fleet is where it was to go: the new owner acts, all is
// as it was, nothing is left behind, and nothing is to be done.
func (w *moveWorld) arrived(r route, before []string) {
	w.t.Helper()
	w.await("the new owner, and a calm fleet", func() bool {
		s, err := w.status(context.Background())
		return err == nil && s.Owner.Agent == r.to && s.Next == (fleet.Succession{}) && w.provisioned()
	})
	if !r.keeps {
		time.Sleep(time.Minute) // an agent that is not the owner any more finds out
		w.nothingWith(r.from)
	}
	w.calm(before)
}

// calm checks that nothing is to be done, nothing happened to machines, and
// nothing ever was as it must not be.
func (w *moveWorld) calm(before []string) {
	w.t.Helper()
	acted := w.changes()
	time.Sleep(10 * time.Minute)
	if now := w.changes(); now != acted {
		w.t.Errorf("the fleet was provisioned, and %d changes followed", now-acted)
	}
	for _, m := range before {
		if !slices.Contains(w.machines(), m) {
			w.t.Errorf("machine %s is gone", m)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wrong := range w.wrong {
		w.t.Error(wrong)
	}
}

func (w *moveWorld) changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acted
}

// nothingWith checks that an agent has no secrets, and is not installed.
func (w *moveWorld) nothingWith(name string) {
	w.t.Helper()
	if left := held(w.t, w.store(name)); len(left) > 0 {
		w.t.Errorf("%s still has %v", name, left)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if k, ok := ownership.HomeOf(name); ok && w.installed[k] != "" {
		w.t.Errorf("%s is still installed", name)
	}
}

// held returns what is in a store.
func held(t testing.TB, s *secrets.Memory) (out []string) {
	t.Helper()
	ctx := context.Background()
	for _, k := range allKeys() {
		for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
			if _, err := s.Get(ctx, k, name); err == nil {
				out = append(out, k.String()+"-"+string(name))
			}
		}
	}
	given, err := s.ListSecrets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range given {
		out = append(out, k.String())
	}
	return out
}
