package git

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// errBudget says that pushed content exceeds the budget, errLong that an answer does.
var (
	errBudget = errors.New("over budget")
	errLong   = errors.New("the answer is too long")
)

// Bounds that no budget changes.
const (
	// maxListed is how many bytes a list of refs may have: some 500,000 refs.
	maxListed = 32 << 20
	// maxCommit is the largest commit or tag, in bytes. It is decoded before anything is
	// known of its author.
	maxCommit = 1 << 20
	// maxDelta is the largest result of a delta, in bytes.
	maxDelta = 32 << 20
	// maxPrelude is how many bytes an answer may have before its pack.
	maxPrelude = 1 << 20
	// perObject is the memory that an object takes beside its content.
	perObject = 256
	// ahead is how much memory is allocated for an object because of its header alone.
	ahead = 16 << 20
)

// A boundedReader ends with errLong after n bytes.
type boundedReader struct {
	r io.Reader
	n int64
	// limit is n at the start, for the message.
	limit int64
}

func bounded(r io.Reader, n int64) *boundedReader { return &boundedReader{r: r, n: n, limit: n} }

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.n <= 0 {
		return 0, fmt.Errorf("%w: it has more than %d bytes", errLong, b.limit)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.n)])
	b.n -= int64(n)
	return n, err
}

// An unpacker reads one pack into a store. Its memory is bounded by the budget, whatever
// the pack claims: sizes are checked before anything is unfolded.
type unpacker struct {
	store  *store
	budget Budget
	used   int64
	passed int64 // bytes of files that are not kept

	at      map[int64]plumbing.Hash // objects by their offset in the pack
	waiting map[any][]delta         // deltas by their base, an offset or a hash
	pending int
}

type delta struct {
	place int64
	data  []byte
}

// A resolved object is one whose deltas can be applied.
type resolved struct {
	place int64
	hash  plumbing.Hash
}

// unpack reads the pack r into s. Bases of deltas may be in s.
func unpack(r io.Reader, s *store, b Budget) error {
	u := &unpacker{store: s, budget: b, at: map[int64]plumbing.Hash{}, waiting: map[any][]delta{}}
	scan := packfile.NewScanner(bufio.NewReader(r))
	_, n, err := scan.Header()
	if err != nil {
		return err
	}
	if int64(n) > int64(b.Objects) {
		return fmt.Errorf("%w: the pack has %d objects, more than %d", errBudget, n, b.Objects)
	}
	for range n {
		if err := u.next(scan); err != nil {
			return err
		}
	}
	if _, err := scan.Checksum(); err != nil {
		return err
	}
	return u.thin()
}

// next reads one object.
func (u *unpacker) next(scan *packfile.Scanner) error {
	h, err := scan.NextObjectHeader()
	if err != nil {
		return err
	}
	if h.Type == plumbing.BlobObject && u.store.large > 0 && h.Length > u.store.large {
		return u.pass(scan, h)
	}
	if err := u.spend(h.Type, h.Length); err != nil {
		return err
	}
	buf := bytes.NewBuffer(make([]byte, 0, min(h.Length, ahead)))
	if _, _, err := scan.NextObject(buf); err != nil {
		return err
	}
	if int64(buf.Len()) != h.Length {
		return fmt.Errorf("object at %d has %d bytes instead of %d", h.Offset, buf.Len(), h.Length)
	}
	switch h.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return u.add(h.Offset, h.Type, buf.Bytes())
	case plumbing.OFSDeltaObject:
		if base, ok := u.at[h.OffsetReference]; ok {
			return u.patch(base, delta{h.Offset, buf.Bytes()})
		}
		u.wait(h.OffsetReference, delta{h.Offset, buf.Bytes()})
	case plumbing.REFDeltaObject:
		if o, ok := u.store.get(h.Reference); ok && o.left == 0 {
			return u.patch(h.Reference, delta{h.Offset, buf.Bytes()})
		}
		u.wait(h.Reference, delta{h.Offset, buf.Bytes()})
	default:
		return fmt.Errorf("object at %d is of unknown type %d", h.Offset, h.Type)
	}
	return nil
}

func (u *unpacker) wait(base any, d delta) {
	u.waiting[base] = append(u.waiting[base], d)
	u.pending++
}

