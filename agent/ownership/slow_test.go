package ownership_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// A held branch does not answer while something else, such as a push, holds it.
type held struct {
	branch

	free chan struct{} // nil: nothing holds it
}

func (h *held) Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error) {
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
