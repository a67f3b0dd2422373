// Package pins gets the sources that a fleet pins, and keeps what it got: a pin is got
// once, and again after a restart. A source that does not answer delays only those
// who need it.
package pins

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

// Options are what a Keeper is made with.
type Options struct {
	// Get gets the content of a pin. It is bounded in time and in memory.
	Get func(ctx context.Context, s fleet.PinnedSource) render.Content
	// Timeout is how long Open waits for a source that was not asked before. What comes
	// later is Due. Zero: as long as it takes, and nothing is tried again.
	Timeout time.Duration
	// Observe, if not nil, is called with each try.
	Observe func(err error, took time.Duration)
	Log     *slog.Logger // nil discards
}

// A source that cannot be got is tried again after retryFirst at first, or after retrySlow
// where only people can help, and after retryLast in the end.
const (
	retryFirst = time.Second
	retrySlow  = 30 * time.Second
	retryLast  = 30 * time.Second
)

// errTimeout says that a source was asked and has not answered yet.
var errTimeout = errors.New("it has not answered yet")

// A Keeper implements render.Pinned.
type Keeper struct {
	o      Options
	ctx    context.Context //nolint:containedctx // of tries that go on when Open has returned, until Close
	cancel context.CancelFunc
	tries  sync.WaitGroup

	mu      sync.Mutex
	entries map[fleet.PinnedSource]*entry
	lists   [2][]fleet.PinnedSource // that were asked for, the newest first: the newest revision and one before it
}

var _ render.Pinned = (*Keeper)(nil)

// An entry is what is known of one pin.
type entry struct {
	content render.Content // without tree and error: nothing yet
	done    chan struct{}  // of the newest try; closed when it has ended
	busy    bool
	users   int  // calls of Open that wait for it, or read it
	news    bool // Open would tell something else than it did
	wait    time.Duration
	next    time.Time
}

// New returns a Keeper that has nothing.
func New(o Options) *Keeper {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{o: o, entries: map[fleet.PinnedSource]*entry{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Close ends what is under way.
func (k *Keeper) Close() {
	k.cancel()
	k.tries.Wait()
}

// Open implements render.Pinned.
func (k *Keeper) Open(ctx context.Context, list []fleet.PinnedSource) map[string]render.Content {
	under := k.ctx //nolint:contextcheck // with a timeout an attempt outlives its caller
	if k.o.Timeout == 0 {
		under = ctx
	}
	var waits []chan struct{}
	k.mu.Lock()
	k.remember(list)
	for _, s := range list {
		e, known := k.entries[s]
		if !known {
			e = &entry{}
			k.entries[s] = e
		}
		e.users++
		k.try(under, s, e)
		if e.busy && (!known || k.o.Timeout == 0) {
			waits = append(waits, e.done)
		}
	}
	k.mu.Unlock()
	k.await(ctx, waits)
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]render.Content{}
	for _, s := range list {
		e := k.entries[s]
		e.users--
		c := e.content
		if c.Tree == nil && c.Err == nil {
			c.Err = &fleet.Error{Kind: fleet.Unavailable, Op: "get it", Err: errTimeout}
		}
		e.news, out[s.Name] = false, c
	}
	return out
}

// remember forgets what neither list nor the one before it has, and no caller waits for.
func (k *Keeper) remember(list []fleet.PinnedSource) {
	if !slices.Equal(list, k.lists[0]) {
		k.lists[0], k.lists[1] = slices.Clone(list), k.lists[0]
	}
	for s := range k.entries {
		if k.entries[s].users == 0 && !slices.Contains(k.lists[0], s) && !slices.Contains(k.lists[1], s) {
			delete(k.entries, s)
		}
	}
}

// await waits until all of waits are closed, or the timeout or ctx ends.
func (k *Keeper) await(ctx context.Context, waits []chan struct{}) {
	if k.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.o.Timeout)
		defer cancel()
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			if k.o.Timeout == 0 {
				<-done // it ends with ctx
			}
		}
	}
}

// try begins to get s, where it is not there and it is time. The caller holds the lock.
func (k *Keeper) try(ctx context.Context, s fleet.PinnedSource, e *entry) {
	if e.busy || e.content.Tree != nil || settled(e.content.Err) || time.Now().Before(e.next) || ctx.Err() != nil {
		return
	}
	e.busy, e.done = true, make(chan struct{})
	k.tries.Go(func() {
		started := time.Now()
		c := k.o.Get(ctx, s)
		if k.o.Observe != nil && ctx.Err() == nil {
			k.o.Observe(c.Err, time.Since(started))
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		defer close(e.done)
		e.busy = false
		if ctx.Err() != nil && c.Err != nil {
			return // no caller waits any more
		}
		if c.Err != nil {
			k.o.Log.Error("cannot get a pinned source", "source", s.Name, "url", s.URL, "pin", s.Pin(), "error", c.Err)
			e.later(c.Err)
		}
		// That it fails in other words is no news: ports and times are in them.
		e.news = c.Err == nil || settled(c.Err) || e.content.Err == nil
		e.content = c
	})
}

// later sets when to try again.
func (e *entry) later(err error) {
	first := retryFirst
	switch fleet.KindOf(err) {
	case fleet.Unauthorized, fleet.Exhausted, fleet.NotFound, fleet.Invalid:
		first = retrySlow
	}
	e.wait = min(max(2*e.wait, first), retryLast)
	e.next = time.Now().Add(e.wait)
}

// settled reports whether trying again cannot help: the content itself is refused.
func settled(err error) bool {
	return fleet.KindOf(err) == fleet.Invalid && !errors.Is(err, sources.ErrUntrusted)
}

// Due implements render.Pinned. It begins to get again what could not be got.
func (k *Keeper) Due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	due := false
	for s, e := range k.entries {
		if k.o.Timeout > 0 {
			k.try(k.ctx, s, e)
		}
		due = due || e.news
	}
	return due
}
