package history_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/loop/history"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A branch notes how its history is to be bounded.
type branch struct {
	mu       sync.Mutex
	bound    fleet.HistoryBound
	asked    []fleet.HistoryBound
	err      error
	notified int
	counted  int
}

func (b *branch) Compact(_ context.Context, bound fleet.HistoryBound) (sources.History, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, bound)
	return sources.History{Commits: 7}, b.err
}

// keeper returns a keeper of b, by an agent that may, or not.
func (b *branch) keeper(may bool) *history.Keeper {
	return history.New(history.Parts{
		May: func() bool { return may }, Log: slog.New(slog.DiscardHandler), Count: func(n int) { b.counted = n },
		Bound: func() fleet.HistoryBound {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.bound
		},
		Notify: func() { b.notified++ },
	})
}

// A server that refuses is told once, asked again after a day or with another bound, and
// what it refused is taken back once it does not.
func TestHistoryRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &branch{err: fleet.Errorf(fleet.Unauthorized, "compact", "protected branch"), bound: fleet.HistoryBound{Commits: 100}}
		k := b.keeper(true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx, b) }()
		after := func(d time.Duration, asked, notified int, refused bool) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if len(b.asked) != asked || b.notified != notified {
				t.Errorf("asked %d times and told %d times, want %d and %d", len(b.asked), b.notified, asked, notified)
			}
			if p, ok := k.Problem(); ok != refused || ok && p.Field != "spec.status.history" {
				t.Errorf("the problem is %v", p)
			}
		}
		after(time.Second, 1, 1, true)
		after(23*time.Hour, 1, 1, true)
		after(2*time.Hour, 2, 1, true)
		b.mu.Lock()
		b.bound, b.err = fleet.HistoryBound{Commits: 200}, nil
		b.mu.Unlock()
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if _, refused := k.Problem(); len(b.asked) < 3 || b.asked[2].Commits != 200 || refused || b.notified != 2 || b.counted != 7 {
			t.Errorf("asked %v, refused %v, told %d times, %d commits", b.asked, refused, b.notified, b.counted)
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
		b := &branch{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := b.keeper(false).Run(ctx, b); err != nil || len(b.asked) > 0 {
			t.Errorf("asked %d times, %v", len(b.asked), err)
		}
	})
}
