package snapshot

import (
	"context"
	"maps"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A Cache keeps the newest snapshot of one place, and makes at most one at a time. It is safe
// for concurrent use.
type Cache[S any] struct {
	maxAge time.Duration
	op     string
	list   func(context.Context) (S, error)

	mu      sync.Mutex
	latest  *listing[S]
	current *listing[S]      // under way; nil: none is
	seq     uint64           // counts changes
	changes map[Owner]uint64 // the last change: of a machine, or of what machines share
	cluster map[Owner]uint64 // the last change of anything of a cluster
}

// A listing is one snapshot, and how it was made.
type listing[S any] struct {
	seq   uint64 // of the last change before it began
	began time.Time
	done  chan struct{} // closed when it ended
	got   S
	err   error
}

// longest is the time limit of a listing, for which all callers wait.
const longest = 5 * time.Minute

// NewCache returns a Cache of the results of list. It returns no snapshot that began longer
// than maxAge ago. op describes list in errors: "list what is in the project". The context of a
// listing is independent of the callers' contexts, and ends after five minutes.
func NewCache[S any](maxAge time.Duration, op string, list func(context.Context) (S, error)) *Cache[S] {
	return &Cache[S]{maxAge: maxAge, op: op, list: list, changes: make(map[Owner]uint64), cluster: make(map[Owner]uint64)}
}

// Changed records that something of o was changed, or may have been: o needs a listing that
// begins later.
func (c *Cache[S]) Changed(o Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.changes[o] = c.seq
	c.cluster[o.Shared()] = c.seq
}

// Get returns a snapshot that is new enough for o. For a cluster it began after every call of
// Changed for it; for a machine after those for the machine and for the shared infrastructure.
// Concurrent callers share one listing. If the context ends, the error has the kind Unavailable.
func (c *Cache[S]) Get(ctx context.Context, o Owner) (S, error) {
	var none S
	for {
		if err := ctx.Err(); err != nil {
			return none, fleet.Errorf(fleet.Unavailable, c.op, "%w", err)
		}
		l := c.latestOrCurrent(ctx, o)
		select {
		case <-l.done:
		case <-ctx.Done():
			return none, fleet.Errorf(fleet.Unavailable, c.op, "%w", ctx.Err())
		}
		if c.sees(l, o) {
			return l.got, l.err
		}
	}
}

// latestOrCurrent returns a finished listing that is new enough for o, or one to wait for: one
// that will be new enough, or one that has to end before the next begins.
func (c *Cache[S]) latestOrCurrent(ctx context.Context, o Owner) *listing[S] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.latest; l != nil && l.seq >= c.needed(o) && time.Since(l.began) <= c.maxAge {
		return l
	}
	if c.current == nil {
		c.current = &listing[S]{seq: c.seq, began: time.Now(), done: make(chan struct{})}
		// It goes on when the first that asked for it gives up: others wait.
		go c.run(context.WithoutCancel(ctx), c.current)
	}
	return c.current
}

// run makes the snapshot of l.
func (c *Cache[S]) run(ctx context.Context, l *listing[S]) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	got, err := c.list(ctx)
	if err != nil && ctx.Err() != nil {
		err = fleet.Errorf(fleet.Unavailable, c.op, "it did not end within %s: %w", longest, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.got, l.err, c.current = got, err, nil
	if err == nil {
		c.latest = l
		seen := func(_ Owner, seq uint64) bool { return seq <= l.seq } // by every listing from now on
		maps.DeleteFunc(c.changes, seen)
		maps.DeleteFunc(c.cluster, seen)
	}
	close(l.done)
}

// sees reports whether l began after o's last change.
func (c *Cache[S]) sees(l *listing[S], o Owner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.seq >= c.needed(o)
}

// needed is the change that a listing for o must have seen: of a cluster any, of a
// machine its own and those of what all machines share. The caller holds mu.
func (c *Cache[S]) needed(o Owner) uint64 {
	if o.Machine == "" {
		return c.cluster[o]
	}
	return max(c.changes[o], c.changes[o.Shared()])
}
