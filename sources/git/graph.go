package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// A graph is the history of a branch: its commits and folders, without contents of files.
// Folders of thousands of commits are alike, so what came as a delta stays one until it is
// read. It is not safe for concurrent use.
type graph struct {
	budget   Budget
	filtered bool // the server left out what the filter says
	objects  map[plumbing.Hash]*graphObject
	at       map[int64]*graphObject // by offset in the pack; nil: another kind of object

	held    int64          // bytes that are kept permanently, with perObject for each object
	rebuilt []*graphObject // objects rebuilt from deltas, the oldest first
	used    int64          // bytes of those
}

// A graphObject is a commit or a folder.
type graphObject struct {
	kind  plumbing.ObjectType
	data  []byte // nil: delta has to be applied to base
	base  *graphObject
	delta []byte
}

const (
	// keepWhole is how many bytes of rebuilt objects are kept.
	keepWhole = 32 << 20
	// maxGraphObject is how many bytes a commit or a folder of a history may have.
	maxGraphObject = 16 << 20
	// maxHistory is how many objects a history may have, those of files included.
	maxHistory = 10_000_000
)

// graph returns the history of the commit tip, of at most depth commits; 0 is all. It has what
// filter leaves of the objects, where the server knows filters.
func (c *clone) graph(ctx context.Context, tip plumbing.Hash, depth int, filter packp.Filter) (*graph, error) {
	s, ar, req, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	filtered := ar.Capabilities.Supports(capability.Filter)
	if filtered {
		if err := req.Capabilities.Set(capability.Filter); err != nil {
			return nil, err
		}
		req.Filter = filter
	}
	req.Wants = []plumbing.Hash{tip}
	if depth > 0 && ar.Capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(depth)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	k := &graph{budget: c.budget, filtered: filtered, objects: map[plumbing.Hash]*graphObject{}, at: map[int64]*graphObject{}}
	return k, receive(ctx, s, req, func(pack io.Reader) error { return k.read(ctx, pack) })
}

// read reads a pack.
func (k *graph) read(ctx context.Context, pack io.Reader) error {
	scan := packfile.NewScanner(bufio.NewReader(pack))
	_, n, err := scan.Header()
	if err != nil {
		return err
	}
	if n > maxHistory {
		return fmt.Errorf("%w: the history has %d objects, more than %d", errBudget, n, maxHistory)
	}
	for range n {
		if err := errors.Join(ctx.Err(), k.next(scan)); err != nil {
			return err
		}
	}
	_, err = scan.Checksum()
	k.at = nil
	return err
}

// next reads one object.
func (k *graph) next(scan *packfile.Scanner) error {
	h, err := scan.NextObjectHeader()
	if err != nil {
		return err
	}
	b := &graphObject{kind: h.Type}
	switch h.Type {
	case plumbing.CommitObject, plumbing.TreeObject:
	case plumbing.OFSDeltaObject:
		b.base = k.at[h.OffsetReference]
	case plumbing.REFDeltaObject:
		b.base = k.objects[h.Reference]
	}
	if b.base == nil && h.Type != plumbing.CommitObject && h.Type != plumbing.TreeObject {
		_, _, err := scan.NextObject(io.Discard) // a file, or a delta of one
		return err
	}
	if h.Length > maxGraphObject {
		return fmt.Errorf("%w: a folder of the history has more than %d bytes", errBudget, maxGraphObject)
	}
	if k.held += h.Length + perObject; k.held > k.budget.Unpacked {
		return fmt.Errorf("%w: the history has more than %d bytes of commits and folders", errBudget, k.budget.Unpacked)
	}
	var buf bytes.Buffer
	if _, _, err := scan.NextObject(&buf); err != nil {
		return err
	}
	if b.base == nil {
		b.data = append([]byte{}, buf.Bytes()...) // never nil
	} else {
		b.kind, b.delta = b.base.kind, buf.Bytes()
	}
	data, err := k.content(b)
	if err != nil {
		return fmt.Errorf("object at %d: %w", h.Offset, err)
	}
	k.at[h.Offset] = b
	k.objects[plumbing.ComputeHash(b.kind, data)] = b
	return nil
}

