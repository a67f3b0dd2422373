package tree

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"fairlead.dev/sources"
)

// maxBad is how many bad entries of one folder are reported.
const maxBad = 10

// Lazy returns the tree whose root folder is id without checking it: each folder is checked
// when it is first read. A bad entry affects only who needs it, and Bad reports it.
// Budget.Files bounds each folder, not their sum.
func (x *Index) Lazy(id string) *Tree {
	return &Tree{index: x, root: &folder{id: id}, lazy: true}
}

// A badName is an entry with a bad name.
type badName struct {
	name string
	dir  bool
	err  error
}

// look returns the folder id alone, with its entries that are bad in any tree.
func (x *Index) look(id string) (*folder, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f, ok := x.seen[id]; ok {
		return f, nil
	}
	entries, err := x.objects.Dir(id)
	if err != nil {
		return nil, err
	}
	if len(entries) > x.budget.Files {
		return nil, refuse("the folder has more than %d entries", x.budget.Files)
	}
	f := &folder{id: id, names: make(map[string]int, len(entries))}
	count := make(map[string]int, len(entries))
	for _, e := range entries {
		count[e.Name]++
	}
	for _, e := range entries {
		err := checkName(e.Name)
		if err == nil && count[e.Name] > 1 {
			err = fmt.Errorf("there are %d entries of this name", count[e.Name])
		}
		if err != nil {
			f.bad = append(f.bad, badName{e.Name, e.Mode.IsDir(), err})
			continue
		}
		f.entries = append(f.entries, e)
	}
	slices.SortFunc(f.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(f.bad, func(a, b badName) int { return cmp.Compare(a.name, b.name) })
	for i, e := range f.entries {
		f.names[e.Name] = i
	}
	// The cache is bounded: a folder that is gone is not used again.
	if x.kept += len(entries); x.kept > 2*x.budget.Files {
		x.seen, x.kept = map[string]*folder{}, len(entries)
	}
	x.seen[id] = f
	return f, nil
}

// absent returns the error for a missing entry name of f. A bad entry is not missing: the
// caller would go on as if it had never been written.
func (f *folder) absent(name string) error {
	i, ok := slices.BinarySearchFunc(f.bad, name, func(b badName, name string) int { return cmp.Compare(b.name, name) })
	if !ok {
		return fs.ErrNotExist
	}
	return refuse("%w", f.bad[i].err)
}

// folder returns the content of the folder e.
func (t *Tree) folder(e Entry) (*folder, error) {
	if t.lazy {
		return t.index.look(e.ID)
	}
	return t.index.folder(e.ID), nil
}

// Bad implements sources.Judged.
func (t *Tree) Bad(dir string) []sources.BadEntry {
	if !t.lazy {
		return nil // the tree was checked as a whole
	}
	e, level, err := t.locate("stat", dir)
	if err != nil || !e.Mode.IsDir() {
		return nil
	}
	f, err := t.folder(e)
	if err != nil {
		return []sources.BadEntry{{Folder: path.Dir(dir), Name: path.Base(dir), Dir: true, Err: err}}
	}
	var out []sources.BadEntry
	for _, b := range f.bad {
		out = append(out, sources.BadEntry{Folder: dir, Name: b.name, Dir: b.dir, Err: b.err})
	}
	for _, e := range f.entries {
		if err := t.tooMuch(e, level); err != nil {
			out = append(out, sources.BadEntry{Folder: dir, Name: e.Name, Dir: e.Mode.IsDir(), Err: err})
		}
		if len(out) >= maxBad {
			break
		}
	}
	return out[:min(len(out), maxBad)]
}

// tooMuch returns why the entry e, of a folder at depth level, is kept back.
func (t *Tree) tooMuch(e Entry, level int) error {
	switch {
	case e.Mode.IsDir() && level+1 > t.index.budget.Depth:
		return fmt.Errorf("it is more than %d folders deep", t.index.budget.Depth)
	case e.Mode.Type() == 0 && e.Size > t.index.budget.FileBytes:
		return fmt.Errorf("it has %d bytes, more than %d", e.Size, t.index.budget.FileBytes)
	}
	return nil
}

// tooDeep reports whether a folder at depth level must not be read.
func (t *Tree) tooDeep(level int) bool { return t.lazy && level > t.index.budget.Depth }

// given returns the entries of f, at depth level, that are not kept back. A file that is
// too large is among them, and cannot be read.
func (t *Tree) given(f *folder, level int) []Entry {
	if !t.tooDeep(level + 1) {
		return f.entries
	}
	return slices.DeleteFunc(slices.Clone(f.entries), func(e Entry) bool { return e.Mode.IsDir() })
}

// readable returns why the file e at name cannot be read.
func (t *Tree) readable(e Entry, name string) error {
	if err := t.tooMuch(e, 0); t.lazy && !e.Mode.IsDir() && err != nil {
		return &fs.PathError{Op: "read", Path: name, Err: refuse("%w", err)}
	}
	return nil
}
