package status

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// ErrDeposed is in the error of a writer whose agent does not own the fleet any more. It
// writes nothing then.
var ErrDeposed = errors.New("this agent does not own the fleet")

// Options configure a Writer.
type Options struct {
	// Owner is this agent with the epoch that it claimed. Required.
	Owner fleet.Owner
	// OwnerIn, if not nil, returns the owner in a tree, like Arbiter.In.
	OwnerIn func(fs.FS) (fleet.Owner, error)
	// Interval is how long reports are gathered for a commit; default 10 s. A changed
	// headline does not wait.
	Interval time.Duration
	// Gap is the least time between two commits; default 1 s.
	Gap time.Duration
	// Slow is how long the writer waits after it was refused for lack of rights; default 1
	// min. It waits twice as long after each further refusal, ten times Slow at most.
	Slow time.Duration
	// Now is the time of changed conditions; nil is time.Now.
	Now func() time.Time
	// Random returns a random duration below n, for the jitter of waits; nil is that of
	// math/rand.
	Random func(n time.Duration) time.Duration
	Log    *slog.Logger // nil discards
	// Notifications say which notifications are sent of commits; nil: none.
	Notifications *Notifications
	// Observer is called with events, for metrics. Its fields may be nil.
	Observer Observer
}

// An Observer is called with what a writer does, by one goroutine at a time. Its functions
// must not block.
type Observer struct {
	// Commit: a commit with so many changed clusters succeeded after took. Its oldest
	// report had waited for lag.
	Commit func(clusters int, took, lag time.Duration)
	// Race: a push lost against another writer, or was not answered.
	Race func(err error)
	// Error: a flush failed; nil: the first success after that.
	Error func(err error)
}

// A Writer publishes reports on a status branch.
type Writer struct {
	branch  sources.Branch
	options Options
	wake    chan struct{}

	mu      sync.Mutex
	waiting batch
	heads   map[fleet.Key]headline // headlines of the reports that were put last
	fleet   headline
	err     error

	flushing chan struct{} // has an element during a flush; guards the fields below
	known    known
	told     *sources.FleetStatus // the last one committed
	deposed  error
	history  sources.History // as last read, plus the commits made here since
}

var _ sources.StatusWriter = (*Writer)(nil)

// NewWriter returns a writer to branch. It reads nothing before the first flush.
func NewWriter(branch sources.Branch, o Options) *Writer {
	if o.Interval == 0 {
		o.Interval = 10 * time.Second
	}
	if o.Gap == 0 {
		o.Gap = time.Second
	}
	if o.Slow == 0 {
		o.Slow = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Writer{
		branch: branch, options: o, wake: make(chan struct{}, 1), flushing: make(chan struct{}, 1),
		heads: map[fleet.Key]headline{}, waiting: newBatch(), known: known{ownerIn: o.OwnerIn, notify: o.Notifications},
	}
}

// A headline is the part of a report whose change is written at once.
type headline struct {
	put             bool
	phase           fleet.Phase
	failed, problem bool
	revision        fleet.Revision
	applied         fleet.Revision
	behind          bool
}

// Put implements sources.StatusWriter.
func (w *Writer) Put(r fleet.Report) {
	h := headline{put: true, phase: r.Phase, failed: r.Failure != "", problem: len(r.Problems) > 0}
	w.add(func() bool {
		changed := w.heads[r.Cluster] != h
		w.heads[r.Cluster] = h
		w.waiting.put(r)
		return changed
	})
}

// Forget implements sources.StatusWriter.
func (w *Writer) Forget(k fleet.Key) {
	w.add(func() bool {
		delete(w.heads, k)
		w.waiting.forget(k)
		return true
	})
}

// PutFleet implements sources.StatusWriter.
func (w *Writer) PutFleet(s sources.FleetStatus) {
	h := headline{put: true, problem: len(s.Problems) > 0, revision: s.Revision, applied: s.Applied, behind: len(s.Behind) > 0}
	w.add(func() bool {
		changed := w.fleet != h
		w.fleet = h
		w.waiting.fleet = &s
		return changed
	})
}

// add changes what waits and wakes Run.
func (w *Writer) add(change func() (urgent bool)) {
	w.mu.Lock()
	if change() {
		w.waiting.urgent = true
	}
	if w.waiting.since.IsZero() {
		w.waiting.since = time.Now()
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Err returns why status is not written, or nil. After an error of kind Unauthorized the
// writer only reads, and tries again slowly.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Run implements sources.StatusWriter. It ends early, with an error that wraps ErrDeposed,
// where the agent has lost the fleet.
func (w *Writer) Run(ctx context.Context) error {
	retry := backoff{random: w.options.Random}
	slow := w.options.Slow
	var notBefore time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var fire <-chan time.Time
		if d, ok := w.due(notBefore); ok {
			timer.Reset(d)
			fire = timer.C
		}
		select {
		case <-ctx.Done():
			return w.last(ctx)
		case <-w.wake:
			continue
		case <-fire:
		}
		_, err := w.Flush(ctx)
		switch {
		case err == nil:
			retry.last, slow, notBefore = 0, w.options.Slow, time.Now().Add(w.options.Gap)
		case errors.Is(err, ErrDeposed):
			return err
		case fleet.KindOf(err) == fleet.Unauthorized:
			notBefore = time.Now().Add(slow)
			slow = min(2*slow, 10*w.options.Slow)
		default:
			notBefore = time.Now().Add(retry.next())
		}
	}
}

// last flushes once more after ctx has ended.
func (w *Writer) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxWait)
	defer cancel()
	_, err := w.Flush(ctx)
	return err
}

// due returns how long to wait before the next flush, if anything waits.
func (w *Writer) due(notBefore time.Time) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.since.IsZero() {
		return 0, false
	}
	at := w.waiting.since
	if !w.waiting.urgent {
		at = at.Add(w.options.Interval)
	}
	if at.Before(notBefore) {
		at = notBefore
	}
	return max(0, time.Until(at)), true
}
