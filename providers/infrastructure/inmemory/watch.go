package inmemory

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// A watcher collects what changed until its Watch tells.
type watcher struct {
	pending map[Owner]bool // guarded by the cloud's lock
	signal  chan struct{}  // holds one
}

// Watch implements API.
func (c *Cloud) Watch(ctx context.Context, changed func(Owner)) error {
	w := &watcher{pending: make(map[Owner]bool), signal: make(chan struct{}, 1)}
	c.mu.Lock()
	c.watchers[w] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.watchers, w)
		c.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-w.signal:
		}
		c.mu.Lock()
		pending := w.pending
		w.pending = make(map[Owner]bool)
		c.mu.Unlock()
		for _, o := range slices.SortedFunc(maps.Keys(pending), Owner.compare) {
			changed(o)
		}
	}
}

// changed tells the watchers that something of o changed.
func (c *Cloud) changed(o Owner) {
	for w := range c.watchers {
		w.pending[o] = true
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

// compare orders owners, so that the same changes are reported in the same order.
func (o Owner) compare(p Owner) int {
	return cmp.Or(cmp.Compare(o.Fleet, p.Fleet), cmp.Compare(o.Cluster, p.Cluster))
}
