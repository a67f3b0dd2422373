package wiring

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile/queue"
)

// clouds is a provider whose clusters are each in the cloud that their namespace names. A
// silent cloud takes what it is asked and answers nothing.
type clouds struct {
	providers.Infrastructure

	mu     sync.Mutex
	silent map[string]bool
	seen   map[fleet.Key][]time.Time // looks that were answered
}

func (w *clouds) Abilities() providers.Abilities { return providers.Abilities{Placer: w, Closer: w} }

func (*clouds) Close() {}

func (*clouds) Settle() time.Duration { return time.Minute }

func (*clouds) PlaceOf(_ context.Context, c *fleet.Cluster) (string, error) {
	return "cloud " + c.Key.Namespace, nil
}

func (w *clouds) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	w.mu.Lock()
	silent := w.silent[c.Key.Namespace]
	w.mu.Unlock()
	if silent {
		<-ctx.Done()
		return fleet.Infrastructure{}, fleet.Errorf(fleet.Unavailable, "list servers", "%w", ctx.Err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[c.Key] = append(w.seen[c.Key], time.Now())
	return fleet.Infrastructure{}, fleet.Errorf(fleet.Exhausted, "list servers", "this is as far as the pass is to go")
}

// TestSilentPlaceStopsNoOther: 40 clusters in a cloud that never answers take nothing from one
// in another cloud, and when a cloud falls silent, it costs the others a moment once.
func TestSilentPlaceStopsNoOther(t *testing.T) {
	other := fleet.Key{Namespace: "answers", Name: "a"}
	looks := func(t *testing.T, silent int, from time.Duration) []time.Duration {
		w := &clouds{silent: map[string]bool{"silent": from == 0}, seen: make(map[fleet.Key][]time.Time)}
		r, err := OpenRuntime(t.Context(), Settings{
			Built: Built{
				Providers: []providers.Factory{{Name: "clouds", New: func(context.Context, providers.Options) (providers.Infrastructure, error) {
					return w, nil
				}}},
				Distributions: func(*workload.Client) providers.Distributions {
					return builtIn().distributions(workload.New(workload.Options{}))
				},
			},
			Secrets: t.TempDir(), Log: quietLog(),
		}, ReadWrite, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.doubtful = 4
		passes := r.Passes(nil, nil)
		defer passes.Close()
		q := queue.New(nil)
		for i := range silent {
			q.AddBulk(fleet.Key{Namespace: "silent", Name: fmt.Sprint(i)})
		}
		q.AddBulk(other)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute-time.Second)
		defer cancel()
		time.AfterFunc(from, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.silent["silent"] = true
		})
		q.Run(ctx, 16, func(ctx context.Context, k fleet.Key) {
			c := &fleet.Cluster{Key: k, Fleet: "f", Provider: "clouds"}
			c.ControlPlane.Kind = "KubeadmControlPlane"
			res := passes.Pass(ctx, c, fleet.Memory{})
			q.AddAfter(k, min(res.After, 10*time.Second))
		})
		var out []time.Duration
		for _, at := range w.seen[other] {
			out = append(out, at.Sub(began))
		}
		return out
	}
	synctest.Test(t, func(t *testing.T) {
		alone, beside := looks(t, 0, 0), looks(t, 40, 0)
		if len(alone) < 18 || fmt.Sprint(alone) != fmt.Sprint(beside) {
			t.Errorf("alone it is looked at %v, beside 40 clusters of a silent cloud %v", alone, beside)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		late, last := 0, time.Duration(0)
		for _, at := range looks(t, 40, 30*time.Second) {
			if at-last > 10*time.Second {
				late++
			}
			if at-last > 30*time.Second {
				t.Errorf("it was not looked at from %s to %s", last, at)
			}
			last = at
		}
		if late > 1 {
			t.Errorf("it was looked at too late %d times, want once at most", late)
		}
	})
}
