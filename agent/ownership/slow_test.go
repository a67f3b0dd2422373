package ownership_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// A held branch does not answer while something else, such as a push, holds it.
type held struct {
	branch

	free  chan struct{} // nil: nothing holds it
	reads atomic.Int32
}

func (h *held) Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error) {
	h.reads.Add(1)
	if h.free != nil {
		<-h.free
	}
	return h.branch.Succession(ctx)
}

// TestChangeDoesNotWaitForAPush: the read before a change ends with its deadline, whatever holds the
// branch, and whether a leader leads is said without a read.
func TestChangeDoesNotWaitForAPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{}
		c := owning(t, h, ownership.Options{})
		h.free = make(chan struct{})
		time.Sleep(time.Minute)
		begun := time.Now()
		if err := c.MayAct(fleet.Key{}); err != nil || time.Since(begun) > 0 {
			t.Errorf("whether the agent owns the fleet was said after %s: %v", time.Since(begun), err)
		}
		if err := c.MayAct(fleet.Key{Namespace: "prod", Name: "eu"}); err != nil || time.Since(begun) > 5*time.Second {
			t.Errorf("a change began after %s: %v", time.Since(begun), err)
		}
		close(h.free)
	})
}

// TestChangesShareARead: changes that begin while the owner is read wait for that read.
func TestChangesShareARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{}
		c := owning(t, h, ownership.Options{})
		time.Sleep(time.Minute)
		h.free = make(chan struct{})
		h.reads.Store(0)
		var changes sync.WaitGroup
		for _, name := range []string{"eu-1", "eu-2", "eu-3"} {
			changes.Go(func() {
				if err := c.MayAct(fleet.Key{Namespace: "prod", Name: name}); err != nil {
					t.Errorf("a change of %s may not begin: %v", name, err)
				}
			})
		}
		synctest.Wait()
		close(h.free)
		changes.Wait()
		if n := h.reads.Load(); n != 1 {
			t.Errorf("the owner was read %d times", n)
		}
	})
}
