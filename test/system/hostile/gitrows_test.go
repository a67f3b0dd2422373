package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// content is one commit whose objects are what they say they are.
type content struct {
	make func(p *pile) id
	file string // to read; "": the whole revision is refused
	want string
}

// ofPacks are the rows of what a server of Git, or who sits between, sends.
func ofPacks() []row {
	whole := bytesOf(good(strings.Repeat("bad ", 1000)).pack)
	tip := good(strings.Repeat("bad ", 1000)).tip
	raw := func(b []byte) func(w io.Writer) { return func(w io.Writer) { _, _ = w.Write(b) } }
	changed := func(at int, to byte) func(w io.Writer) {
		b := bytes.Clone(whole)
		b[at] = to
		return raw(b)
	}
	written := func(n uint32, f func(p *packer)) func(w io.Writer) {
		return func(w io.Writer) {
			p := newPacker(w, n)
			f(p)
			p.end()
		}
	}
	rows := make([]row, 0, 40)
	add := func(name, want string, r *repository) {
		if len(r.tip) == 0 {
			r.tip = tip
		}
		rows = append(rows, row{"pack", name, want, func(t *testing.T) ([]string, bool) {
			err, others := followed(t, r, "")
			return one(err), others
		}})
	}
	zeros := strings.Repeat("\x00", 1<<20)
	for name, c := range map[string]struct {
		want string
		pack func(w io.Writer)
	}{
		"4 GiB that say so":         {"too large to be read", written(1, func(p *packer) { p.repeat(packBlob, 4<<30, zeros, 4096) })},
		"1 GiB that says 1 byte":    {"exceeds declared size", written(1, func(p *packer) { p.repeat(packBlob, 1, zeros, 1024) })},
		"nothing that says 100 MiB": {"has 0 bytes instead of", written(1, func(p *packer) { p.repeat(packBlob, 100<<20, "", 0) })},
		"a size of 64 bits":         {"overflow", written(1, func(p *packer) { p.repeat(packBlob, 1<<63, "x", 1) })},
		"a size without end":        {"overflow", written(1, func(p *packer) { p.write(bytes.Repeat([]byte{0xbf}, 1<<20)) })},
		"all that may be unfolded, in files of 15 MiB": {"unfolds to more than", written(20, func(p *packer) {
			for i := range 20 {
				p.repeat(packBlob, 15<<20, strings.Repeat(fmt.Sprintf("%15d\n", i), 1<<16), 15)
			}
		})},
		"4 billion objects": {"the pack has 4294967295 objects", written(1<<32-1, func(*packer) {})},
		"249,999 deltas of one base": {"unfolds to more than", written(250_000, func(p *packer) {
			base := strings.Repeat("x", 1000)
			at := p.at
			p.add(packBlob, base)
			for range 249_999 {
				d := deltaOf(len(base), 1)
				here := p.header(packOfsDelta, uint64(len(d)))
				p.offset(here, at)
				p.stored(d)
			}
		})},
		"a delta that makes 4 GiB": {"a delta makes 4404019200 bytes", written(2, func(p *packer) {
			at := p.at
			p.repeat(packBlob, 15<<20, zeros, 15)
			p.ofsDelta(at, deltaOf(15<<20, 280))
		})},
		"a chain of deltas that doubles up to 8 MiB": {"unfolds to more than", written(140, func(p *packer) {
			at := p.at
			p.add(packBlob, "xx")
			for i := range 22 {
				at = p.ofsDelta(at, deltaOf(2<<i, 2))
			}
			for range 117 {
				at = p.ofsDelta(at, deltaOf(2<<22, 1))
			}
		})},
		"100,000 deltas, each of the one before": {"is not in the repository", written(100_001, func(p *packer) {
			at := p.at
			p.add(packBlob, "xxxx")
			for range 100_000 {
				at = p.ofsDelta(at, deltaOf(4, 1))
			}
		})},
		"a delta of itself": {"invalid", written(1, func(p *packer) { p.ofsDelta(p.at, deltaOf(4, 1)) })},
		"a delta of what comes after it": {"overflow", written(2, func(p *packer) {
			p.ofsDelta(p.at+20, deltaOf(4, 1))
			p.add(packBlob, "xxxx")
		})},
		"a delta of what is before the pack": {"invalid", written(1, func(p *packer) { p.ofsDelta(-1<<40, deltaOf(4, 1)) })},
		"two deltas of each other": {"without their base", written(2, func(p *packer) {
			p.refDelta(id(strings.Repeat("a", 20)), deltaOf(4, 1))
			p.refDelta(id(strings.Repeat("b", 20)), deltaOf(4, 1))
		})},
		"100,000 deltas of what never comes": {"without their base", written(100_000, func(p *packer) {
			for i := range 100_000 {
				p.refDelta(id(fmt.Sprintf("%020d", i)), deltaOf(4, 1))
			}
		})},
		"a delta that copies from beyond its base": {"invalid delta", written(2, func(p *packer) {
			at := p.at
			p.add(packBlob, "xxxx")
			p.ofsDelta(at, append(binary.AppendUvarint(binary.AppendUvarint(nil, 4), 1<<20), 0x80|0x0f|0x70, 255, 255, 255, 255, 255, 255, 15))
		})},
		"a delta that makes more than it says": {"invalid delta", written(2, func(p *packer) {
			at := p.at
			p.add(packBlob, "xxxx")
			d := binary.AppendUvarint(binary.AppendUvarint(nil, 4), 4)
			p.ofsDelta(at, append(d, bytes.Repeat([]byte{0x90, 4}, 10_000)...))
		})},
		"a delta of no bytes": {"invalid delta", written(2, func(p *packer) {
			at := p.at
			p.add(packBlob, "xxxx")
			p.ofsDelta(at, nil)
		})},
		"an instruction that is reserved": {"delta", written(2, func(p *packer) {
			at := p.at
			p.add(packBlob, "xxxx")
			p.ofsDelta(at, []byte{4, 4, 0, 0, 0, 0})
		})},
		"a type that is reserved": {"type", written(1, func(p *packer) { p.add(5, "x") })},
		"no type":                 {"type", written(1, func(p *packer) { p.add(0, "x") })},
		"noise for zlib": {"zlib", written(1, func(p *packer) {
			p.header(packBlob, 1000)
			p.write(bytes.Repeat([]byte("noise"), 1000))
		})},
		"a wrong checksum":              {"checksum", changed(len(whole)-1, whole[len(whole)-1]^1)},
		"a byte that changed":           {"", changed(len(whole)/2, whole[len(whole)/2]^1)},
		"another version":               {"version", changed(7, 9)},
		"another signature":             {"signature", changed(0, 'B')},
		"less than it counts":           {"EOF", raw(append(append([]byte("PACK\x00\x00\x00\x02"), 0, 0, 1, 0), whole[12:len(whole)-20]...))},
		"half of it":                    {"EOF", raw(whole[:len(whole)/2])},
		"its first ten bytes":           {"EOF", raw(whole[:10])},
		"nothing":                       {"", raw(nil)},
		"a pack of nothing":             {"is not in the repository", written(0, func(*packer) {})},
		"a good pack of another commit": {"is not in the repository", good("another").pack},
		"zeros without end":             {"", func(w io.Writer) { endless(w, zeros) }},
	} {
		add(name, c.want, &repository{pack: c.pack})
	}
	add("a million objects", "more than 250000", many(1_000_000))
	add("as many objects as are let in", "a way out of the folder", many(250_000))
	refLine := func(name string) string { return line(tip.String() + " " + name + "\n") }
	first := service + line(tip.String()+" HEAD\x00symref=HEAD:refs/heads/main ofs-delta\n")
	for name, c := range map[string]struct{ want, begin, again string }{
		"refs without end":           {"too long", first, ""},
		"one ref without end":        {"too long", first, refLine("refs/heads/main")},
		"refs with names of 60 KB":   {"too long", first, refLine("refs/heads/" + strings.Repeat("a", 60_000))},
		"capabilities without end":   {"", service + line(tip.String()+" HEAD\x00"+strings.Repeat("a=b ", 10_000)+"\n"), line(tip.String() + " refs/heads/main\x00" + strings.Repeat("c ", 10_000) + "\n")},
		"shallow lines without end":  {"too long", first + refLine("refs/heads/main"), line("shallow " + tip.String() + "\n")},
		"lines that are no refs":     {"", first, line("noise\n")},
		"lengths that are no number": {"", service, "zzzz"},
		"a greeting without end":     {"", "", line("# hello\n")},
	} {
		add(name, c.want, &repository{refs: func(w io.Writer) {
			_, _ = io.WriteString(w, c.begin)
			if c.again != "" {
				endless(w, c.again)
				return
			}
			for i := 0; ; i++ {
				if _, err := io.WriteString(w, refLine(fmt.Sprintf("refs/heads/b%09d", i))); err != nil {
					return
				}
			}
		}})
	}
	for name, c := range map[string]struct{ want, greeting, begin, again string }{
		"refs without end":               {"too long", greeting2, "", refLine("refs/heads/main")},
		"names of 60 KB without end":     {"too long", greeting2, "", refLine("refs/heads/" + strings.Repeat("a", 60_000))},
		"attributes without end":         {"too long", greeting2, "", line(tip.String() + " HEAD" + strings.Repeat(" symref-target:refs/heads/main", 2_000) + "\n")},
		"capabilities without end":       {"too long", "", version2 + line("ls-refs\n"), line("x=y\n")},
		"lines that are no refs":         {"a line that is none", greeting2, line("noise\n"), ""},
		"a tag of no hash":               {"a line that is none", greeting2, line(tip.String() + " refs/tags/v1 peeled:noise\n"), ""},
		"lengths that are no number":     {"invalid pkt-len", greeting2, "zzzz", ""},
		"an end before the end":          {"EOF", greeting2, refLine("refs/heads/main"), ""},
		"no lists of refs":               {"lists no refs", version2 + line("fetch\n") + flush, "", ""},
		"an error that moves a screen":   {"gone", greeting2, line("ERR \x1b[2Jgone\r\nfishing " + strings.Repeat("x", 50_000) + "\n"), ""},
		"names of objects by other sums": {"SHA-256", version2 + line("ls-refs\n") + line("object-format=sha256\n") + flush, "", ""},
	} {
		say := func(w io.Writer) {
			_, _ = io.WriteString(w, c.begin)
			if c.again != "" {
				endless(w, c.again)
			}
		}
		r := &repository{all: say, refs: say}
		if c.greeting != "" {
			r.refs = func(w io.Writer) { _, _ = io.WriteString(w, c.greeting) }
		}
		add("in version 2, "+name, c.want, r)
	}
	for name, c := range map[string]struct{ want, begin, again string }{
		"NAKs without end":             {"before the pack", "", line("NAK\n")},
		"ACKs without end":             {"before the pack", "", line("ACK " + tip.String() + " continue\n")},
		"an error that moves a screen": {"", line("ERR \x1b[2Jgone\r\nfishing " + strings.Repeat("x", 50_000) + "\n"), ""},
	} {
		add(name, c.want, &repository{all: func(w io.Writer) {
			_, _ = io.WriteString(w, c.begin)
			if c.again != "" {
				endless(w, c.again)
			}
		}})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows
}

// endless writes text until nobody listens.
func endless(w io.Writer, text string) {
	text = strings.Repeat(text, 1+(64<<10)/len(text))
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// many has a pack of n objects, most of which nothing names.
func many(n int) *repository {
	var p pile
	tip := p.commit(entry("100644", "..", p.add(packBlob, "x")))
	return &repository{tip: tip, pack: func(w io.Writer) {
		out := newPacker(w, uint32(n)) //nolint:gosec // a few
		for i := range n - len(p.data) {
			data := fmt.Appendf(nil, "%08d", i)
			out.header(packBlob, uint64(len(data)))
			out.stored(data)
		}
		for i, data := range p.data {
			out.add(p.kinds[i], data)
		}
		out.end()
	}}
}
