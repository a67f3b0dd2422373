package agent

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// staleWorld renders as its world does, and says when it may render otherwise.
type staleWorld struct {
	*world
	stale atomic.Bool
}

func (s *staleWorld) Stale() bool { return s.stale.Load() }

// A revision that the agent holds to is rendered again where the renderer can
// read more of it than before, and not otherwise.
func TestStaleRenderer(t *testing.T) {
	s := &staleWorld{world: newWorld(fleetOf("1", fleet.Prune{}))}
	synctest.Test(t, func(t *testing.T) {
		a := s.agent(Options{})
		a.p.Renderer = s
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- a.Run(ctx) }()
		time.Sleep(time.Hour)
		expect(t, "a fleet without clusters", s.took(), []string(nil))
		s.mu.Lock()
		fetched := len(s.fetched)
		f := fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))
		f.Config.StatusBranch = "status"
		s.fleets[f.Revision.Digest] = f
		s.mu.Unlock()
		time.Sleep(time.Hour)
		s.mu.Lock()
		if len(s.fetched) != fetched {
			t.Errorf("a revision that was rendered is fetched again: %d, then %d times", fetched, len(s.fetched))
		}
		s.mu.Unlock()
		s.stale.Store(true)
		time.Sleep(40 * time.Second)
		s.stale.Store(false)
		synctest.Wait()
		expect(t, "what can be read now", s.took(), []string{"prod/a 1"})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
