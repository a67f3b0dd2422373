package home_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

var (
	ops  = fleet.Key{Namespace: "ops", Name: "home"}
	prod = fleet.Key{Namespace: "prod", Name: "eu"}
)

// A lab is an agent whose fleet moves to its home.
type lab struct {
	mu        sync.Mutex
	declared  fleet.Home
	unwritten error // error of each Publish
	fails     error // error of each move
	did       []string
}

func (l *lab) note(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.did = append(l.did, s)
}

// done returns the calls since the last one of done.
func (l *lab) done() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.did
	l.did = nil
	return out
}

func (l *lab) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// A move fails as the lab says, or waits for ever.
type move struct {
	*lab
	to fleet.Key
}

func (m move) Run(ctx context.Context, show func(step, why string)) error {
	m.note("move to " + m.to.String())
	m.mu.Lock()
	fails := m.fails
	m.mu.Unlock()
	if fails != nil {
		return fails
	}
	show("control plane", "1 of 3 machines are ready")
	<-ctx.Done()
	return ctx.Err()
}

func (m move) Undo(context.Context) error {
	m.note("undo " + m.to.String())
	return nil
}

// open returns the home of an agent called self.
func (l *lab) open(self string) *home.Home {
	return home.New(home.Options{Self: self, Interval: time.Minute}, home.Parts{
		Fleet: func() (fleet.ID, fleet.Home, []fleet.Key) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return "demo", l.declared, []fleet.Key{ops, prod}
		},
		Mover: func(m home.Move) (home.Mover, error) { return move{l, m.Home.Cluster}, nil },
		LivesIn: func(_ context.Context, k fleet.Key) (bool, error) {
			if k == prod {
				return false, errors.New("no answer")
			}
			return false, nil
		},
		Notify: func() {},
		Publish: func(context.Context) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.unwritten
		},
		Log: slog.New(slog.DiscardHandler),
	})
}

// run runs h beside do.
func run(t *testing.T, h *home.Home, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx, ownership.Branch{}) }()
	synctest.Wait()
	do()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func expect(t *testing.T, reason string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", reason, got, want)
	}
}

// TestMoveIsPublishedFirst: the status branch says that a move began before anything is
// done for it.
func TestMoveIsPublishedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{declared: fleet.Home{Cluster: ops}, unwritten: errors.New("cut off")}
		h := l.open("laptop")
		run(t, h, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, "nothing can be written", l.done())
			if p, is := h.Problem(); !is || p.Field != "spec.home" {
				t.Errorf("the problem is %+v", p)
			}
			l.set(func() { l.unwritten = nil })
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			expect(t, "it can", l.done(), "move to ops/home")
			if want := (sources.HomeStatus{Cluster: ops, Step: "control plane", Message: "1 of 3 machines are ready"}); h.Status() != want {
				t.Errorf("the status is %+v", h.Status())
			}
			if _, is := h.Problem(); is {
				t.Error("the problem stays")
			}
		})
	})
}

// TestAnotherHome: a move to a home that fleet.yaml does not name any more is undone, also
// one of an earlier agent.
func TestAnotherHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{declared: fleet.Home{Cluster: ops}}
		h := l.open("laptop")
		h.Restore(sources.HomeStatus{Cluster: prod, Step: "move the secrets"})
		run(t, h, func() {
			expect(t, "an earlier agent's", l.done(), "undo prod/eu", "move to ops/home")
			l.set(func() { l.declared = fleet.Home{} })
			h.Check()
			synctest.Wait()
			expect(t, "its own", l.done(), "undo ops/home")
			if h.Status() != (sources.HomeStatus{}) {
				t.Errorf("the status is %+v", h.Status())
			}
		})
	})
}

// TestFailureIsTriedAgain: a failed move is tried again, after growing waits.
func TestFailureIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{declared: fleet.Home{Cluster: ops}, fails: errors.New("no\nquota")}
		h := l.open("laptop")
		run(t, h, func() {
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := len(l.done()); n < 10 || n > 25 {
				t.Errorf("%d tries in an hour", n)
			}
			if p, _ := h.Problem(); p.Message != "the fleet does not get to its home ops/home: no quota" {
				t.Errorf("the problem is %q", p.Message)
			}
		})
	})
}

// TestProtect: an agent does not delete the cluster that it lives in, nor one that it may
// live in.
func TestProtect(t *testing.T) {
	elsewhere := fleet.Key{Namespace: "prod", Name: "us"}
	for name, c := range map[string]struct {
		reason string
		k      fleet.Key
		want   bool // the cluster is deleted
	}{
		"home":      {"its name says so", ops, false},
		"unknown":   {"nobody answers", prod, false},
		"elsewhere": {"its store says no", elsewhere, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := (&lab{}).open(ownership.AgentOf(ops))
			got, problems := h.Protect(t.Context(), &fleet.Cluster{Key: c.k, Delete: true})
			if got.Delete != c.want || len(problems) > 0 == c.want {
				t.Errorf("%s: deleted %v, with problems %v", c.reason, got.Delete, problems)
			}
		})
	}
}
