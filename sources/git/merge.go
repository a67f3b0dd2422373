package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/tags"
)

const (
	// maxConflicts is how many paths of a conflict are listed.
	maxConflicts = 100
	// maxBases is how many commits may be where two histories meet.
	maxBases = 16
	// maxMerged is how many folders a merge may read.
	maxMerged = 100_000
	// maxHeavy is how many heads are remembered that are too large.
	maxHeavy = 10_000
)

// Merges merges commits of a repository as trees, in memory of its own: what strangers
// propose takes no room from what is followed. It is safe for concurrent use.
type Merges struct {
	repo *Repository

	mu    sync.Mutex
	clone *clone
	heavy map[plumbing.Hash]error // heads that are too large, and why
}

var _ sources.Merger = (*Merges)(nil)

// Merges returns the merges of r, on its connection.
func (r *Repository) Merges() *Merges {
	return &Merges{repo: r, clone: newClone(r.remote, r.budget, reach{path: ".", lazy: true}), heavy: make(map[plumbing.Hash]error)}
}

// Merge implements sources.Merger. A file that both sides changed in different ways is a
// conflict, wherever in it they did. The root of the tree is the folder that the repository
// is followed at.
func (m *Merges) Merge(ctx context.Context, base, head fleet.Revision) (sources.Merged, error) {
	op := "merge " + head.Short() + " onto " + base.Short() + " of " + m.repo.name
	if !isHash(base.Hash()) || !isHash(head.Hash()) {
		return sources.Merged{}, fleet.Errorf(fleet.Invalid, op, "%q and %q are not both commits", base.Digest, head.Digest)
	}
	m.repo.mu.Lock()
	at := m.repo.clone.reach.path // Root may have moved it
	m.repo.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.heavy[hashOf(head.Digest)]; err != nil {
		return sources.Merged{}, classify(ctx, op, err)
	}
	ctx, cancel := withTimeout(ctx, m.repo.budget.Timeout)
	defer cancel()
	if c := m.clone; c.reach.path != at || c.store.size() > max(keep, 4*c.first) {
		m.clone = newClone(c.remote, c.budget, reach{path: at, lazy: true, all: c.reach.all})
	}
	out, err := m.merge(ctx, hashOf(base.Digest), hashOf(head.Digest))
	switch {
	case errors.Is(err, errNotGiven):
		m.clone.reach.all = true
	case errors.Is(err, errMissing): // the server assumed objects that the clone does not have
	default:
		return out, classify(ctx, op, err)
	}
	m.clone.forget()
	out, err = m.merge(ctx, hashOf(base.Digest), hashOf(head.Digest))
	return out, classify(ctx, op, err)
}

// Refs returns the refs whose full names match one of patterns, as path.Match has it, sorted.
func (m *Merges) Refs(ctx context.Context, patterns []string) ([]fleet.Revision, error) {
	op := "list refs of " + m.repo.name
	ctx, cancel := withTimeout(ctx, m.repo.budget.ListTimeout)
	defer cancel()
	var prefixes []string
	for _, p := range patterns {
		prefixes = append(prefixes, tags.Prefix(p))
	}
	ar, err := m.repo.remote.ask(ctx, prefixes)
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	var out []fleet.Revision
	for name, h := range ar.References {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil }) {
			out = append(out, fleet.Revision{Ref: name, Digest: digestOf(h)})
		}
	}
	slices.SortFunc(out, func(a, b fleet.Revision) int { return cmp.Compare(a.Ref, b.Ref) })
	return out, nil
}

func (m *Merges) merge(ctx context.Context, base, head plumbing.Hash) (sources.Merged, error) {
	since, err := m.since(ctx, base, head)
	if err != nil {
		return sources.Merged{}, err
	}
	out := sources.Merged{Since: since.String(), Contained: since == head}
	var roots [3]plumbing.Hash
	for i, h := range []plumbing.Hash{since, base, head} {
		if i > 0 { // the files of both, which those of the merge are among
			_, err := m.clone.fetchTree(ctx, h, h, func() error { return nil })
			if h == head {
				err = m.weighed(head, err)
			}
			if err != nil {
				return sources.Merged{}, err
			}
		}
		c, err := m.clone.commit(ctx, h, h, func() error { return nil })
		if err != nil {
			return sources.Merged{}, err
		}
		roots[i] = c.TreeHash
	}
	t := &treeMerge{editor: newEditor(m.clone.store)}
	root, err := t.merge("", roots[0], roots[1], roots[2])
	if err != nil {
		return sources.Merged{}, err
	}
	slices.Sort(t.conflicts)
	if out.Conflicts = t.conflicts[:min(len(t.conflicts), maxConflicts)]; len(out.Conflicts) > 0 {
		return out, nil
	}
	out.Digest = digestOf(root)
	folder, err := m.clone.store.folder(root, m.clone.reach.path)
	if err == nil {
		out.Tree = m.clone.store.index.Lazy(digestOf(folder))
	}
	return out, err
}

