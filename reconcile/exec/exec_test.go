package exec_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/exec"
)

// cloud records what it is asked for and refuses machines whose name begins
// with "bad".
type cloud struct {
	providers.Infrastructure
	mu    sync.Mutex
	calls []string
}

func (c *cloud) note(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

func (c *cloud) DeleteMachine(_ context.Context, _ fleet.OperationID, _ *fleet.Cluster, name fleet.MachineName, _ fleet.ProviderID) error {
	c.note("delete " + string(name))
	if strings.HasPrefix(string(name), "bad") {
		return fleet.Errorf(fleet.Unanswered, "delete machine", "connection reset")
	}
	return nil
}

func (c *cloud) DeleteInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	c.note("delete infrastructure")
	return nil
}

// ledger is an exec.Memory that keeps the outcome of each attempt.
type ledger struct {
	mu    sync.Mutex
	ended map[fleet.MachineName]error
}

func (l *ledger) Begin(fleet.Action, time.Time) {}

func (l *ledger) End(a fleet.Action, err error, _ time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[a.Machine] = err
}

func run(ctx context.Context, c *fleet.Cluster, actions ...fleet.Action) (*cloud, *ledger, []exec.Outcome) {
	e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler), Parallel: 4}
	w := &cloud{}
	l := &ledger{ended: map[fleet.MachineName]error{}}
	out := e.Run(ctx, exec.Environment{Cluster: c, Infrastructure: w, Memory: l, Seen: time.Now()}, actions)
	slices.Sort(w.calls)
	return w, l, out
}

// TestLastLook holds the last look before something irrevocable is done.
func TestLastLook(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	for name, c := range map[string]struct {
		reason  string
		cluster fleet.Cluster
		action  fleet.Action
		permit  bool
	}{
		"Wanted": {
			reason:  "the cluster is meant to be deleted",
			cluster: fleet.Cluster{Key: key, Delete: true},
			action:  fleet.Action{Kind: fleet.DeleteInfrastructure, Cluster: key},
			permit:  true,
		},
		"NotWanted": {
			reason:  "nobody asked for the deletion of the cluster",
			cluster: fleet.Cluster{Key: key},
			action:  fleet.Action{Kind: fleet.DeleteInfrastructure, Cluster: key},
		},
		"Protected": {
			reason:  "protection wins over the wish to delete",
			cluster: fleet.Cluster{Key: key, Delete: true, Protect: true},
			action:  fleet.Action{Kind: fleet.DeleteInfrastructure, Cluster: key},
		},
		"Secrets": {
			reason:  "keys are not deleted without the wish to delete the cluster",
			cluster: fleet.Cluster{Key: key},
			action:  fleet.Action{Kind: fleet.DeleteSecrets, Cluster: key},
		},
		"Stranger": {
			reason:  "an action of one cluster is never carried out on another",
			cluster: fleet.Cluster{Key: key},
			action:  fleet.Action{Kind: fleet.DeleteMachine, Machine: "m", Cluster: fleet.Key{Namespace: "prod", Name: "eu-2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, out := run(t.Context(), &c.cluster, c.action)
			if permitted := len(w.calls) == 1; permitted != c.permit || (out[0].Err == nil) != c.permit {
				t.Errorf("%s: calls %v, error %v, want permitted %v", c.reason, w.calls, out[0].Err, c.permit)
			}
		})
	}
}

// TestOneFailureStopsNothing carries out what can be, in spite of what cannot.
func TestOneFailureStopsNothing(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	var actions []fleet.Action
	for _, m := range []fleet.MachineName{"a", "bad", "c"} {
		actions = append(actions, fleet.Action{Kind: fleet.DeleteMachine, Cluster: key, Machine: m})
	}
	w, l, out := run(t.Context(), &fleet.Cluster{Key: key}, actions...)
	if want := []string{"delete a", "delete bad", "delete c"}; !slices.Equal(w.calls, want) {
		t.Errorf("calls %v, want %v", w.calls, want)
	}
	if out[0].Err != nil || out[1].Err == nil || out[2].Err != nil {
		t.Errorf("outcomes %v, want an error for the second alone", out)
	}
	if fleet.KindOf(l.ended["bad"]) != fleet.Unanswered || l.ended["a"] != nil {
		t.Errorf("memory was told %v", l.ended)
	}
	if !strings.Contains(out[1].Err.Error(), "connection reset") {
		t.Errorf("error %q lost the provider's own words", out[1].Err)
	}
}

// TestNothingBeginsAfterTheEnd starts no action once the context is done.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	w, _, out := run(ctx, &fleet.Cluster{Key: key}, fleet.Action{Kind: fleet.DeleteMachine, Cluster: key, Machine: "a"})
	if len(w.calls) != 0 || !errors.Is(out[0].Err, context.Canceled) {
		t.Errorf("calls %v, error %v, want none and canceled", w.calls, out[0].Err)
	}
}

// TestTheRightToActIsAskedForEachAction ends the right to act within a plan:
// what had not begun does not begin.
func TestTheRightToActIsAskedForEachAction(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	asked := 0
	w, l := &cloud{}, &ledger{ended: map[fleet.MachineName]error{}}
	e := exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler), Parallel: 1, May: func(k fleet.Key) error {
		if asked++; k == key && asked == 1 {
			return nil
		}
		return errors.New("not the leader any more")
	}}
	out := e.Run(t.Context(), exec.Environment{Cluster: &fleet.Cluster{Key: key}, Infrastructure: w, Memory: l, Seen: time.Now()}, []fleet.Action{
		{Kind: fleet.DeleteMachine, Cluster: key, Machine: "a"}, {Kind: fleet.DeleteMachine, Cluster: key, Machine: "b"},
	})
	if want := []string{"delete a"}; !slices.Equal(w.calls, want) {
		t.Errorf("calls %v, want %v", w.calls, want)
	}
	if out[0].Err != nil || out[1].Err == nil {
		t.Errorf("outcomes %v, want an error for the second alone", out)
	}
	if _, began := l.ended["b"]; began {
		t.Error("the memory was told of an action that never began")
	}
}

// TestPlanHasATimeToLive: what was decided on an old look is not begun, and what was
// not begun is not remembered as an attempt.
func TestPlanHasATimeToLive(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	seen := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		now  time.Time
		want int
	}{
		"at once":             {seen, 1},
		"in time":             {seen.Add(5 * time.Minute), 1},
		"too late":            {seen.Add(5*time.Minute + time.Second), 0},
		"the clock went back": {seen.Add(-time.Hour), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, l := &cloud{}, &ledger{ended: map[fleet.MachineName]error{}}
			e := exec.Executor{Now: func() time.Time { return c.now }, Log: slog.New(slog.DiscardHandler)}
			out := e.Run(t.Context(), exec.Environment{Cluster: &fleet.Cluster{Key: key}, Infrastructure: w, Memory: l, Seen: seen},
				[]fleet.Action{{Kind: fleet.DeleteMachine, Cluster: key, Machine: "m"}})
			if len(w.calls) != c.want || len(l.ended) != c.want {
				t.Errorf("got calls %v, attempts %v, want %d", w.calls, l.ended, c.want)
			}
			if err := out[0].Err; c.want == 0 && !errors.Is(err, exec.ErrStale) {
				t.Errorf("got %v, want %v", err, exec.ErrStale)
			}
		})
	}
}