// content returns the content of b.
func (k *graph) content(b *graphObject) ([]byte, error) {
	if b.data != nil {
		return b.data, nil
	}
	var chain []*graphObject
	for ; b.data == nil; b = b.base {
		chain = append(chain, b)
	}
	data := b.data
	for _, b := range slices.Backward(chain) {
		_, n := binary.Uvarint(b.delta) // the size of the base
		size, m := binary.Uvarint(b.delta[max(n, 0):])
		if n <= 0 || m <= 0 {
			return nil, packfile.ErrInvalidDelta
		}
		if size > maxGraphObject {
			return nil, fmt.Errorf("%w: a folder of the history has more than %d bytes", errBudget, maxGraphObject)
		}
		var err error
		if data, err = packfile.PatchDelta(data, b.delta); err != nil {
			return nil, err
		}
	}
	data = append([]byte{}, data...) // never nil
	k.remember(chain[0], data)
	return data, nil
}

// remember keeps the content of b, and drops what was rebuilt long ago.
func (k *graph) remember(b *graphObject, data []byte) {
	b.data = data
	k.rebuilt = append(k.rebuilt, b)
	for k.used += int64(len(data)); k.used > keepWhole && len(k.rebuilt) > 1; k.rebuilt = k.rebuilt[1:] {
		old := k.rebuilt[0]
		k.used -= int64(len(old.data))
		old.data = nil
	}
}

// raw returns the bytes of a commit or folder.
func (k *graph) raw(h plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	b, ok := k.objects[h]
	if !ok || b.kind != kind {
		return nil, fmt.Errorf("%s %s of the history: %w", kind, h, errMissing)
	}
	return k.content(b)
}

// A step is a commit of a history.
type step struct {
	hash    plumbing.Hash
	raw     []byte
	tree    plumbing.Hash
	parents []plumbing.Hash
	when    int64 // time of the commit, in seconds since 1970
}

func (k *graph) commit(h plumbing.Hash) (*step, error) {
	raw, err := k.raw(h, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	c := &object.Commit{}
	if err := c.Decode(rawObject{kind: plumbing.CommitObject, data: raw}.encoded()); err != nil {
		return nil, fmt.Errorf("commit %s: %w: %w", h, errMalformed, err)
	}
	return &step{hash: h, raw: bytes.Clone(raw), tree: c.TreeHash, parents: c.ParentHashes, when: c.Committer.When.Unix()}, nil
}

// A leaf is a file in a folder.
type leaf struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

// entries returns the entries of a folder. The zero hash is the empty folder.
func (k *graph) entries(h plumbing.Hash) (map[string]leaf, error) {
	if h.IsZero() || h.String() == emptyTree {
		return nil, nil
	}
	raw, err := k.raw(h, plumbing.TreeObject)
	if err != nil {
		return nil, err
	}
	t := &object.Tree{}
	if err := t.Decode(rawObject{kind: plumbing.TreeObject, data: raw}.encoded()); err != nil {
		return nil, fmt.Errorf("tree %s: %w: %w", h, errMalformed, err)
	}
	out := make(map[string]leaf, len(t.Entries))
	for _, e := range t.Entries {
		out[e.Name] = leaf{e.Mode, e.Hash}
	}
	return out, nil
}

// maxDepth bounds folders within folders.
const maxDepth = 64

// differ calls with for each file in the folder a that is another one, or missing, in b.
func (k *graph) differ(a, b plumbing.Hash, path string, depth int, with func(path string, in leaf)) error {
	if a == b || a.IsZero() {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: %q is more than %d folders deep", errBudget, path, maxDepth)
	}
	inA, err := k.entries(a)
	if err != nil {
		return err
	}
	inB, err := k.entries(b)
	if err != nil {
		return err
	}
	for name, x := range inA {
		y := inB[name]
		switch {
		case x == y:
		case x.mode == filemode.Dir:
			var below plumbing.Hash
			if y.mode == filemode.Dir {
				below = y.hash
			}
			if err := k.differ(x.hash, below, path+name+"/", depth+1, with); err != nil {
				return err
			}
		default:
			with(path+name, x)
		}
	}
	return nil
}
