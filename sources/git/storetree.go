package git

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Dir implements tree.Objects.
func (s *store) Dir(id string) ([]tree.Entry, error) {
	raw, err := s.entries(hashOf(id))
	if err != nil {
		return nil, err
	}
	list := make([]tree.Entry, len(raw))
	for i, e := range raw {
		list[i] = tree.Entry{Name: e.Name, ID: digestOf(e.Hash)}
		switch e.Mode {
		case filemode.Dir:
			list[i].Mode = fs.ModeDir
			continue
		case filemode.Submodule:
			list[i].Mode = fs.ModeIrregular
			continue
		case filemode.Symlink:
			list[i].Mode = fs.ModeSymlink
		}
		o, ok := s.get(e.Hash)
		if !ok && s.lacks() {
			list[i].Size = s.large + 1
			continue
		}
		if !ok || o.kind != plumbing.BlobObject {
			return nil, fmt.Errorf("file %q (%s): %w", e.Name, e.Hash, errMissing)
		}
		list[i].Size = int64(len(o.data)) + o.left
	}
	return list, nil
}

// File implements tree.Objects.
func (s *store) File(id string) ([]byte, error) {
	o, ok := s.get(hashOf(id))
	if !ok || o.left > 0 {
		return nil, errMissing
	}
	return o.data, nil
}

// missing returns the files of the tree root that are not in the store. A missing tree is
// an error. Entries that cannot be read are skipped.
func (s *store) missing(root plumbing.Hash) ([]plumbing.Hash, error) {
	var out, seen []plumbing.Hash
	met := map[plumbing.Hash]bool{root: true}
	for todo := []plumbing.Hash{root}; len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.complete[h] {
			continue
		}
		entries, err := s.entries(h)
		if errors.Is(err, errMissing) {
			return nil, err
		}
		seen = append(seen, h)
		for _, e := range entries {
			if e.Mode == filemode.Submodule || met[e.Hash] {
				continue
			}
			met[e.Hash] = true
			if e.Mode == filemode.Dir {
				todo = append(todo, e.Hash)
			} else if _, ok := s.get(e.Hash); !ok && !s.lacks() {
				out = append(out, e.Hash)
			}
		}
	}
	if len(out) == 0 {
		for _, h := range seen {
			s.complete[h] = true
		}
	}
	return out, nil
}

// folder returns the tree at path below the tree root.
func (s *store) folder(root plumbing.Hash, path string) (plumbing.Hash, error) {
	if path == "." {
		return root, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		entries, err := s.entries(root)
		if err != nil {
			return root, err
		}
		i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name && e.Mode == filemode.Dir })
		if i < 0 {
			return root, fleet.Errorf(fleet.Invalid, "find the fleet", "there is no folder %q in the repository, which --path names", path)
		}
		root = entries[i].Hash
	}
	return root, nil
}

// marked reports whether the folder at path of the tree root has an entry in names.
func (s *store) marked(root plumbing.Hash, path string, names []string) bool {
	h, err := s.folder(root, path)
	if err != nil {
		return false
	}
	entries, err := s.entries(h)
	return err == nil && slices.ContainsFunc(entries, func(e object.TreeEntry) bool { return slices.Contains(names, e.Name) })
}
