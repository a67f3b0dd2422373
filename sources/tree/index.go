package tree

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// An Index checks trees over one store of objects, and remembers each checked folder, so
// that a new revision costs only what changed. It is safe for concurrent use.
type Index struct {
	objects Objects
	budget  Budget

	mu      sync.Mutex
	folders map[string]*folder // folders checked with everything below
	seen    map[string]*folder // folders checked alone
	kept    int                // entries in seen
}

// A folder is a checked folder with what is below it.
type folder struct {
	id      string
	entries []Entry // sorted by name
	names   map[string]int
	bad     []badName
	files   int
	depth   int
	bytes   int64
}

// NewIndex returns an empty index over objects.
func NewIndex(objects Objects, budget Budget) *Index {
	return &Index{objects: objects, budget: budget.WithDefaults(), folders: map[string]*folder{}, seen: map[string]*folder{}}
}

// Tree returns the tree whose root folder is id. An error of kind Invalid says that the
// tree exceeds the budget or has a hostile name.
func (x *Index) Tree(id string) (*Tree, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	root, err := x.judge(id, "", 0, 0)
	if err != nil {
		return nil, err
	}
	return &Tree{index: x, root: root}, nil
}

// judge checks the folder id at path, at depth level, whose parents have above entries
// together. The caller holds the lock.
func (x *Index) judge(id, path string, level, above int) (*folder, error) {
	if level > x.budget.Depth {
		return nil, refuse("%q is more than %d folders deep", path, x.budget.Depth)
	}
	if f, ok := x.folders[id]; ok {
		if level+f.depth > x.budget.Depth {
			return nil, refuse("what is below %q is more than %d folders deep", path, x.budget.Depth)
		}
		return f, nil
	}
	entries, err := x.objects.Dir(id)
	if err != nil {
		return nil, fmt.Errorf("read folder %q: %w", path, err)
	}
	// The entries of the parents are in memory
	if above += len(entries); above > x.budget.Files {
		return nil, refuse("it has more than %d files and folders (counted up to %q)", x.budget.Files, "/"+path)
	}
	f := &folder{id: id, entries: slices.Clone(entries), names: make(map[string]int, len(entries))}
	slices.SortFunc(f.entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i, e := range f.entries {
		if err := checkName(e.Name); err != nil {
			return nil, refuse("folder %q has an entry %q: %w", "/"+path, e.Name, err)
		}
		if _, twice := f.names[e.Name]; twice {
			return nil, refuse("folder %q has two entries %q", "/"+path, e.Name)
		}
		f.names[e.Name] = i
		if err := x.count(f, e, join(path, e.Name), level, above); err != nil {
			return nil, err
		}
	}
	x.folders[id] = f
	return f, nil
}

// count adds the entry e of f, at path, to the totals of f. The folder and its parents have
// above entries.
func (x *Index) count(f *folder, e Entry, path string, level, above int) error {
	f.files++
	switch e.Mode.Type() {
	case fs.ModeDir:
		sub, err := x.judge(e.ID, path, level+1, above)
		if err != nil {
			return err
		}
		f.files += sub.files
		f.bytes += sub.bytes
		f.depth = max(f.depth, sub.depth+1)
	case 0:
		if e.Size > x.budget.FileBytes {
			return refuse("file %q has %d bytes, more than %d", path, e.Size, x.budget.FileBytes)
		}
		f.bytes += e.Size
	}
	if f.files > x.budget.Files {
		return refuse("it has more than %d files and folders (counted up to %q)", x.budget.Files, path)
	}
	if f.bytes > x.budget.Bytes {
		return refuse("its files have more than %d bytes (counted up to %q)", x.budget.Bytes, path)
	}
	return nil
}

// folder returns a folder that was checked before.
func (x *Index) folder(id string) *folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.folders[id]
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
