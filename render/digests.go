package render

import (
	"errors"
	"io/fs"
	"sync"

	"fairlead.dev/sources"
)

// An input is a path that a build looked at, and what was there.
type input struct{ path, digest string }

// Digests of what is not a file or folder that can be read.
const (
	absent   = "absent"
	unstable = "unstable" // never equal to anything
)

// digests remembers the digests of one tree: many overlays share their inputs.
type digests struct {
	tree sources.Tree

	mu    sync.Mutex
	known map[string]string
}

func newDigests(tree sources.Tree) *digests {
	return &digests{tree: tree, known: map[string]string{}}
}

func (d *digests) at(path string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.known[path]; ok {
		return s
	}
	s, err := d.tree.Digest(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s = absent
	case err != nil:
		s = unstable
	}
	d.known[path] = s
	return s
}

// of returns paths with their digests.
func (d *digests) of(paths []string) []input {
	out := make([]input, len(paths))
	for i, p := range paths {
		out[i] = input{p, d.at(p)}
	}
	return out
}

// same reports whether everything in inputs is as it was.
func (d *digests) same(inputs []input) bool {
	for _, in := range inputs {
		if s := d.at(in.path); s != in.digest || s == unstable {
			return false
		}
	}
	return true
}
