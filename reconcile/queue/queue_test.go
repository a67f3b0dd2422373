package queue_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/queue"
)

func key(name string) fleet.Key { return fleet.Key{Namespace: "default", Name: name} }

// TestOneClusterOneWorker adds a cluster while it is being worked on: it must
// come again, and never to two workers at once.
func TestOneClusterOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := queue.New(nil)
		var mu sync.Mutex
		busy, calls := 0, 0
		q.Add(key("a"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			q.Run(ctx, 4, func(context.Context, fleet.Key) {
				mu.Lock()
				busy++
				calls++
				if busy > 1 {
					t.Error("two workers have one cluster")
				}
				again := calls < 10
				mu.Unlock()
				if again {
					q.Add(key("a"))
				}
				time.Sleep(time.Second)
				mu.Lock()
				busy--
				mu.Unlock()
			})
		}()
		time.Sleep(time.Minute)
		cancel()
		<-done
		if calls != 10 {
			t.Errorf("worked %d times, want 10", calls)
		}
	})
}

// TestAddAfterKeepsTheEarlier adds a cluster with two delays: the shorter wins.
func TestAddAfterKeepsTheEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := queue.New(nil)
		start := time.Now()
		var at []time.Duration
		q.AddAfter(key("a"), time.Hour)
		q.AddAfter(key("a"), time.Minute)
		done := make(chan struct{})
		go func() {
			defer close(done)
			q.Run(ctx, 1, func(context.Context, fleet.Key) { at = append(at, time.Since(start)) })
		}()
		time.Sleep(2 * time.Hour)
		cancel()
		<-done
		if len(at) != 1 || at[0] < time.Minute || at[0] > 2*time.Minute {
			t.Errorf("worked at %v, want once, after a minute", at)
		}
	})
}

// TestUnderWayGoesFirst fills the bulk lane; what comes by an event overtakes.
func TestUnderWayGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := queue.New(nil)
		for _, name := range []string{"bulk-1", "bulk-2"} {
			q.AddBulk(key(name))
		}
		q.Add(key("event"))
		var got []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			q.Run(ctx, 1, func(_ context.Context, k fleet.Key) { got = append(got, k.Name) })
		}()
		synctest.Wait()
		cancel()
		<-done
		if want := []string{"event", "bulk-1", "bulk-2"}; !slices.Equal(got, want) {
			t.Errorf("worked on %v, want %v", got, want)
		}
	})
}

// TestNobodyWaitsForEver keeps the fast lane full, as clusters out of reach do:
// a push to another cluster is worked on all the same.
func TestNobodyWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := queue.New(nil)
		for _, name := range []string{"a", "b", "c"} {
			q.Add(key(name))
		}
		q.AddBulk(key("pushed"))
		var got []string
		q.Run(ctx, 1, func(_ context.Context, k fleet.Key) {
			got = append(got, k.Name)
			if q.Add(k); len(got) == 6 {
				cancel()
			}
		})
		if want := []string{"a", "b", "c", "a", "pushed", "b"}; !slices.Equal(got, want) {
			t.Errorf("worked on %v, want %v", got, want)
		}
	})
}
