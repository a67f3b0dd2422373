package status

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Watched branch remembers the head that was last seen by any reader. So the writer
// notices, from polls of the owner, when somebody resets the branch, even in a fleet where
// nothing changes. It remembers the files, too, so that the owner can write them again
// after somebody deleted the branch.
type Watched struct {
	sources.Branch

	mu    sync.Mutex
	head  fleet.Revision
	seen  bool
	tree  sources.Tree      // with files, as last read; nil: none was read
	since map[string][]byte // edits that were committed here since
	owner fleet.Owner       // of tree; zero: of any that is read next
	wrote []string          // hashes of the last commits that were made here, the newest last
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
		w.keep(head, t)
	}
	return head, t, err
}

// keep remembers the files of the branch at head. A branch that is not there has none.
func (w *Watched) keep(head fleet.Revision, t sources.Tree) {
	if head.IsZero() {
		return
	}
	now, err := readOwnership(t, nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && (now == ownership{} || now.isOlder(ownership{owner: w.owner})) {
		return // what somebody put in the place of the branch, or began after it was deleted
	}
	w.tree, w.since, w.owner = t, nil, now.owner
}

// Missing returns the files that the branch had when it was last seen with an owner, and t
// lacks.
func (w *Watched) Missing(t fs.FS) (map[string][]byte, error) {
	w.mu.Lock()
	was, since := w.tree, maps.Clone(w.since)
	w.mu.Unlock()
	missing := make(map[string][]byte)
	lacks := func(p string) bool { _, err := fs.Stat(t, p); return errors.Is(err, fs.ErrNotExist) }
	if was != nil {
		err := fs.WalkDir(was, ".", func(p string, d fs.DirEntry, err error) error {
			if _, edited := since[p]; edited || err != nil || d.IsDir() || !lacks(p) {
				return err
			}
			content, err := fs.ReadFile(was, p)
			if errors.Is(err, fs.ErrNotExist) { // a status branch in a folder went with its files
				return nil
			}
			missing[p] = content
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for p, content := range since {
		if content != nil && lacks(p) {
			missing[p] = content
		}
	}
	return missing, nil
}

// Commit implements sources.Branch.
func (w *Watched) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	head, err := w.Branch.Commit(ctx, base, c)
	if err == nil {
		w.made(base, head)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.since == nil {
			w.since = make(map[string][]byte, len(c.Edits))
		}
		maps.Copy(w.since, c.Edits)
		if c.Edits[ownerPath] != nil { // it may follow one that was not to be believed
			w.owner = fleet.Owner{}
		}
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
