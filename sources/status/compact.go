package status

import (
	"context"
	"errors"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Compact shortens the history of the branch where it exceeds bound, and returns its
// length. This agent has to own the fleet. It reads the history once, and again after
// enough commits or time that it may exceed the bound. A branch without history is left
// alone. Errors are those of sources.Compactor, or wrap ErrDeposed.
func (w *Writer) Compact(ctx context.Context, bound fleet.HistoryBound) (sources.History, error) {
	branch, ok := w.branch.(sources.Compactor)
	if !ok || bound == (fleet.HistoryBound{}) {
		return sources.History{}, nil
	}
	select {
	case w.flushing <- struct{}{}:
	case <-ctx.Done():
		return sources.History{}, fleet.Errorf(fleet.Unavailable, "compact the history of status", "%w", ctx.Err())
	}
	defer func() { <-w.flushing }()
	if w.deposed != nil {
		return sources.History{}, w.deposed
	}
	c := sources.Compaction{Bound: bound, Now: w.options.Now()}
	if w.history.Commits > 0 && !c.Due(w.history) {
		return w.history, nil
	}
	var h sources.History
	tries := 0
	err := repeat(ctx, w.options.Random, func() (again bool, err error) {
		h, err = w.compact(ctx, branch, c)
		tries++
		return isRaced(err) && w.deposed == nil && tries < maxCompactions, err
	})
	return h, err
}

// maxCompactions bounds the pushes of one compaction, each of a whole history.
const maxCompactions = 3

// compact compacts the history of the head that is known, as attempt writes to it.
func (w *Writer) compact(ctx context.Context, branch sources.Compactor, c sources.Compaction) (sources.History, error) {
	if err := w.look(ctx); err != nil {
		if errors.Is(err, ErrDeposed) {
			w.deposed = err
		}
		return sources.History{}, err
	}
	if w.known.head.IsZero() {
		return sources.History{}, nil
	}
	c.Message = fmt.Sprintf("history: compacted to %s", c.Bound)
	c.Trailers = append(trailers(fleet.Revision{}, w.options.Owner), "Fairlead-Compacted: "+w.known.head.Hash())
	head, h, err := branch.Compact(ctx, w.known.head, c)
	if err != nil {
		w.known.stale = true
		return sources.History{}, err
	}
	if head != w.known.head {
		w.options.Log.Info("history of the status branch compacted", "from", w.known.head, "to", head, "commits", h.Commits)
	}
	w.known.head, w.history = head, h
	return h, nil
}
