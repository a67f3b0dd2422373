package status

import (
	"context"
	"slices"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Watched branch remembers the head that was last seen by any reader. So the writer
// notices, from polls of the owner, when somebody resets the branch, even in a fleet where
// nothing changes.
type Watched struct {
	sources.Branch

	mu    sync.Mutex
	head  fleet.Revision
	seen  bool
	wrote []string // hashes of the last commits that were made here, the newest last
}

// keepWrote is how many commits made here are remembered. A forge sends webhooks within
// seconds, and commits are a second apart.
const keepWrote = 256

var _ sources.Compactor = (*Watched)(nil)

// Watch returns b, watched.
func Watch(b sources.Branch) *Watched { return &Watched{Branch: b} }

// Read implements sources.Branch.
func (w *Watched) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	head, t, err := w.Branch.Read(ctx)
	if err == nil {
		w.saw(head)
	}
	return head, t, err
}

// Commit implements sources.Branch.
func (w *Watched) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	head, err := w.Branch.Commit(ctx, base, c)
	if err == nil {
		w.made(base, head)
	}
	return head, err
}

// Compact implements sources.Compactor. On a branch that is none it does nothing.
func (w *Watched) Compact(ctx context.Context, base fleet.Revision, c sources.Compaction) (fleet.Revision, sources.History, error) {
	b, ok := w.Branch.(sources.Compactor)
	if !ok {
		return base, sources.History{}, nil
	}
	head, h, err := b.Compact(ctx, base, c)
	if err == nil {
		w.made(base, head)
	}
	return head, h, err
}

// made notes that head was made from base here.
func (w *Watched) made(base, head fleet.Revision) {
	w.saw(head)
	if head == base {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = append(w.wrote, head.Hash())
	w.wrote = w.wrote[max(0, len(w.wrote)-keepWrote):]
}

// Wrote reports whether the commit with that hash was made here.
func (w *Watched) Wrote(hash string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.wrote, hash)
}

func (w *Watched) saw(head fleet.Revision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head, w.seen = head, true
}

// moved reports whether the last head seen is another one than known.
func (w *Watched) moved(known fleet.Revision) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen && w.head != known
}