// maxPassed is how many bytes of files that are not kept a pack may have, as a multiple of
// its budget.
const maxPassed = 4

// pass reads a file that is too large to keep. Its hash and size are kept.
func (u *unpacker) pass(scan *packfile.Scanner, h *packfile.ObjectHeader) error {
	if h.Length < 0 || h.Length > maxPassed*u.budget.Unpacked-u.passed {
		return fmt.Errorf("%w: the pack has files of more than %d bytes together that are too large to be read", errBudget, maxPassed*u.budget.Unpacked)
	}
	u.passed += h.Length
	hash := plumbing.NewHasher(h.Type, h.Length)
	n, _, err := scan.NextObject(hash)
	if err != nil {
		return err
	}
	if n != h.Length {
		return fmt.Errorf("object at %d has %d bytes instead of %d", h.Offset, n, h.Length)
	}
	u.store.leave(hash.Sum(), n)
	return nil
}

// spend takes an object of n bytes from the budget.
func (u *unpacker) spend(kind plumbing.ObjectType, n int64) error {
	if (kind == plumbing.CommitObject || kind == plumbing.TagObject) && n > maxCommit {
		return fmt.Errorf("%w: a %s has %d bytes, more than %d", errBudget, kind, n, maxCommit)
	}
	if n < 0 || n+perObject > u.budget.Unpacked-u.used {
		return fmt.Errorf("%w: the pack unfolds to more than %d bytes", errBudget, u.budget.Unpacked)
	}
	u.used += n + perObject
	return nil
}

// add stores an object and then, without recursion, the deltas that waited for it and for
// each other.
func (u *unpacker) add(place int64, kind plumbing.ObjectType, data []byte) error {
	h := u.store.put(kind, data)
	u.at[place] = h
	for todo := []resolved{{place, h}}; len(todo) > 0; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		ready := append(u.waiting[r.place], u.waiting[r.hash]...)
		delete(u.waiting, r.place)
		delete(u.waiting, r.hash)
		for _, d := range ready {
			u.pending--
			kind, data, err := u.apply(r.hash, d)
			if err != nil {
				return err
			}
			h := u.store.put(kind, data)
			u.at[d.place] = h
			todo = append(todo, resolved{d.place, h})
		}
	}
	return nil
}

// patch applies d to a base in the store, and stores the result.
func (u *unpacker) patch(base plumbing.Hash, d delta) error {
	kind, data, err := u.apply(base, d)
	if err != nil {
		return err
	}
	return u.add(d.place, kind, data)
}

func (u *unpacker) apply(base plumbing.Hash, d delta) (plumbing.ObjectType, []byte, error) {
	o, _ := u.store.get(base)
	_, n := binary.Uvarint(d.data) // the size of the base
	if n <= 0 {
		return 0, nil, packfile.ErrInvalidDelta
	}
	size, m := binary.Uvarint(d.data[n:])
	if m <= 0 {
		return 0, nil, packfile.ErrInvalidDelta
	}
	if size > maxDelta {
		return 0, nil, fmt.Errorf("%w: a delta makes %d bytes, more than %d", errBudget, size, maxDelta)
	}
	if err := u.spend(o.kind, int64(size)); err != nil {
		return 0, nil, err
	}
	data, err := packfile.PatchDelta(o.data, d.data)
	if err != nil {
		return 0, nil, fmt.Errorf("delta at %d: %w", d.place, err)
	}
	return o.kind, data, nil
}

// thin returns an error where deltas are left whose base did not come.
func (u *unpacker) thin() error {
	if u.pending > 0 && u.fromLarge() {
		u.store.lacking = true
		return nil
	}
	if u.pending > 0 {
		return fmt.Errorf("the pack has %d deltas without their base: %w", u.pending, errMissing)
	}
	return nil
}

// fromLarge reports whether the pack, or the store before it, has files that are not kept:
// deltas that are left may be based on them.
func (u *unpacker) fromLarge() bool {
	if u.passed > 0 {
		return true
	}
	for base := range u.waiting {
		if h, ok := base.(plumbing.Hash); ok {
			if o, ok := u.store.get(h); ok && o.left > 0 {
				return true
			}
		}
	}
	return false
}
