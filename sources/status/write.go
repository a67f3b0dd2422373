package status

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Flush implements sources.StatusWriter.
func (w *Writer) Flush(ctx context.Context) (fleet.Revision, error) {
	select {
	case w.flushing <- struct{}{}:
	case <-ctx.Done():
		return fleet.Revision{}, fleet.Errorf(fleet.Unavailable, "write status", "%w", ctx.Err())
	}
	defer func() { <-w.flushing }()
	if w.deposed != nil {
		return fleet.Revision{}, w.deposed
	}
	w.mu.Lock()
	b := w.waiting
	w.waiting = newBatch()
	w.mu.Unlock()
	head, err := w.write(ctx, b)
	w.mu.Lock()
	if err != nil {
		w.waiting.giveBack(b)
	}
	before := w.err
	w.err = err
	w.mu.Unlock()
	w.tell(before, err)
	return head, err
}

// write commits b to the branch, also if another writer comes first: see repeat.
func (w *Writer) write(ctx context.Context, b batch) (head fleet.Revision, err error) {
	start := time.Now()
	err = repeat(ctx, w.options.Random, func() (again bool, err error) {
		var n int
		head, n, err = w.attempt(ctx, b)
		switch {
		case err == nil:
			w.committed(n, b, start)
			return false, nil
		case errors.Is(err, ErrDeposed):
			w.deposed = err
			return false, err
		}
		w.known.stale = true
		if isRaced(err) && w.options.Observer.Race != nil {
			w.options.Observer.Race(err)
		}
		return isRaced(err), err
	})
	return head, err
}

// committed tells that n files of b were committed; start is when the first try began.
func (w *Writer) committed(n int, b batch, start time.Time) {
	if n == 0 || w.options.Observer.Commit == nil {
		return
	}
	lag := time.Duration(0)
	if !b.since.IsZero() {
		lag = time.Since(b.since)
	}
	w.options.Observer.Commit(n, time.Since(start), lag)
}

// attempt makes the files from the known head and pushes them once. It returns how many
// files changed.
func (w *Writer) attempt(ctx context.Context, b batch) (fleet.Revision, int, error) {
	if err := w.look(ctx); err != nil {
		return fleet.Revision{}, 0, err
	}
	if b.isEmpty() {
		return w.known.head, 0, nil
	}
	if b.fleet == nil {
		b.fleet = w.told // the branch may have been reset
	}
	d, err := w.known.draft(b, w.options.Now())
	if err != nil {
		return w.known.head, 0, err
	}
	if len(d.edits) == 0 { // a push without an answer may have brought all of it
		w.told = &d.fleet
		return w.known.head, 0, nil
	}
	text := d.message()
	head, err := w.branch.Commit(ctx, w.known.head, sources.Commit{
		Edits: d.edits, Message: text, Trailers: trailers(d.revision, w.options.Owner),
	})
	if err != nil {
		return fleet.Revision{}, 0, err
	}
	w.known.apply(d, head)
	for _, n := range d.dropped {
		w.options.Log.Warn("event not delivered to any target", "targets", n.Targets, "subject", n.Subject(), "event", n.Type, "message", n.Message, "reason", "too many events wait")
	}
	w.pending()
	if w.history.Commits > 0 {
		w.history.Commits++
	}
	w.told = &d.fleet
	return head, len(d.edits), nil
}

// look reads the branch where its head may have changed. The error wraps ErrDeposed where
// this agent does not own the fleet.
func (w *Writer) look(ctx context.Context) error {
	if seen, ok := w.branch.(*Watched); ok && seen.moved(w.known.head) {
		w.known.stale = true
	}
	if w.known.stale || w.known.head.IsZero() {
		if err := w.known.load(ctx, w.branch); err != nil {
			return err
		}
		w.pending()
	}
	// The push succeeds only on the head that this owner was read from.
	if now := w.known.owner; now != w.options.Owner {
		return &fleet.Error{Kind: fleet.Conflict, Op: "write status", Err: deposedBy(now, w.options.Owner)}
	}
	return nil
}

// tell logs and reports the first failure, and the first success after it.
func (w *Writer) tell(before, err error) {
	if err == nil && before == nil || err != nil && before != nil && fleet.KindOf(err) == fleet.KindOf(before) {
		return
	}
	if err == nil {
		w.options.Log.Info("status written again")
	} else {
		w.options.Log.Error("cannot write status", "error", err)
	}
	if w.options.Observer.Error != nil {
		w.options.Observer.Error(err)
	}
}
