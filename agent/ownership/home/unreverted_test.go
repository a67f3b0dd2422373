package home_test

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A silent move cannot be taken back while its home does not answer.
type silent struct {
	move

	answers *atomic.Bool
}

func (s silent) Undo(ctx context.Context) error {
	if s.to == ops && !s.answers.Load() {
		return fleet.Errorf(fleet.Unavailable, "reach the API server", "no route")
	}
	return s.move.Undo(ctx)
}

// TestMoveThatCannotBeTakenBackYet: what a move left in a home that does not answer stays in the
// status and is told, and a later agent removes it.
func TestMoveThatCannotBeTakenBackYet(t *testing.T) {
	for name, c := range map[string]struct {
		self string // the agent after; empty: laptop
		then func(l *lab, clusters *atomic.Pointer[[]fleet.Key], answers *atomic.Bool)
		want []string
	}{
		"it answers again": {
			then: func(_ *lab, _ *atomic.Pointer[[]fleet.Key], answers *atomic.Bool) { answers.Store(true) },
			want: []string{"move to prod/eu", "undo ops/home"},
		},
		"it is the home again": {
			then: func(l *lab, _ *atomic.Pointer[[]fleet.Key], _ *atomic.Bool) {
				l.set(func() { l.declared = fleet.Home{Cluster: ops} })
			},
			want: []string{"undo prod/eu", "move to ops/home"},
		},
		"the agent lives there": {
			self: ownership.AgentOf(ops),
			then: func(*lab, *atomic.Pointer[[]fleet.Key], *atomic.Bool) {},
			want: []string{"move to prod/eu"},
		},
		"it is gone": {
			then: func(_ *lab, clusters *atomic.Pointer[[]fleet.Key], _ *atomic.Bool) {
				clusters.Store(&[]fleet.Key{prod})
			},
			want: []string{"move to prod/eu"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lab{declared: fleet.Home{Cluster: ops, Namespace: "agents", Release: "one"}}
				var answers atomic.Bool
				var clusters atomic.Pointer[[]fleet.Key]
				clusters.Store(&[]fleet.Key{ops, prod})
				open := func(self string) *home.Home {
					return home.New(home.Options{Self: cmp.Or(self, "laptop"), Interval: time.Minute}, home.Parts{
						Fleet: func() (fleet.ID, fleet.Home, []fleet.Key) {
							l.mu.Lock()
							defer l.mu.Unlock()
							return "demo", l.declared, *clusters.Load()
						},
						Mover: func(m home.Move) (home.Mover, error) {
							return silent{move{l, m.Home.Cluster}, &answers}, nil
						},
						Notify: func() {}, Publish: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler),
					})
				}
				h := open("")
				run(t, h, func() {
					l.set(func() { l.declared = fleet.Home{Cluster: prod} })
					h.Check()
					time.Sleep(time.Hour)
					synctest.Wait()
				})
				kept := h.Status()
				if kept.Undo != "ops/home@agents/one" || kept.Cluster != prod {
					t.Errorf("the status is %+v", kept)
				}
				if p, _ := h.Problem(); !strings.Contains(p.Message, "in ops/home (cannot reach the API server: no route)") {
					t.Errorf("the problem is %+v", p)
				}
				l.done()
				c.then(l, &clusters, &answers)
				next := open(c.self)
				next.Restore(kept)
				run(t, next, func() {
					time.Sleep(time.Minute)
					synctest.Wait()
					expect(t, name, l.done(), c.want...)
					if s := next.Status(); s.Undo != "" {
						t.Errorf("the status is %+v", s)
					}
					if p, is := next.Problem(); is {
						t.Errorf("the problem is %+v", p)
					}
				})
			})
		})
	}
}

// TestHomeThatIsNamedAgainIsNotUndone: an earlier move waits to be taken back, and fleet.yaml names
// its home again meanwhile.
func TestHomeThatIsNamedAgainIsNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{declared: fleet.Home{Cluster: prod}}
		h := l.open("laptop")
		h.Restore(sources.HomeStatus{Cluster: prod, Undo: "ops/home"})
		run(t, h, func() { // nothing is taken back in the first second
			l.set(func() { l.declared = fleet.Home{Cluster: ops} })
			h.Check()
			time.Sleep(time.Hour)
			synctest.Wait()
			expect(t, "the fleet moves there again", l.done(), "move to prod/eu", "undo prod/eu", "move to ops/home")
			if s := h.Status(); s.Undo != "" {
				t.Errorf("the status is %+v", s)
			}
		})
	})
}

// TestUndoIsKept: what one agent remembers is what the next one restores.
func TestUndoIsKept(t *testing.T) {
	h := (&lab{}).open("laptop")
	want := sources.HomeStatus{Cluster: prod, Undo: "a/b ops/home@agents/one"}
	h.Restore(want)
	if h.Status() != want {
		t.Errorf("got %+v", h.Status())
	}
}
