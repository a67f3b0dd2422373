package replicas

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/replicas/leasetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// stubborn is a reconciler that goes on whatever its context says, and asks
// before it acts.
type stubborn struct {
	reconcile.Unattended
	may  func(fleet.Key) error
	free chan struct{}
	said chan error
}

func (s *stubborn) Pass(_ context.Context, c *fleet.Cluster, _ fleet.Memory) reconcile.Result {
	<-s.free
	s.said <- s.may(c.Key)
	return reconcile.Result{}
}

func (s *stubborn) Forget(fleet.Key) {}

// fresh returns a replica that was not run yet.
func fresh(client *leasetest.Client, identity string) (*Replica, *stubborn) {
	s := &stubborn{free: make(chan struct{}), said: make(chan error, 8)}
	return New(Options{
		Leases: client, Namespace: "n", Agent: "fairlead", Identity: identity, Shards: 1, Workers: 4,
		Reconciler: func(may func(fleet.Key) error, _ func(fleet.Key)) reconcile.Passes {
			s.may = may
			return s
		},
	}), s
}

// alone returns a replica that holds all shards and follows leader "a".
func alone(t *testing.T, api *leasetest.API) (*Replica, *stubborn) {
	t.Helper()
	m, s := fresh(api.Client(), "b")
	if err := m.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.leases.leader = "a"
	return m, s
}

func answer(t *testing.T, m *Replica) {
	t.Helper()
	q, _, err := m.Heartbeat(t.Context(), "a", "")
	if err != nil || !m.accept("a", q) {
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
		go func() { done <- m.Pass(t.Context(), "a", someCluster, fleet.Memory{}, "") }()
		synctest.Wait()
		m.leases.leader = "c"
		q, _, _ := m.Heartbeat(t.Context(), "c", "")
		if !m.accept("c", q) {
			t.Fatal("the new leader is not heard")
		}
		go func() { // what should be refused at once would wait for this
			time.Sleep(time.Second)
			close(s.free)
		}()
		if res := m.Pass(t.Context(), "c", someCluster, fleet.Memory{}, ""); !errors.Is(res.Err, reconcile.ErrPostponed) {
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
		lose   func(t *testing.T, m *Replica)
		shards bool
	}{
		"Undisturbed": {func(*testing.T, *Replica) {}, true},
		"LeaderSilent": {func(t *testing.T, m *Replica) {
			for range 6 { // the session goes on
				time.Sleep(2 * time.Second)
				if err := m.step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		"SessionSilent": {func(t *testing.T, m *Replica) {
			time.Sleep(9 * time.Second)
			m.leases.leader = "a"
			answer(t, m)
			time.Sleep(2 * time.Second)
		}, false},
		"SessionRemoved": {func(t *testing.T, m *Replica) { // by hand: its shards are free at once
			if err := m.api.Delete(t.Context(), m.session.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			go func() { _ = m.step(t.Context()) }() // it ends when the pass has
			synctest.Wait()
		}, false},
		"ShardGiven": {func(_ *testing.T, m *Replica) {
			m.mu.Lock()
			m.shards[0].ended = true
			m.mu.Unlock()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := alone(t, leasetest.New())
				answer(t, m)
				done := make(chan reconcile.Result, 1)
				go func() { done <- m.Pass(t.Context(), "a", someCluster, fleet.Memory{}, "") }()
				synctest.Wait()
				c.lose(t, m)
				close(s.free)
				if err := <-s.said; (err == nil) != c.shards {
					t.Errorf("may act: %v", err)
				}
				<-done
				synctest.Wait()
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
		b, _ := fresh(api.Client(), "c")
		if err := b.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		stale, err := listLeases(t.Context(), b.api, "fairlead")
		if err != nil {
			t.Fatal(err)
		}
		b.evict(t.Context(), b.session.Name, stale)
		time.Sleep(9 * time.Second)
		if _, err := a.renew(t.Context()); err != nil { // b has not heard of it
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second)
		b.evict(t.Context(), b.session.Name, stale)
		if _, err := a.renew(t.Context()); err != nil || api.Lease(a.session.Name) == nil {
			t.Errorf("the session was ended though it was renewed: %v", err)
		}
		now, err := listLeases(t.Context(), b.api, "fairlead")
		if err != nil {
			t.Fatal(err)
		}
		b.evict(t.Context(), b.session.Name, now)
		time.Sleep(DefaultDuration)
		b.evict(t.Context(), b.session.Name, now)
		if api.Lease(a.session.Name) != nil {
			t.Error("a session that is silent goes on")
		}
		if _, err := a.renew(t.Context()); err == nil {
			t.Error("a session that was ended is renewed")
		}
		b.close(t.Context())
	})
}

// TestLostAnswersOfSessions loses the answer to each kind of write of a session,
// which happened. None of it costs the shards, nor leaves a session behind that
// others would count.
func TestLostAnswersOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := leasetest.New()
		client := api.Client()
		m, _ := fresh(client, "b")
		lose := func(what string, write func() error) {
			t.Helper()
			client.Fail(leasetest.Faults{LoseAnswers: true})
			if err := write(); err == nil {
				t.Fatalf("%s was answered", what)
			}
			client.Fail(leasetest.Faults{})
		}
		sessions := func() int {
			t.Helper()
			v, err := listLeases(t.Context(), m.api, "fairlead")
			if err != nil {
				t.Fatal(err)
			}
			return len(v.sessions)
		}
		step := func() {
			t.Helper()
			if err := m.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		lose("the first session", func() error { return m.step(t.Context()) })
		step()
		if n := sessions(); n != 1 {
			t.Errorf("of one replica there are %d sessions", n)
		}
		step()
		name, h := m.session.Name, m.shards[0]
		if h == nil {
			t.Fatal("the shard is not held")
		}
		lose("a renewal", func() error { return m.step(t.Context()) })
		step()
		if m.session.Name != name || m.shards[0] != h || h.ctx.Err() != nil {
			t.Error("a renewal without an answer cost the session")
		}

		client.Fail(leasetest.Faults{Away: true})
		m.close(t.Context())
		client.Fail(leasetest.Faults{})
		step()
		step()
		if n := sessions(); n != 1 || m.session.Name == name {
			t.Errorf("after the end of session %s there are %d, and it goes on: %v", name, n, m.session.Name == name)
		}
		m.close(t.Context())
	})
}

// TestChangesAreHeard tells of a cluster again whose change was told in an answer
// that did not come.
func TestChangesAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := alone(t, leasetest.New())
		attend := func(answer string) (string, []fleet.Key) {
			t.Helper()
			q, changed, err := m.Heartbeat(t.Context(), "a", answer)
			if err != nil {
				t.Fatal(err)
			}
			return q, changed
		}
		q, _ := attend("")
		m.notify(someCluster.Key)
		if _, changed := attend(q); len(changed) != 1 { // an answer that does not come
			t.Fatalf("told of %v", changed)
		}
		q, _ = attend("")
		q, changed := attend(q)
		if len(changed) != 1 || changed[0] != someCluster.Key {
			t.Errorf("after an answer was lost, told of %v", changed)
		}
		if _, changed := attend(q); len(changed) != 0 {
			t.Errorf("what was heard is told again: %v", changed)
		}
		m.close(t.Context())
	})
}
