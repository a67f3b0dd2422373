package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// FuzzUnpack: whatever an archive holds, it is refused, or is a tree within the budget whose
// names are names.
func FuzzUnpack(f *testing.F) {
	for _, h := range [][]tar.Header{
		{{Name: "a/b", Typeflag: tar.TypeReg}, {Name: "a/b", Typeflag: tar.TypeReg}},
		{{Name: "../a", Typeflag: tar.TypeReg}, {Name: "/b/.GIT/", Typeflag: tar.TypeDir}},
		{{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "../b"}, {Name: "a/b", Typeflag: tar.TypeLink, Linkname: "c"}},
		{{Name: strings.Repeat("a/", 200), Typeflag: tar.TypeDir}, {Name: "x\x1b", Typeflag: tar.TypeChar}},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := range h {
			_ = w.WriteHeader(&h[i])
		}
		_ = w.Close()
		f.Add(b.Bytes(), ".")
		f.Add(b.Bytes(), "a")
	}
	budget := tree.Budget{Files: 50, Depth: 4, Bytes: 4096, FileBytes: 1024}
	f.Fuzz(func(t *testing.T, data []byte, begin string) {
		if !fs.ValidPath(begin) {
			begin = "."
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(data)
		_ = z.Close()
		o, err := unpack(b.Bytes(), budget, begin, func(string) ([]byte, bool) { return nil, false })
		if err != nil {
			if fleet.KindOf(err) != fleet.Invalid {
				t.Errorf("got %v", err)
			}
			return
		}
		id, ok := o.folder(begin)
		if !ok {
			return
		}
		total, entries := 0, 0
		content := tree.NewIndex(o, budget).Lazy(id)
		_ = fs.WalkDir(content, ".", func(name string, d fs.DirEntry, err error) error {
			if entries++; !fs.ValidPath(name) || strings.Contains("/"+strings.ToLower(name)+"/", "/.git/") || strings.Count(name, "/") > budget.Depth {
				t.Errorf("%q is given out", name)
			}
			if err == nil && d.Type().IsRegular() {
				if file, err := fs.ReadFile(content, name); err == nil {
					total += len(file)
				}
			}
			return nil
		})
		if total > int(budget.Bytes) || entries > budget.Files+1 {
			t.Errorf("%d entries with %d bytes", entries, total)
		}
	})
}
