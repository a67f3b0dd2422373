package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A wire is a source that cannot give revisions for a while.
type wire struct {
	*world
	mu   sync.Mutex
	down map[string]error // by revision digest; "": Resolve
	asks int
}

func (s *wire) set(rev string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[rev] = err
}

func (s *wire) Resolve(ctx context.Context) (fleet.Revision, error) {
	s.mu.Lock()
	err := s.down[""]
	s.asks++
	s.mu.Unlock()
	if err != nil {
		return fleet.Revision{}, err
	}
	return s.world.Resolve(ctx)
}

func (s *wire) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asks
	s.asks = 0
	return n
}

func (s *wire) Fetch(ctx context.Context, rev fleet.Revision) (sources.Tree, error) {
	s.mu.Lock()
	err := s.down[rev.Hash()]
	s.mu.Unlock()
	t, missing := s.world.Fetch(ctx, rev)
	return t, errors.Join(err, missing)
}

// over runs an agent over the wire s while do plays the world.
func (s *wire) over(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := s.agent(Options{})
		a.p.Source = s
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		do(t)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the agent ended with an error: %v", err)
		}
	})
}

func TestRevisionThatCannotBeGot(t *testing.T) {
	missing := fleet.Errorf(fleet.NotFound, "fetch 2", "not our ref")
	news := func() *wire {
		return &wire{down: make(map[string]error), world: newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y")))}
	}
	late := func(w *world) bool {
		p := w.whole().Problems
		return len(p) == 1 && strings.Contains(p[0].Message, "cannot be got yet: cannot fetch 2: not our ref")
	}
	t.Run("Later", func(t *testing.T) {
		s := news()
		s.over(t, func(t *testing.T) {
			s.took()
			s.set("2", missing)
			s.fetches()
			s.push("2")
			expect(t, "nothing is done with it", s.took(), []string(nil))
			if !late(s.world) {
				t.Errorf("it is not told: %v", s.whole().Problems)
			}
			expect(t, "the newest revision that was seen is told", s.whole().Revision, revision("2"))
			time.Sleep(time.Hour)
			if n := len(s.fetches()); n < 8 || n > 20 {
				t.Errorf("it was asked for %d times in an hour", n)
			}
			s.set("2", nil)
			time.Sleep(11 * time.Minute)
			expect(t, "it is followed as soon as it can be got", s.took()[0], "prod/a 1")
			expect(t, "and nothing is wrong any more", s.whole().Problems, []fleet.Problem(nil))
			expect(t, "its cluster has it", s.of(keyA).Revision, revision("2"))
		})
	})
	t.Run("Once", func(t *testing.T) {
		s := news()
		s.over(t, func(t *testing.T) {
			s.set("2", missing)
			s.world.mu.Lock()
			s.world.head = revision("2")
			s.world.mu.Unlock()
			for !slices.Contains(s.fetches(), "2") {
				time.Sleep(100 * time.Millisecond)
			}
			synctest.Wait()
			if late(s.world) {
				t.Error("a server that is behind for a moment is told of")
			}
			s.set("2", nil)
			time.Sleep(3 * time.Second)
			expect(t, "the next try is soon", s.of(keyA).Revision, revision("2"))
		})
	})
	t.Run("TakenBack", func(t *testing.T) {
		s := news()
		s.over(t, func(t *testing.T) {
			s.set("2", missing)
			s.push("2")
			s.push("1")
			expect(t, "what is not the newest any more is not told", s.whole().Problems, []fleet.Problem(nil))
			expect(t, "nor is it said to be the newest", s.whole().Revision, revision("1"))
			s.asked()
			time.Sleep(10 * time.Minute)
			if n := s.asked(); n > 25 {
				t.Errorf("the source is asked %d times in 10 minutes", n)
			}
		})
	})
	t.Run("ServerGone", func(t *testing.T) {
		s := news()
		s.over(t, func(t *testing.T) {
			s.set("2", missing)
			s.push("2")
			s.set("", errors.New("no route"))
			s.asked()
			time.Sleep(10 * time.Minute)
			if n := s.asked(); n > 45 {
				t.Errorf("a source that does not answer is asked %d times in 10 minutes", n)
			}
		})
	})
	t.Run("Unclassified", func(t *testing.T) {
		s := news()
		s.over(t, func(t *testing.T) {
			s.refused[revision("2").Digest] = errors.New("out of processes")
			s.push("2")
			s.world.mu.Lock()
			delete(s.refused, revision("2").Digest)
			s.world.mu.Unlock()
			time.Sleep(2 * time.Minute)
			expect(t, "an error that says nothing of the content refuses nothing", s.of(keyA).Revision, revision("2"))
		})
	})
}

func TestLastGoodThatCannotBeGot(t *testing.T) {
	broken := fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x"))
	broken.Problems = []fleet.Problem{{Overlay: "clusters/prod/b", Message: "broken"}}
	s := &wire{down: make(map[string]error), world: newWorld(broken, fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x")))}
	s.record = told(fleet.PhaseProvisioned)
	s.set("1", fleet.Errorf(fleet.NotFound, "fetch 1", "404"))
	alone := func(p fleet.Problem) bool { return p.Cluster == keyB && strings.Contains(p.Message, "left alone") }
	s.over(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		if slices.Contains(s.took(), "prod/b 1") {
			t.Fatal("it was looked at without a definition")
		}
		if !slices.ContainsFunc(s.whole().Problems, alone) {
			t.Errorf("it is not told of: %v", s.whole().Problems)
		}
		s.set("1", nil)
		time.Sleep(12 * time.Minute)
		if !slices.Contains(s.took(), "prod/b 1") {
			t.Error("it is not held to its last good definition once that can be got")
		}
		if slices.ContainsFunc(s.whole().Problems, alone) {
			t.Errorf("it is said to be left alone still: %v", s.whole().Problems)
		}
	})
}
