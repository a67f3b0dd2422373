package status

import (
	"context"
	"slices"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Watched branch remembers which head was seen last, whoever looked: what a
// poll of the owner reads tells the writer that somebody put the branch back. A
// fleet where nothing changes would not notice otherwise, and reading it costs a
// request.
type Watched struct {
	sources.Branch

	mu    sync.Mutex
	head  fleet.Revision
	seen  bool
	wrote []string // hashes of the commits that were made here last, the newest last
}

// keepWrote is how many commits are known as made here. A forge tells of a push
// within seconds, and commits are a second apart.
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

// made notes that head was made of base here.
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

// Wrote reports whether the commit of that hash was made here.
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

// moved reports whether another head than known was seen last.
func (w *Watched) moved(known fleet.Revision) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen && w.head != known
}
