package escrow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/files"
)

// A Place keeps the files of an escrow.
type Place interface {
	// String names it for people.
	String() string

	// Read returns the present files, none where there is nothing yet.
	Read(ctx context.Context) (Snapshot, error)

	// Write makes edits, path to new content and nil to delete, on top of s. Where
	// somebody else wrote since, the error is of kind Conflict and nothing
	// happened. What is cut off half way is found and repaired by the next Read and
	// Write: the index is written last.
	Write(ctx context.Context, s Snapshot, edits map[string][]byte, message string) error
}

// A Snapshot is what a Place held.
type Snapshot struct {
	fs.FS
	base fleet.Revision
}

// Branch returns the place that is a branch of a repository.
func Branch(name string, b sources.Branch) Place { return &branch{name: name, b: b} }

type branch struct {
	name string
	b    sources.Branch
}

func (p *branch) String() string { return "branch " + p.name }

func (p *branch) Read(ctx context.Context) (Snapshot, error) {
	rev, tree, err := p.b.Read(ctx)
	return Snapshot{FS: tree, base: rev}, err
}

func (p *branch) Write(ctx context.Context, s Snapshot, edits map[string][]byte, message string) error {
	_, err := p.b.Commit(ctx, s.base, sources.Commit{Edits: edits, Message: message})
	return err
}

// FromSource returns the place called name that is the newest revision of s, to be read.
func FromSource(name string, s sources.Source) Place { return revisions{name, s} }

type revisions struct {
	name string
	s    sources.Source
}

func (p revisions) String() string { return p.name }

func (p revisions) Read(ctx context.Context) (Snapshot, error) {
	rev, err := p.s.Resolve(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	tree, err := p.s.Fetch(ctx, rev)
	if fleet.KindOf(err) == fleet.Invalid {
		return Snapshot{}, fleet.Errorf(fleet.Invalid, "read the escrow in "+p.name, "%w: where you know who wrote it, restore it step by step and without the keys (docs/operations/disaster-recovery.md)", err)
	}
	return Snapshot{FS: tree, base: rev}, err
}

func (p revisions) Write(context.Context, Snapshot, map[string][]byte, string) error {
	return fleet.Errorf(fleet.Invalid, "write to "+p.name, "it is there to be read")
}

// Folder returns the place that is a folder, which must exist: a mount that is
// not there is not made up. It must be empty or hold an escrow.
func Folder(dir string) Place { return folder(dir) }

type folder string

func (p folder) String() string { return "folder " + string(p) }

func (p folder) Read(context.Context) (Snapshot, error) {
	op := "read escrow in " + string(p)
	list, err := os.ReadDir(string(p))
	if err != nil {
		return Snapshot{}, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	_, err = os.Stat(filepath.Join(string(p), indexName))
	if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(list, func(d fs.DirEntry) bool { return !own(d) }) {
		err = nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, fleet.Errorf(fleet.Invalid, op, "it holds %s and no escrow: name an empty folder", list[0].Name())
	}
	if err != nil {
		return Snapshot{}, fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	return Snapshot{FS: os.DirFS(string(p))}, nil
}

// own reports whether d may be what a first write that was cut off left, or
// what a file system has by itself.
func own(d fs.DirEntry) bool {
	return slices.Contains([]string{"clusters", "secrets", "lost+found", files.Temporary(indexName)}, d.Name())
}

func (p folder) Write(_ context.Context, _ Snapshot, edits map[string][]byte, _ string) error {
	root, err := os.OpenRoot(string(p))
	if err != nil {
		return fleet.Errorf(fleet.Unavailable, "write escrow in "+string(p), "%w", err)
	}
	defer root.Close()
	if err := write(root, edits); err != nil {
		return fleet.Errorf(fleet.Unavailable, "write escrow in "+string(p), "%w", err)
	}
	return nil
}

// write makes edits. At each moment the index tells of files that are there, under their
// names or their staged names: first it stages what is new, then it replaces the index,
// then what is new takes the place of what was there, and what the index does not tell of
// any more is removed.
func write(root *os.Root, edits map[string][]byte) error {
	var changed, removed []string
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		switch {
		case edits[name] == nil:
			removed = append(removed, name)
		case name != indexName:
			changed = append(changed, name)
		}
	}
	if err := settle(root, changed); err != nil {
		return err
	}
	within := map[string]bool{}
	for _, name := range changed {
		within[path.Dir(name)] = true
		if err := files.MakeFolder(root, path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := files.Stage(root, name, edits[name], 0o600); err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
	}
	for dir := range within {
		if err := files.Sync(root, dir); err != nil {
			return err
		}
	}
	if content, ok := edits[indexName]; ok {
		if err := files.Replace(root, indexName, content, 0o600); err != nil {
			return fmt.Errorf("cannot write %s: %w", indexName, err)
		}
	}
	for _, name := range changed {
		if err := files.Land(root, name); err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
	}
	for _, name := range removed {
		for _, name := range []string{name, stagedName(name)} {
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// stagedName returns where the next content of a file is until the index tells of it.
func stagedName(name string) string { return files.Temporary(name) }

// settle finishes what a write that was cut off began: names are about to be staged again,
// and what is staged may be what the index tells of.
func settle(root *os.Root, names []string) error {
	i, err := readIndex("write escrow", root.FS())
	if err != nil {
		return nil //nolint:nilerr // a damaged index tells of nothing, and is about to be replaced
	}
	for _, e := range i.Entries {
		if !slices.Contains(names, e.path()) || e.intact(root.FS()) {
			continue
		}
		if _, err := e.file(root.FS()); err != nil {
			continue
		}
		if err := files.Land(root, e.path()); err != nil {
			return err
		}
	}
	return nil
}
