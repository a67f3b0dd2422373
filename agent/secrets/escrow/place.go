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

	"fairlead.dev/agent/files"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Place keeps the files of an escrow.
type Place interface {
	// String names it for people.
	String() string

	// Read returns the files as they are now, none where there is nothing yet.
	Read(ctx context.Context) (Snapshot, error)

	// Write makes edits, path to new content and nil to delete, on top of s. Where
	// somebody else wrote since, the error is of kind Conflict and nothing
	// happened. What is cut off half way is found and mended by the next Read and
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
		return Snapshot{}, fleet.Errorf(fleet.Invalid, "read the escrow in "+p.name, "%w: where you know who wrote it, restore it step by step and without the keys (docs/disaster-recovery.md)", err)
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
	// What is new first, then the index that tells of it, then what is not told of
	// any more.
	names := slices.SortedFunc(maps.Keys(edits), func(a, b string) int { return order(edits, a) - order(edits, b) })
	for _, name := range names {
		if err := put(root, name, edits[name]); err != nil {
			return fleet.Errorf(fleet.Unavailable, "write escrow in "+string(p), "%w", err)
		}
	}
	return nil
}

func order(edits map[string][]byte, name string) int {
	switch {
	case edits[name] == nil:
		return 2
	case name == indexName:
		return 1
	}
	return 0
}

// put replaces a file as a whole, or removes it.
func put(root *os.Root, name string, content []byte) error {
	if content == nil {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := files.MakeFolder(root, path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := files.Replace(root, name, content, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}
