package shard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/election"
	"fairlead.dev/agent/election/leasetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// stubborn is a reconciler that goes on whatever its context says, and asks
// before it acts.
type stubborn struct {
	may  func(fleet.Key) error
	free chan struct{}
	said chan error
}

func (s *stubborn) Pass(_ context.Context, c *fleet.Cluster) reconcile.Result {
	<-s.free
	s.said <- s.may(c.Key)
	return reconcile.Result{}
}

func (s *stubborn) Forget(fleet.Key) {}

// alone returns a member that holds all shards and follows leader "a".
func alone(t *testing.T, api *leasetest.API) (*Member, *stubborn) {
	t.Helper()
	s := &stubborn{free: make(chan struct{}), said: make(chan error, 8)}
	m := New(Options{
		Leases: api.Client(), Namespace: "n", Agent: "fairlead", Identity: "b", Shards: 1, Workers: 4,
		Reconciler: func(may func(fleet.Key) error, _ func(fleet.Key)) agent.Reconciler {
			s.may = may
			return s
		},
	})
	if err := m.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.view.leader = "a"
	return m, s
}

func answer(t *testing.T, m *Member) {
	t.Helper()
	q, _, err := m.Attend(t.Context(), "a", "")
	if err != nil || !m.permitted("a", q) {
		t.Fatalf("question %q, error %v", q, err)
	}
}

var someCluster = &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}

// TestOnePassAtATime: a new leader does not know of the pass that the old one
// asked for.
func TestOnePassAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := alone(t, leasetest.New())
		answer(t, m)
		done := make(chan reconcile.Result, 1)
		go func() { done <- m.Pass(t.Context(), "a", someCluster) }()
		synctest.Wait()
		m.view.leader = "c"
		q, _, _ := m.Attend(t.Context(), "c", "")
		if !m.permitted("c", q) {
			t.Fatal("the new leader is not heard")
		}
		go func() { // what should be refused at once would wait for this
			time.Sleep(time.Second)
			close(s.free)
		}()
		if res := m.Pass(t.Context(), "c", someCluster); !errors.Is(res.Err, agent.ErrPostponed) {
			t.Errorf("a second pass over the cluster was made: %v", res.Err)
		}
		<-done
		m.close(t.Context())
	})
}

// TestRightToAct asks for the right to act in a pass that goes on in spite of
// everything.
func TestRightToAct(t *testing.T) {
	for name, c := range map[string]struct {
		lose  func(t *testing.T, m *Member)
		holds bool
	}{
		"Undisturbed": {func(*testing.T, *Member) {}, true},
		"LeaderSilent": {func(t *testing.T, m *Member) {
			for range 6 { // the session goes on
				time.Sleep(2 * time.Second)
				if err := m.step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		"SessionSilent": {func(t *testing.T, m *Member) {
			time.Sleep(9 * time.Second)
			m.view.leader = "a"
			answer(t, m)
			time.Sleep(2 * time.Second)
		}, false},
		"ShardGiven": {func(_ *testing.T, m *Member) {
			m.mu.Lock()
			m.holds[0].ended = true
			m.mu.Unlock()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := alone(t, leasetest.New())
				answer(t, m)
				done := make(chan reconcile.Result, 1)
				go func() { done <- m.Pass(t.Context(), "a", someCluster) }()
				synctest.Wait()
				c.lose(t, m)
				close(s.free)
				if err := <-s.said; (err == nil) != c.holds {
					t.Errorf("may act: %v", err)
				}
				<-done
				m.close(t.Context())
			})
		})
	}
}

// TestRenewedInTime renews a session between the look that found it silent and
// its end.
func TestRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := leasetest.New()
		a, _ := alone(t, api)
		b, _ := alone(t, api)
		stale, err := look(t.Context(), b.api, "fairlead")
		if err != nil {
			t.Fatal(err)
		}
		b.bury(t.Context(), stale)
		time.Sleep(9 * time.Second)
		if err := a.renew(t.Context()); err != nil { // b has not heard of it
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second)
		b.bury(t.Context(), stale)
		if err := a.renew(t.Context()); err != nil || api.Lease(a.session.Name) == nil {
			t.Errorf("the session was ended though it was renewed: %v", err)
		}
		now, err := look(t.Context(), b.api, "fairlead")
		if err != nil {
			t.Fatal(err)
		}
		b.bury(t.Context(), now)
		time.Sleep(election.DefaultDuration)
		b.bury(t.Context(), now)
		if api.Lease(a.session.Name) != nil {
			t.Error("a session that is silent goes on")
		}
		if err := a.renew(t.Context()); err == nil {
			t.Error("a session that was ended is renewed")
		}
		b.close(t.Context())
	})
}
