package status

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bounds of the wait after a lost race.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
)

// A backoff waits longer each time, with jitter. That of apimachinery takes its jitter from
// the process, and a life of the simulation is to be the same each time.
type backoff struct {
	last   time.Duration
	random func(time.Duration) time.Duration // below the given one; nil is rand.N
}

// next returns how long to wait now.
func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, firstWait), maxWait)
	random := rand.N[time.Duration]
	if b.random != nil {
		random = b.random
	}
	return b.last/2 + random(b.last/2)
}

// sleep waits, or returns the cause when ctx ends.
func (b *backoff) sleep(ctx context.Context) error {
	t := time.NewTimer(b.next())
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
