package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // Git's own checksum of a pack
	"encoding/binary"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// encodePack returns a pack of the objects that e made. With thin, an object that takes
// the place of another one is sent as what differs, where that is less: the server has
// the other one, which is part of the commit that the branch is at. All servers take
// such packs, as they are what git push sends, but those that say no-thin.
func encodePack(e *editor, thin bool) ([]byte, error) {
	var pack bytes.Buffer
	pack.WriteString("PACK")
	_ = binary.Write(&pack, binary.BigEndian, [2]uint32{2, uint32(len(e.made))}) //nolint:gosec // few objects; and writing to memory cannot fail
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
		if err := deflate(&pack, data); err != nil {
			return nil, err
		}
	}
	sum := sha1.Sum(pack.Bytes()) //nolint:gosec // as above
	pack.Write(sum[:])
	return pack.Bytes(), nil
}

// leastDelta is how many bytes an object has that is worth a delta.
const leastDelta = 64

// delta returns how to make the object h, which is o, of what it takes the place of, and
// whether that is much less than o.
func (e *editor) delta(h plumbing.Hash, o rawObject) ([]byte, bool) {
	base, ok := e.store.get(e.was[h])
	if _, made := e.was[e.was[h]]; made { // it is in the pack, maybe made of this one
		return nil, false
	}
	if !ok || base.kind != o.kind || len(o.data) < leastDelta {
		return nil, false
	}
	delta := packfile.DiffDelta(base.data, o.data)
	return delta, len(delta)+len(plumbing.ZeroHash) < len(o.data)/2
}

// objectHeader returns kind and size of an object as a pack has them: four bits of size
// beside the kind, and then seven to a byte, the lowest first.
func objectHeader(kind plumbing.ObjectType, size int) []byte {
	first := byte(kind)<<4 | byte(size&0x0f)
	size >>= 4
	if size == 0 {
		return []byte{first}
	}
	return binary.AppendUvarint([]byte{first | 0x80}, uint64(size)) //nolint:gosec // not negative
}

func deflate(w io.Writer, data []byte) error {
	z := zlib.NewWriter(w)
	if _, err := z.Write(data); err != nil {
		return err
	}
	return z.Close()
}
