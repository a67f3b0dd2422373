package status

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

var _, _ sources.Logged = (*Watched)(nil), guarded{}

// Log implements sources.Logged. A branch without a past has no commits.
func (w *Watched) Log(ctx context.Context, head fleet.Revision, n int) ([]sources.Entry, error) {
	return logOf(ctx, w.Branch, head, n)
}

// WriterOf implements sources.Logged.
func (w *Watched) WriterOf(ctx context.Context, head fleet.Revision, path string) (sources.Entry, error) {
	return writerOf(ctx, w.Branch, head, path)
}

// Log implements sources.Logged.
func (g guarded) Log(ctx context.Context, head fleet.Revision, n int) ([]sources.Entry, error) {
	return logOf(ctx, g.Branch, head, n)
}

// WriterOf implements sources.Logged.
func (g guarded) WriterOf(ctx context.Context, head fleet.Revision, path string) (sources.Entry, error) {
	return writerOf(ctx, g.Branch, head, path)
}

func logOf(ctx context.Context, b sources.Branch, head fleet.Revision, n int) ([]sources.Entry, error) {
	l, ok := b.(sources.Logged)
	if !ok {
		return nil, nil
	}
	return l.Log(ctx, head, n)
}

func writerOf(ctx context.Context, b sources.Branch, head fleet.Revision, path string) (sources.Entry, error) {
	l, ok := b.(sources.Logged)
	if !ok {
		return sources.Entry{}, fleet.Errorf(fleet.NotFound, "find who wrote "+path, "what the status is in has no commits")
	}
	return l.WriterOf(ctx, head, path)
}