// weighed returns err of reading head. A head that is too large is remembered: a pull request has the same head
// with each new base, and would have it fetched again.
func (m *Merges) weighed(head plumbing.Hash, err error) error {
	if !errors.Is(err, errBudget) && !errors.Is(err, errLong) {
		return err
	}
	if len(m.heavy) >= maxHeavy {
		clear(m.heavy)
	}
	m.heavy[head] = fleet.Errorf(fleet.Invalid, "read "+head.String(), "%w", err)
	return m.heavy[head]
}

// since returns the commit that base and head continue, of several the one that continues
// the others.
func (m *Merges) since(ctx context.Context, base, head plumbing.Hash) (plumbing.Hash, error) {
	if base == head {
		return base, nil
	}
	own, err := m.clone.commitsSince(ctx, head, base)
	if err != nil {
		return plumbing.ZeroHash, m.weighed(head, err)
	}
	if _, ahead := own.objects[head]; !ahead {
		return head, nil
	}
	meets, err := edge(own, head)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	switch {
	case len(meets) == 0:
		return plumbing.ZeroHash, fleet.Errorf(fleet.Invalid, "find where they parted", "they have no common history")
	case len(meets) > maxBases:
		return plumbing.ZeroHash, fleet.Errorf(fleet.Invalid, "find where they parted", "their histories meet in %d commits: rebase the branch", len(meets))
	}
	best := meets[0]
	for _, other := range meets[1:] {
		ahead, err := m.continues(ctx, other, best)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if ahead {
			best = other
		}
	}
	for _, other := range meets {
		if ok, err := m.continues(ctx, best, other); err != nil || !ok {
			return plumbing.ZeroHash, cmp.Or(err, fleet.Errorf(fleet.Invalid, "find where they parted", "both %s and %s are in both histories, and neither continues the other: rebase the branch", best, other))
		}
	}
	return best, nil
}

// continues reports whether a is b, or has it in its history.
func (m *Merges) continues(ctx context.Context, a, b plumbing.Hash) (bool, error) {
	if a == b {
		return true, nil
	}
	beyond, err := m.clone.commitsSince(ctx, b, a)
	if err != nil {
		return false, err
	}
	_, ahead := beyond.objects[b]
	return !ahead, nil
}

// edge returns the parents that are not in s of commits that lead to head, sorted.
func edge(s *store, head plumbing.Hash) ([]plumbing.Hash, error) {
	var out []plumbing.Hash
	seen := map[plumbing.Hash]bool{head: true}
	for todo := []plumbing.Hash{head}; len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, own := s.objects[h]; !own {
			out = append(out, h)
			continue
		}
		c, err := s.commit(h)
		if err != nil {
			return nil, err
		}
		for _, p := range c.ParentHashes {
			if !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	return out, nil
}

// A treeMerge merges folders. It reads only those that both sides changed.
type treeMerge struct {
	*editor

	read      int // folders
	conflicts []string
}

// merge returns the folder at path with the changes of both sides since base. The zero hash
// is the empty folder.
func (t *treeMerge) merge(at string, base, ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	switch {
	case ours == theirs, base == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	}
	if t.read += 3; t.read > maxMerged {
		return plumbing.ZeroHash, fmt.Errorf("%w: both sides changed more than %d folders", errBudget, maxMerged/3)
	}
	var sides [3]map[string]object.TreeEntry
	names := make(map[string]bool)
	for i, h := range []plumbing.Hash{base, ours, theirs} {
		entries, err := t.store.entries(h)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		sides[i] = make(map[string]object.TreeEntry, len(entries))
		for _, e := range entries {
			if _, twice := sides[i][e.Name]; twice { // Git takes one or the other
				return plumbing.ZeroHash, fleet.Errorf(fleet.Invalid, "read folder "+strconv.Quote(path.Join("/", at)), "there are 2 entries of this name: %q. Fix: commit the folder again with Git", e.Name)
			}
			sides[i][e.Name], names[e.Name] = e, true
		}
	}
	merged := make(map[string]object.TreeEntry, len(names))
	for name := range names {
		e, err := t.entry(path.Join(at, name), sides[0][name], sides[1][name], sides[2][name])
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if !e.Hash.IsZero() {
			e.Name = name
			merged[name] = e
		}
	}
	root, err := t.writeFolder(merged, plumbing.ZeroHash)
	if err == nil && root.IsZero() && at == "" {
		root = t.put(plumbing.TreeObject, nil, plumbing.ZeroHash)
	}
	return root, err
}

// entry merges one name; a zero entry is none.
func (t *treeMerge) entry(at string, base, ours, theirs object.TreeEntry) (object.TreeEntry, error) {
	folder := func(e object.TreeEntry) bool { return e.Hash.IsZero() || e.Mode == filemode.Dir }
	switch {
	case ours == theirs, base == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	case !folder(base) || !folder(ours) || !folder(theirs):
		t.conflicts = append(t.conflicts, at)
		return object.TreeEntry{}, nil
	}
	if depth := len(path.Dir(at)); depth > maxEntryName*2 {
		return object.TreeEntry{}, fmt.Errorf("%w: a path has more than %d bytes", errBudget, maxEntryName*2)
	}
	h, err := t.merge(at, base.Hash, ours.Hash, theirs.Hash)
	return object.TreeEntry{Mode: filemode.Dir, Hash: h}, err
}
