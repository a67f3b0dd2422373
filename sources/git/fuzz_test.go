package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"fairlead.dev/sources/tree"
)

// packOf returns a pack of entries, each with its header and compressed content.
func packOf(entries ...[2]string) []byte {
	b := []byte{'P', 'A', 'C', 'K', 0, 0, 0, 2, 0, 0, 0, byte(len(entries))}
	for _, e := range entries {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		_, _ = w.Write([]byte(e[1]))
		_ = w.Close()
		b = append(append(b, e[0]...), z.Bytes()...)
	}
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// FuzzPack: whatever a pack has, it stays within the memory budget, and its objects can be
// read.
func FuzzPack(f *testing.F) {
	f.Add(packOf())
	f.Add(packOf([2]string{"\x34", "blob"}))
	f.Add(packOf([2]string{"\x34", "blob"}, [2]string{"\x67\x0d", "\x04\x04\x90\x04\x00\x00\x00"}))
	f.Add(packOf([2]string{"\x77" + strings.Repeat("a", 20), "\x04\x04\x90\x04\x00\x00\x00"}, [2]string{"\x34", "blob"}))
	f.Add(packOf([2]string{"\xa1\x02", "100644 a\x00aaaaaaaaaaaaaaaaaaaaaaaaaa"}, [2]string{"\x96\x03", "tree " + emptyTree + "\n\n"}, [2]string{"\x44", "tag "}))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := Budget{Unpacked: 64 << 10, Objects: 50, Tree: tree.Budget{Files: 100}}.withDefaults()
		s := newStore(b.Tree)
		_ = unpack(bytes.NewReader(data), s, b)
		if s.size() > b.Unpacked || len(s.objects) > b.Objects {
			t.Errorf("%d objects of %d bytes are in memory, want %d of %d at most", len(s.objects), s.size(), b.Objects, b.Unpacked)
		}
		for h := range s.objects {
			_, _ = s.commitOf(h)
			if _, err := s.index.Tree(digestOf(h)); err == nil {
				_, _ = s.entries(h)
			}
		}
	})
}

// FuzzTree: the names in an accepted tree stay within it, and the tree can be walked.
func FuzzTree(f *testing.F) {
	const blob, sub = "\x45\xb9\x83\xbe\x36\xb7\x3c\x0c\x32\x88\x94\x0b\x8b\x41\x6b\xf6\x6b\xcc\x3b\x19", "\x4b\x82\x5d\xc6\x42\xcb\x6e\xb9\xa0\x60\xe5\x4b\xf8\xd6\x92\x88\xfb\xee\x49\x04"
	for _, e := range []string{"100644 a", "100644 ..", "40000 .git", "100644 a/b", "120000 l", "160000 m", "100644 ", "7777777 a", "x"} {
		of := blob
		if strings.HasPrefix(e, "4") {
			of = sub
		}
		f.Add([]byte(e+"\x00"+of), "a")
		f.Add([]byte("100644 0\x00"+blob+e+"\x00"+of), "../a")
	}
	f.Fuzz(func(t *testing.T, data []byte, target string) {
		s := newStore(tree.Budget{Files: 50, Bytes: 4096})
		for _, content := range []string{target, "x"} {
			h := s.put(plumbing.BlobObject, []byte(content))
			data = bytes.ReplaceAll(data, []byte(blob), h[:])
		}
		tr, err := s.index.Tree(digestOf(s.put(plumbing.TreeObject, data)))
		if err != nil {
			return
		}
		n := 0
		err = fs.WalkDir(tr, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // only that file is reported
			}
			if n++; n > 51 {
				t.Error("it has more than its budget")
			}
			if base := d.Name(); !fs.ValidPath(name) || strings.EqualFold(base, ".git") || strings.ContainsAny(base, "\\\x00\x1b\n") {
				t.Errorf("%q is let in", name)
			}
			_, _ = fs.ReadFile(tr, name)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// FuzzAnswer: what comes before a pack is passed on unchanged, or ends with errLong.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"0008NAK\nPACK", "0000", "0035shallow 0123456789abcdef0123456789abcdef01234567\n00000008NAK\n0005\x01", "zzzz", "0001", "9", "000", "0038", "0038ACK 0123456789abcdef0123456789abcdef01234567 common\n"} {
		f.Add([]byte(s), 3)
		f.Add([]byte(strings.Repeat(s, 100)), 100)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		p := newPrelude(bytes.NewReader(data))
		var got []byte
		buf := make([]byte, 1+max(size, -size)%5000)
		for {
			n, err := p.Read(buf)
			got = append(got, buf[:n]...)
			if errors.Is(err, errLong) && p.used > maxPrelude {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("it ends with %v", err)
				}
				break
			}
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%q becomes %q", data, got)
		}
	})
}

