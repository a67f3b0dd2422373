package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // Git's own checksum of a pack
	"encoding/binary"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// encodePack returns a pack of the objects that e made. With thin, an object that replaces
// another one is sent as a delta, if that is smaller: the server has the other object,
// which is in the branch's commit. Servers accept such packs, which git push sends as well,
// unless they say no-thin.
func encodePack(e *editor, thin bool) ([]byte, error) {
	var pack bytes.Buffer
	pack.WriteString("PACK")
	_ = binary.Write(&pack, binary.BigEndian, [2]uint32{2, uint32(len(e.made))}) //nolint:gosec // few objects, and writing to memory cannot fail
	z := zlib.NewWriter(nil)                                                     // one for all: each has a window of its own
	for _, h := range e.made {
		o, _ := e.store.get(h)
		kind, base, data := o.kind, plumbing.ZeroHash, o.data
		if thin {
			if delta, ok := e.delta(h, o); ok {
				kind, base, data = plumbing.REFDeltaObject, e.was[h], delta
			}
		}
		pack.Write(objectHeader(kind, len(data)))
		if kind == plumbing.REFDeltaObject {
			pack.Write(base[:])
		}
		z.Reset(&pack)
		if _, err := z.Write(data); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
	}
	sum := sha1.Sum(pack.Bytes()) //nolint:gosec // as above
	pack.Write(sum[:])
	return pack.Bytes(), nil
}

// leastDelta is the size in bytes from which an object is worth a delta.
const leastDelta = 64

// delta returns the delta that makes the object h, which is o, from the object that it
// replaces, and whether the delta is much smaller than o.
func (e *editor) delta(h plumbing.Hash, o rawObject) ([]byte, bool) {
	base, ok := e.store.get(e.was[h])
	if _, made := e.was[e.was[h]]; made { // that object is in the pack, and may be a delta of h
		return nil, false
	}
	if !ok || base.kind != o.kind || len(o.data) < leastDelta {
		return nil, false
	}
	delta := packfile.DiffDelta(base.data, o.data)
	return delta, len(delta)+len(plumbing.ZeroHash) < len(o.data)/2
}

// objectHeader returns the header of an object in a pack: four bits of the size beside the
// kind, then seven bits in each byte, the lowest first.
func objectHeader(kind plumbing.ObjectType, size int) []byte {
	first := byte(kind)<<4 | byte(size&0x0f)
	size >>= 4
	if size == 0 {
		return []byte{first}
	}
	return binary.AppendUvarint([]byte{first | 0x80}, uint64(size)) //nolint:gosec // not negative
}
