package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// emptyTree is the id of the empty folder, which repositories refer to without having it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// A store has Git objects in memory, and checks the trees among them. Objects are only
// added. It is safe for concurrent use.
type store struct {
	index *tree.Index
	base  *store // another store to look in; may be nil
	most  int    // maximum of entries in one folder
	large int64  // size from which a file's content is not kept; 0: all is kept

	mu       sync.RWMutex
	objects  map[plumbing.Hash]rawObject
	bytes    int64
	complete map[plumbing.Hash]bool // trees that are complete with everything below
	// lacking says that files are missing which were deltas of files that are not kept.
	lacking bool
}

type rawObject struct {
	kind plumbing.ObjectType
	data []byte
	left int64 // size of a file whose content is not kept
}

var _ tree.Objects = (*store)(nil)

func newStore(b tree.Budget) *store {
	b = b.WithDefaults()
	s := &store{objects: map[plumbing.Hash]rawObject{}, complete: map[plumbing.Hash]bool{}, most: b.Files, large: b.FileBytes}
	s.index = tree.NewIndex(s, b)
	return s
}

// stage returns an empty store that also reads from s.
func (s *store) stage() *store {
	return &store{base: s, objects: map[plumbing.Hash]rawObject{}, most: s.most, large: s.large}
}

// land adds a staged store to s. Of files that are too large it keeps the size.
func (s *store) land(staged *store) {
	for h, o := range staged.objects {
		if n := int64(len(o.data)); o.kind == plumbing.BlobObject && s.large > 0 && n > s.large {
			o = rawObject{kind: o.kind, left: n}
		}
		s.add(h, o)
	}
	if staged.lacks() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lacking = true
	}
}

func (s *store) lacks() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lacking
}

// leave adds a file of n bytes without its content.
func (s *store) leave(h plumbing.Hash, n int64) {
	s.add(h, rawObject{kind: plumbing.BlobObject, left: n})
}

// put adds an object and returns its hash. data is not copied.
func (s *store) put(kind plumbing.ObjectType, data []byte) plumbing.Hash {
	h := plumbing.ComputeHash(kind, data)
	s.add(h, rawObject{kind: kind, data: data})
	return h
}

func (s *store) add(h plumbing.Hash, o rawObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[h]; !ok {
		s.objects[h] = o
		s.bytes += int64(len(o.data))
	}
}

func (s *store) get(h plumbing.Hash) (rawObject, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[h]
	if !ok && s.base != nil {
		return s.base.get(h)
	}
	return o, ok
}

func (s *store) size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bytes
}

// carry copies the object h to another store, a folder with everything below it. Submodules
// are not part of a repository.
func (s *store) carry(to *store, h plumbing.Hash) error {
	if _, done := to.get(h); done {
		return nil
	}
	o, ok := s.get(h)
	if !ok {
		return fmt.Errorf("object %s: %w", h, errMissing)
	}
	if o.kind == plumbing.TreeObject {
		entries, err := s.entries(h)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Mode == filemode.Submodule {
				continue
			}
			if err := s.carry(to, e.Hash); err != nil {
				return err
			}
		}
	}
	to.add(h, o)
	return nil
}

// encoded returns an object in go-git's form.
func (o rawObject) encoded() plumbing.EncodedObject {
	m := &plumbing.MemoryObject{}
	m.SetType(o.kind)
	_, _ = m.Write(o.data) // into memory: cannot fail
	return m
}

var (
	errMissing   = errors.New("object is not in the repository")
	errMalformed = errors.New("it cannot be read") // its hash is right, though
)

// commit returns the commit h.
func (s *store) commit(h plumbing.Hash) (*object.Commit, error) {
	o, ok := s.get(h)
	if !ok {
		return nil, fmt.Errorf("commit %s: %w", h, errMissing)
	}
	c := &object.Commit{}
	if err := c.Decode(o.encoded()); err != nil {
		return nil, fmt.Errorf("commit %s: %w: %w", h, errMalformed, err)
	}
	return c, nil
}

// commitOf follows annotated tags from h to a commit.
func (s *store) commitOf(h plumbing.Hash) (*object.Commit, error) {
	for range 10 {
		o, ok := s.get(h)
		if !ok {
			return nil, fmt.Errorf("object %s: %w", h, errMissing)
		}
		if o.kind != plumbing.TagObject {
			return s.commit(h)
		}
		t := &object.Tag{}
		if err := t.Decode(o.encoded()); err != nil {
			return nil, fmt.Errorf("tag %s: %w: %w", h, errMalformed, err)
		}
		h = t.Target
	}
	return nil, fmt.Errorf("tag %s: %w: it is a tag of tags, more than 10 deep", h, errMalformed)
}

// entries returns the decoded tree h.
func (s *store) entries(h plumbing.Hash) ([]object.TreeEntry, error) {
	o, ok := s.get(h)
	if !ok {
		if h.String() == emptyTree || h.IsZero() {
			return nil, nil
		}
		return nil, fmt.Errorf("tree %s: %w", h, errMissing)
	}
	if err := s.admit(o.data); err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	t := &object.Tree{}
	if err := t.Decode(o.encoded()); err != nil {
		return nil, fmt.Errorf("tree %s: %w: %w", h, errMalformed, err)
	}
	return t.Entries, nil
}

// maxEntryName bounds the mode and name of an entry. git fsck warns of longer names.
const maxEntryName = 4096

// admit refuses an encoded tree with too many entries before it is decoded, which takes ten
// times its size.
func (s *store) admit(data []byte) error {
	for n := 0; len(data) > 0; n++ {
		if n == s.most {
			return fleet.Errorf(fleet.Invalid, "accept the content of the repository", "a folder has more than %d entries", s.most)
		}
		name := bytes.IndexByte(data[:min(len(data), maxEntryName+1)], 0)
		if name < 0 && len(data) > maxEntryName {
			return fleet.Errorf(fleet.Invalid, "accept the content of the repository", "a folder has a name of more than %d bytes", maxEntryName)
		}
		if name < 0 || len(data) < name+1+len(plumbing.ZeroHash) {
			return nil // decoding reports the error
		}
		data = data[name+1+len(plumbing.ZeroHash):]
	}
	return nil
}

const digestPrefix = "sha1:"

func digestOf(h plumbing.Hash) string { return digestPrefix + hex.EncodeToString(h[:]) }

func hashOf(digest string) plumbing.Hash {
	return plumbing.NewHash(strings.TrimPrefix(digest, digestPrefix))
}