// FuzzRefs: whatever a server says of its refs, in any version of the protocol, each parsed
// ref is in the answer, and a partial list is known as one.
func FuzzRefs(f *testing.F) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	const v2 = "000eversion 2\n0010ls-refs=unborn\n0017object-format=sha1\n0000"
	const ref = "003e" + hash + " refs/heads/main\n"
	const head = "0052" + hash + " HEAD symref-target:refs/heads/main peeled:x\n"
	for _, answer := range []string{ref + "0000", "0000", head + ref + "0000", "0063" + hash + " refs/tags/v1 peeled:" + hash + "\n0000", "000cERR what", "0005\n0000", ref, "zzzz", "0001", "0031unborn HEAD symref-target:refs/heads/main\n0000"} {
		for _, greeting := range []string{v2, "001e# service=git-upload-pack\n0000" + v2, "000eversion 2\n0000", "000eversion 1\n0000", "003f" + hash + " refs/heads/main\x00\n0000", "0000", "000e"} {
			f.Add([]byte(greeting), []byte(answer))
		}
	}
	f.Fuzz(func(t *testing.T, greeting, answer []byte) {
		for _, prefixes := range [][]string{nil, {"HEAD", "refs/heads/main"}} {
			said, asked := greeting, false
			got, err := listed(bytes.NewReader(greeting), prefixes, func(request []byte) (io.ReadCloser, error) {
				said, asked = answer, true
				if !bytes.HasSuffix(request, []byte("0000")) {
					t.Errorf("the request has no end: %q", request)
				}
				return io.NopCloser(bytes.NewReader(answer)), nil
			})
			if err != nil {
				continue
			}
			if got.AdvRefs == nil || got.part != (asked && len(prefixes) > 0) {
				t.Fatalf("%q and %q give %+v", greeting, answer, got)
			}
			for name, hash := range got.References {
				if !bytes.Contains(said, []byte(name)) || asked && !bytes.Contains(said, []byte(hash.String()+" "+name)) {
					t.Errorf("ref %q at %s is in neither %q nor %q", name, hash, greeting, answer)
				}
			}
			if _, _, _, err := find(got.AdvRefs, ""); err == nil && got.Head == nil {
				t.Error("there is no HEAD, and it was found")
			}
		}
	})
}

// FuzzSigned: signed content and signature are split in one way, and nothing is lost: who
// verified the one part sees all the rest.
func FuzzSigned(f *testing.F) {
	const header = "tree " + emptyTree + "\nauthor a <a@b> 1 +0000\n"
	for _, s := range []string{
		header + "\nx\n", header + "gpgsig -----BEGIN SSH SIGNATURE-----\n abc\n -----END SSH SIGNATURE-----\n\nx\n",
		header + "gpgsig a\ngpgsig b\n\nx", header + "gpgsig-sha256 a\n b\n\nx", "object a\ntag v1\n\nx\n-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		content, signature := signedTag(raw)
		if string(content)+signature != string(raw) {
			t.Errorf("the tag %q is taken apart as %q and %q", raw, content, signature)
		}
		content, signature, err := signed(raw)
		if err != nil {
			return
		}
		header, body, _ := bytes.Cut(raw, []byte("\n\n"))
		kept, rest, _ := bytes.Cut(content, []byte("\n\n"))
		if !bytes.Equal(body, rest) && !bytes.HasPrefix(content, []byte("\n")) {
			t.Errorf("the message %q becomes %q", body, rest)
		}
		if !bytes.Contains(header, []byte("gpgsig")) && (signature != "" || !bytes.Equal(content, raw)) {
			t.Errorf("%q is taken for signed: %q, %q", raw, content, signature)
		}
		for line := range bytes.SplitSeq(kept, []byte("\n")) {
			if bytes.HasPrefix(line, []byte("gpgsig ")) {
				t.Errorf("a signature is in what was signed: %q", kept)
			}
		}
	})
}
