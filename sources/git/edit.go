package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// An editor makes the objects of a change. It reads only the folders on the paths that
// change.
type editor struct {
	store *store // a staged store, which gets the new objects
	made  []plumbing.Hash
	// was maps new objects to the objects that they replace. The server has the old ones as
	// long as the branch is at the commit that is edited.
	was map[plumbing.Hash]plumbing.Hash
}

func newEditor(s *store) *editor {
	return &editor{store: s, was: make(map[plumbing.Hash]plumbing.Hash)}
}

// A node is one name in a change: a folder, a file to write, or, with neither, a file to
// remove.
type node struct {
	children map[string]*node
	write    bool
	content  []byte
}

// apply returns the root folder base with edits made. The zero hash is an empty folder.
func (e *editor) apply(base plumbing.Hash, edits map[string][]byte) (plumbing.Hash, error) {
	root := &node{children: map[string]*node{}}
	for path, content := range edits {
		if path == "." || !fs.ValidPath(path) {
			return plumbing.ZeroHash, fmt.Errorf("%q is not a path in the repository", path)
		}
		n := root
		for elem := range strings.SplitSeq(path, "/") {
			if n.children == nil {
				n.children = map[string]*node{}
			}
			if n.children[elem] == nil {
				n.children[elem] = &node{}
			}
			n = n.children[elem]
		}
		n.write, n.content = content != nil, content
	}
	h, err := e.folder(base, root)
	if err == nil && h.IsZero() {
		h = e.put(plumbing.TreeObject, nil, plumbing.ZeroHash)
	}
	return h, err
}

// folder returns the folder base with n applied, or the zero hash if the result is empty.
func (e *editor) folder(base plumbing.Hash, n *node) (plumbing.Hash, error) {
	old, err := e.store.entries(base)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	entries := map[string]object.TreeEntry{}
	for _, o := range old {
		entries[o.Name] = o
	}
	for name, c := range n.children {
		o, exists := entries[name]
		switch {
		case c.write && c.children != nil:
			return plumbing.ZeroHash, fmt.Errorf("%q is to be a file and a folder", name)
		case c.write && exists && o.Hash == plumbing.ComputeHash(plumbing.BlobObject, c.content):
		case c.write:
			entries[name] = object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: e.put(plumbing.BlobObject, c.content, o.Hash)}
		case c.children == nil:
			delete(entries, name)
		default:
			var sub plumbing.Hash
			if exists && o.Mode == filemode.Dir {
				sub = o.Hash
			}
			h, err := e.folder(sub, c)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			if h.IsZero() {
				delete(entries, name)
				continue
			}
			entries[name] = object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: h}
		}
	}
	return e.writeFolder(entries, base)
}

func (e *editor) writeFolder(entries map[string]object.TreeEntry, was plumbing.Hash) (plumbing.Hash, error) {
	if len(entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	t := &object.Tree{}
	for _, en := range entries {
		t.Entries = append(t.Entries, en)
	}
	sort.Sort(object.TreeEntrySorter(t.Entries))
	return e.encode(t, was)
}

// encode stores a tree or commit that replaces was.
func (e *editor) encode(o interface {
	Encode(plumbing.EncodedObject) error
}, was plumbing.Hash,
) (plumbing.Hash, error) {
	m := &plumbing.MemoryObject{}
	if err := o.Encode(m); err != nil {
		return plumbing.ZeroHash, err
	}
	r, err := m.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer r.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(r); err != nil {
		return plumbing.ZeroHash, err
	}
	return e.put(m.Type(), buf.Bytes(), was), nil
}

// put stores an object that replaces was, and adds it to the pack. An object of an older
// commit is sent again, since the server may have removed it.
func (e *editor) put(kind plumbing.ObjectType, data []byte, was plumbing.Hash) plumbing.Hash {
	h := e.store.put(kind, slices.Clone(data))
	if _, ok := e.was[h]; !ok {
		e.made = append(e.made, h)
		e.was[h] = was
	}
	return h
}

// message joins subject, body and trailers in Git's format.
func message(text string, trailers []string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", errors.New("a commit needs a message")
	}
	if len(trailers) == 0 {
		return text + "\n", nil
	}
	for _, t := range trailers {
		if key, _, ok := strings.Cut(t, ": "); !ok || strings.ContainsAny(key, " \t") || strings.Contains(t, "\n") {
			return "", fmt.Errorf("trailer %q is not \"Key: value\"", t)
		}
	}
	return text + "\n\n" + strings.Join(trailers, "\n") + "\n", nil
}
