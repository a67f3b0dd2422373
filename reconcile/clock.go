package reconcile

import (
	"sync"
	"time"
)

// clockStep is how far a clock may be from time that passes, between two looks, without
// having been set.
const clockStep = 5 * time.Second

// A clock is that of the agent, which people and their programs may set.
type clock struct {
	now     func() time.Time
	elapsed func() time.Duration // nil: it is never set

	mu   sync.Mutex
	last time.Time // as of the last look, without a reading of another clock
	gone time.Duration
	set  time.Time
}

func newClock(now func() time.Time, elapsed func() time.Duration) *clock {
	c := &clock{now: now, elapsed: elapsed}
	c.lastSet()
	c.set = time.Time{}
	return c
}

// lastSet returns when the clock was last noticed to have been set, by itself; zero: never.
func (c *clock) lastSet() time.Time {
	if c.elapsed == nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, gone := c.now().Round(0), c.elapsed()
	if (now.Sub(c.last) - (gone - c.gone)).Abs() > clockStep {
		c.set = now
	}
	c.last, c.gone = now, gone
	return c.set
}
