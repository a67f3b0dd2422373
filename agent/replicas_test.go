package agent

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

func TestGuardIsAsked(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	var lost error
	bubble(t, w, Options{Guard: func() error { return lost }}, func(t *testing.T, _ *Agent) {
		expect(t, "the leader may act", w.may(keyA), error(nil))
		lost = errors.New("not the leader")
		if err := w.may(keyA); !errors.Is(err, lost) {
			t.Errorf("a process that does not lead may act: %v", err)
		}
	})
}

// postponing is a reconciler that cannot make the first passes.
type postponing struct {
	*world
	passes int
	closed bool
}

func (p *postponing) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	if p.passes++; p.passes < 4 {
		return reconcile.Result{Err: reconcile.ErrPostponed, After: time.Second}
	}
	return p.world.Pass(ctx, c, known)
}

func (p *postponing) Close() { p.closed = true }

// TestPostponed tries again, and reports nothing of a pass that was none.
func TestPostponed(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	p := &postponing{world: w}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := w.agent(Options{})
		a.p.Reconciler = func(func(fleet.Key) error, func(fleet.Key)) reconcile.Passes { return p }
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if _, told := w.report(keyA); told {
			t.Error("a postponed pass was reported")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, "it is made when it can be", w.took(), []string{"prod/a 1"})
		expect(t, "the reconciler is open while the agent runs", p.closed, false)
		cancel()
		expect(t, "no error", <-done, error(nil))
		expect(t, "and closed afterwards", p.closed, true)
	})
}

// TestTermsShareMetrics runs one agent after the other in one process, as a
// replica does that leads twice.
func TestTermsShareMetrics(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	m := metrics.New("v0")
	for range 2 {
		a := w.agent(Options{})
		a.p.Metrics = m
		m.SetQueue(a.queue.Len)
	}
	answer := httptest.NewRecorder()
	m.Handler(discard()).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(answer.Body.String(), "\nfairlead_queue_depth 0\n") {
		t.Errorf("no fairlead_queue_depth in %s", answer.Body)
	}
}

// TestMetricsKnowTheResync: a cluster whose turn comes rarely is not unhealthy between two turns.
func TestMetricsKnowTheResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
		o, p := w.options(Options{}), w.parts()
		o.Resync = 2 * time.Hour
		a := New(o, p)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		answer := httptest.NewRecorder()
		p.Metrics.Handler(discard()).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		expect(t, "its only turn was the first", w.took(), []string{"prod/a 1"})
		if !strings.Contains(answer.Body.String(), "\nfairlead_clusters_unhealthy 0\n") {
			t.Errorf("the cluster is unhealthy: %s", answer.Body)
		}
		cancel()
		expect(t, "no error", <-done, error(nil))
	})
}
