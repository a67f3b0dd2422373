package limit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/limit"
)

// slow takes a second for each call and counts those at the same time.
type slow struct {
	providers.Infrastructure
	takes     time.Duration
	now, most atomic.Int32
	calls     atomic.Int32
}

func (s *slow) work() {
	s.calls.Add(1)
	if n := s.now.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	time.Sleep(s.takes)
	s.now.Add(-1)
}

func (s *slow) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	s.work()
	return fleet.Infrastructure{}, nil
}

func (s *slow) EnsureInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	s.work()
	return nil
}

func (s *slow) DeleteInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	s.work()
	return nil
}

func (s *slow) CreateMachine(context.Context, fleet.OperationID, providers.MachineRequest) error {
	s.work()
	return nil
}

func (s *slow) DeleteMachine(context.Context, fleet.OperationID, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error {
	s.work()
	return nil
}

// all makes n calls of each operation at once and returns how long they took.
func all(t *testing.T, p providers.Infrastructure, n int) time.Duration {
	t.Helper()
	ctx, c, start := t.Context(), &fleet.Cluster{}, time.Now()
	var wg sync.WaitGroup
	for range n {
		for _, call := range []func() error{
			func() error { _, err := p.Observe(ctx, c); return err },
			func() error { return p.EnsureInfrastructure(ctx, "", c) },
			func() error { return p.DeleteInfrastructure(ctx, "", c) },
			func() error { return p.CreateMachine(ctx, "", providers.MachineRequest{Cluster: c}) },
			func() error { return p.DeleteMachine(ctx, "", c, "", "") },
		} {
			wg.Go(func() {
				if err := call(); err != nil {
					t.Errorf("call = %v, want no error", err)
				}
			})
		}
	}
	wg.Wait()
	return time.Since(start)
}

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second}
		took := all(t, limit.New(s, limit.Options{InFlight: 3}), 6)
		if s.most.Load() != 3 || took != 10*time.Second {
			t.Errorf("30 calls: at most %d at once in %s, want 3 in 10s", s.most.Load(), took)
		}
	})
}

func TestPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Five come at once, the other 25 at five a second.
		if took := all(t, limit.New(&slow{}, limit.Options{PerSecond: 5}), 6); took.Round(time.Millisecond) != 5*time.Second {
			t.Errorf("30 calls took %s, want 5s", took)
		}
	})
}

func TestNoBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if took := all(t, limit.New(&slow{takes: time.Second}, limit.Options{}), 6); took != time.Second {
			t.Errorf("30 calls took %s, want 1s", took)
		}
	})
}

func TestContextEndsBeforeTheTurn(t *testing.T) {
	for name, o := range map[string]limit.Options{"in flight": {InFlight: 1}, "per second": {PerSecond: 0.1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slow{takes: time.Minute}
				p := limit.New(s, o)
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = p.Observe(t.Context(), &fleet.Cluster{}) })
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := p.CreateMachine(ctx, "", providers.MachineRequest{})
				if fleet.KindOf(err) != fleet.Unavailable || s.calls.Load() != 1 {
					t.Errorf("CreateMachine = %v after %d calls, want kind Unavailable and nothing sent", err, s.calls.Load())
				}
				wg.Wait()
			})
		})
	}
}
