package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

// A historian is a status writer that notes how its history is to be bounded.
type historian struct {
	sources.StatusWriter
	mu    sync.Mutex
	asked []fleet.HistoryBound
	err   error
}

func (h *historian) Compact(_ context.Context, b fleet.HistoryBound) (sources.History, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, b)
	return sources.History{Commits: 7}, h.err
}

// all returns what was asked for.
func (h *historian) all() []fleet.HistoryBound {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// writing returns what of an agent writes status to w.
func writing(w sources.StatusWriter) *Agent {
	a := &Agent{
		o: Options{Name: "me"}, p: Parts{Metrics: metrics.New("v0"), Log: slog.New(slog.DiscardHandler)}, status: w,
		owned: make(chan struct{}), applied: make(chan struct{}), compacting: compacting{retell: make(chan struct{}, 1)},
	}
	a.claim = ownership.New(ownership.Options{Self: "me"}, ownership.Parts{Metrics: a.p.Metrics, Log: a.p.Log, Ready: func(string) {}})
	close(a.owned)
	close(a.applied)
	return a
}

// bounded has fleet.yaml ask for a history of that many commits.
func bounded(a *Agent, commits int) {
	f := fleet.Fleet{Config: fleet.Config{StatusHistory: fleet.HistoryBound{Commits: commits}}}
	a.targets.decide(rollout.Input{Newest: &rollout.Revision{Fleet: &f}})
}

// A server that refuses is told once, asked again after a day or with another bound, and
// what it refused is taken back once it does not.
func TestHistoryRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &historian{err: fleet.Errorf(fleet.Unauthorized, "compact", "protected branch")}
		a := writing(w)
		bounded(a, 100)
		if owned, err := a.claim.Acquire(t.Context(), ownership.Branch{Arbiter: newWorld(fleet.Fleet{})}); !owned {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.keepHistory(ctx) }()
		after := func(d time.Duration, looks int, problems int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := len(w.all()); got != looks {
				t.Errorf("asked %d times, want %d", got, looks)
			}
			if got := a.compacting.with(nil); len(got) != problems || problems > 0 && got[0].Field != "spec.status.history" {
				t.Errorf("problems are %v", got)
			}
		}
		after(time.Second, 1, 1)
		select {
		case <-a.compacting.retell:
		default:
			t.Error("the problem is not told")
		}
		after(23*time.Hour, 1, 1)
		after(2*time.Hour, 2, 1)
		select {
		case <-a.compacting.retell:
			t.Error("the problem is told twice")
		default:
		}
		bounded(a, 200)
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if asked, got := w.all(), a.compacting.with(nil); len(asked) < 3 || asked[2].Commits != 200 || len(got) > 0 {
			t.Errorf("asked %v, problems are %v", asked, got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Who does not own the fleet compacts nothing.
func TestHistoryOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &historian{}
		a := writing(w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := a.keepHistory(ctx); err != nil || len(w.all()) > 0 {
			t.Errorf("asked %d times, %v", len(w.all()), err)
		}
	})
}
