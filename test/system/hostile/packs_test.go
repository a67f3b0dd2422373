package hostile

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // what Git names objects by
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"io"
	"strings"
)

// Types of objects in a pack. Source: git, gitformat-pack(5).
const (
	packCommit, packTree, packBlob, packTag = 1, 2, 3, 4
	packOfsDelta, packRefDelta              = 6, 7
)

// An id is the name of an object, 20 bytes.
type id string

func (i id) String() string { return hex.EncodeToString([]byte(i)) }

// slowly is a reader that has no short way, which would copy all of it.
type slowly struct{ io.Reader }

// idOf names an object of a kind as Git does.
func idOf(kind int, data string) id {
	h := sha1.New() //nolint:gosec // what Git names objects by
	fmt.Fprintf(h, "%s %d\x00", map[int]string{packCommit: "commit", packTree: "tree", packBlob: "blob", packTag: "tag"}[kind], len(data))
	_, _ = io.Copy(h, slowly{strings.NewReader(data)})
	return id(h.Sum(nil))
}

// A packer writes a pack as it is told to, whatever Git thinks of it, and holds nothing
// of it in memory.
type packer struct {
	w   *bufio.Writer
	sum hash.Hash
	at  int64 // bytes written
	z   *zlib.Writer
}

// newPacker begins a pack that says it has n objects.
func newPacker(w io.Writer, n uint32) *packer {
	p := &packer{sum: sha1.New()}                   //nolint:gosec // as the format has it
	p.z, _ = zlib.NewWriterLevel(p, zlib.BestSpeed) // the level is one
	p.w = bufio.NewWriterSize(io.MultiWriter(w, p.sum), 64<<10)
	p.write(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), n))
	return p
}

// Write implements io.Writer.
func (p *packer) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return n, err
}

func (p *packer) write(b []byte) { _, _ = p.Write(b) } // who does not listen any more is no fault here

// end writes the checksum.
func (p *packer) end() {
	_ = p.w.Flush()
	p.write(p.sum.Sum(nil))
	_ = p.w.Flush()
}

// header writes what an entry begins with, and returns where that was.
func (p *packer) header(kind int, size uint64) int64 {
	at := p.at
	b := []byte{byte(kind<<4) | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	p.write(b)
	return at
}

// stored writes data as a zlib stream that compresses nothing.
func (p *packer) stored(data []byte) {
	p.write([]byte{0x78, 0x01})
	for first := true; first || len(data) > 0; first = false {
		block := data[:min(len(data), 0xffff)]
		rest, final := data[len(block):], byte(0)
		if len(rest) == 0 {
			final = 1
		}
		n := uint16(len(block)) //nolint:gosec // 0xffff at most
		p.write([]byte{final, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)})
		p.write(block)
		if len(rest) == 0 {
			p.write(binary.BigEndian.AppendUint32(nil, adler32.Checksum(data)))
			return
		}
		data = rest
	}
}

// add writes an object as it is.
func (p *packer) add(kind int, data string) {
	p.header(kind, uint64(len(data)))
	p.z.Reset(p)
	for len(data) > 0 {
		part := data[:min(len(data), 64<<10)]
		_, _ = p.z.Write([]byte(part))
		data = data[len(part):]
	}
	_ = p.z.Close()
}

// repeat writes an object that says it has size bytes and has n times chunk.
func (p *packer) repeat(kind int, size uint64, chunk string, n int) {
	p.header(kind, size)
	p.z.Reset(p)
	b := []byte(chunk)
	for range n {
		if _, err := p.z.Write(b); err != nil {
			return
		}
	}
	_ = p.z.Close()
}

// offset writes how far before the entry that began at `at` its base is.
func (p *packer) offset(at, base int64) {
	n := uint64(at - base) //nolint:gosec // a base that is later becomes one that is far before
	b := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		b = append([]byte{0x80 | byte(n&0x7f)}, b...)
	}
	p.write(b)
}

// ofsDelta writes a delta of the entry at base, and returns where.
func (p *packer) ofsDelta(base int64, delta []byte) int64 {
	at := p.header(packOfsDelta, uint64(len(delta)))
	p.offset(at, base)
	p.stored(delta)
	return at
}

// refDelta writes a delta of the object base.
func (p *packer) refDelta(base id, delta []byte) {
	p.header(packRefDelta, uint64(len(delta)))
	p.write([]byte(base))
	p.stored(delta)
}

// deltaOf returns a delta from size bytes to n copies of all of them, of 0xffffff bytes
// each at most.
func deltaOf(size, n int) []byte {
	b := binary.AppendUvarint(nil, uint64(size))
	b = binary.AppendUvarint(b, uint64(size*n))
	for range n {
		b = append(b, 0x80|0x70, byte(size), byte(size>>8), byte(size>>16)) // copy from 0
	}
	return b
}

// entry returns an entry of a tree.
func entry(mode, name string, of id) string { return mode + " " + name + "\x00" + string(of) }

// commitOf returns a commit of a tree.
func commitOf(tree id) string {
	const by = "a <a@example.com> 1700000000 +0000\n"
	return "tree " + tree.String() + "\nauthor " + by + "committer " + by + "\nx\n"
}

// A pile is objects that are as they should be, but for what they say.
type pile struct {
	kinds []int
	data  []string
}

func (p *pile) add(kind int, data string) id {
	p.kinds, p.data = append(p.kinds, kind), append(p.data, data)
	return idOf(kind, data)
}

// commit adds a commit of entries, and returns its name.
func (p *pile) commit(entries ...string) id {
	return p.add(packCommit, commitOf(p.add(packTree, strings.Join(entries, ""))))
}

// pack returns what writes p.
func (p *pile) pack() func(w io.Writer) {
	return func(w io.Writer) {
		out := newPacker(w, uint32(len(p.data))) //nolint:gosec // they are in memory
		for i, data := range p.data {
			out.add(p.kinds[i], data)
		}
		out.end()
	}
}

// bytesOf returns what f writes.
func bytesOf(f func(w io.Writer)) []byte {
	var b bytes.Buffer
	f(&b)
	return b.Bytes()
}
