package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
	"fairlead.dev/sources/tree"
)

// TestOnlyContentRefuses: what comes from the wire may be gone with the next try.
func TestOnlyContentRefuses(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	content := ocitest.Pack(t, files)
	d := r.Packed(t, "latest", at(1), content, nil)
	blobs := func(f func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			hit := strings.Contains(r.URL.Path, "/blobs/")
			if hit {
				f(w)
			}
			return hit
		}
	}
	all := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
	}
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request) bool
		kind  fleet.ErrorKind
	}{
		"down":          {all(503), fleet.Unavailable},
		"too many":      {all(429), fleet.Unavailable},
		"forbidden":     {all(403), fleet.Unauthorized},
		"gone":          {all(404), fleet.NotFound},
		"a page":        {func(w http.ResponseWriter, _ *http.Request) bool { _, _ = io.WriteString(w, "<html>"); return true }, fleet.Unavailable},
		"no blob":       {blobs(func(w http.ResponseWriter) { w.WriteHeader(404) }), fleet.NotFound},
		"other content": {blobs(func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte("x"), len(content))) }), fleet.Unavailable},
		"more content":  {blobs(func(w http.ResponseWriter) { _, _ = w.Write(append(bytes.Clone(content), 0)) }), fleet.Unavailable},
		"cut off":       {blobs(func(w http.ResponseWriter) { _, _ = w.Write(content[:10]) }), fleet.Unavailable},
		"another manifest": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/sha256:") {
				return false
			}
			w.Header().Set("Content-Type", ocitest.ManifestType)
			w.Header().Set("Docker-Content-Digest", d)
			_, _ = io.WriteString(w, `{"schemaVersion":2,"config":{"mediaType":"text/plain"}}`)
			return true
		}, fleet.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			repo := open(t, r, oci.Options{})
			registry.Fault(c.fault)
			_, _, err := get(t, repo)
			wantError(t, err, c.kind, "")
			registry.Fault(nil)
			if _, _, err := get(t, repo); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
	t.Run("a slow body", func(t *testing.T) {
		registry.Fault(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/blobs/") {
				return false
			}
			_, _ = w.Write(content[:1])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		})
		defer registry.Fault(nil)
		_, _, err := get(t, open(t, r, oci.Options{Budget: oci.Budget{Timeout: 200 * time.Millisecond}}))
		wantError(t, err, fleet.Unavailable, "does not answer in time")
	})
	t.Run("no answer", func(t *testing.T) {
		registry.Fault(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
		defer registry.Fault(nil)
		_, err := open(t, r, oci.Options{Budget: oci.Budget{ListTime: 50 * time.Millisecond}}).Resolve(t.Context())
		wantError(t, err, fleet.Unavailable, "does not answer in time")
	})
}

// TestHostile: whatever an artifact holds, it is refused with one reason before it harms.
func TestHostile(t *testing.T) {
	r := ocitest.New(t).Repository("fleet")
	reg, link := byte(tar.TypeReg), byte(tar.TypeSymlink)
	entries := func(h ...tar.Header) []byte {
		for i := range h {
			h[i].Mode = 0o644
		}
		return ocitest.PackHeaders(t, h, nil)
	}
	zeros := func(n int64) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.CopyN(z, zero{}, n); err != nil {
			t.Fatal(err)
		}
		_ = z.Close()
		return b.Bytes()
	}
	many := map[string]string{}
	for i := range 200 {
		many[fmt.Sprint("f", i)] = "x"
	}
	for name, c := range map[string]struct {
		content []byte
		change  func(*ocitest.Manifest)
		words   string
	}{
		"no gzip": {content: []byte("hello"), words: "not packed by gzip"},
		"no tar": {content: func() []byte {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(bytes.Repeat([]byte("x"), 1024))
			_ = z.Close()
			return b.Bytes()
		}(), words: "not packed by tar"},
		"a bomb of nothing":   {content: zeros(64 << 20), words: ""},
		"an end at the limit": {content: ocitest.PackHeaders(t, []tar.Header{{Name: "big", Typeflag: reg, Size: 215 * 512}, {Name: "after", Typeflag: reg}}, map[string]string{"big": strings.Repeat("x", 215*512)}), words: "unfolds to more than 8192 bytes"},
		"many files":          {content: ocitest.Pack(t, many), words: "more than 100 files"},
		"many folders":        {content: entries(tar.Header{Name: strings.Repeat("d/", 20) + "f", Typeflag: reg}, tar.Header{Name: strings.Repeat("e/", 20) + "f", Typeflag: reg}, tar.Header{Name: strings.Repeat("f/", 20) + "f", Typeflag: reg}, tar.Header{Name: strings.Repeat("g/", 20) + "f", Typeflag: reg}, tar.Header{Name: strings.Repeat("h/", 20) + "f", Typeflag: reg}), words: "more than 100 files"},
		"many bytes":          {content: ocitest.Pack(t, map[string]string{"a": strings.Repeat("a", 900), "b": strings.Repeat("b", 900), "c": strings.Repeat("c", 900), "d": strings.Repeat("d", 900), "e": strings.Repeat("e", 900)}), words: "more than 4096 bytes"},
		"long names":          {content: entries(tar.Header{Name: strings.Repeat("a", 5000), Typeflag: reg}), words: "more than 4096 bytes"},
		"long targets":        {content: entries(tar.Header{Name: "a", Linkname: strings.Repeat("a", 5000), Typeflag: link}), words: "more than 4096 bytes"},
		"too large":           {change: func(m *ocitest.Manifest) { m.Layers[0].Size = 1 << 40 }, words: "more than"},
		"another digest":      {change: func(m *ocitest.Manifest) { m.Layers[0].Digest = "sha512:" + strings.Repeat("a", 128) }, words: "not one of SHA-256"},
		"an image":            {change: func(m *ocitest.Manifest) { m.Config.MediaType = "application/vnd.oci.image.config.v1+json" }, words: "push it with flux push artifact"},
		"other content":       {change: func(m *ocitest.Manifest) { m.Layers[0].MediaType = "application/vnd.oci.image.layer.v1.tar+gzip" }, words: "not one layer of type"},
		"two layers":          {change: func(m *ocitest.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }, words: "not one layer of type"},
		"an index":            {change: func(m *ocitest.Manifest) { m.MediaType = ocitest.IndexType }, words: "its manifest is of type"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.content == nil {
				c.content = ocitest.Pack(t, files)
			}
			r.Packed(t, "latest", at(1), c.content, c.change)
			_, content, err := get(t, open(t, r, oci.Options{Budget: oci.Budget{Tree: tree.Budget{Files: 100, FileBytes: 1000, Bytes: 4096}}}))
			wantError(t, err, fleet.Invalid, c.words)
			if content != nil {
				t.Error("there is content all the same")
			}
		})
	}
	t.Run("a link out of it", func(t *testing.T) {
		r.Packed(t, "latest", at(1), entries(tar.Header{Name: "a/b", Typeflag: link, Linkname: "../../etc/passwd"}, tar.Header{Name: "c", Typeflag: link, Linkname: "/etc/passwd"}), nil)
		_, content, err := get(t, open(t, r, oci.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a/b", "c"} {
			_, err := fs.ReadFile(content, name)
			wantError(t, err, fleet.Invalid, "link")
		}
	})
	t.Run("bytes without end", func(t *testing.T) {
		r.Packed(t, "latest", at(1), zeros(64<<20), nil)
		_, _, err := get(t, open(t, r, oci.Options{Budget: oci.Budget{Compressed: 1000}}))
		wantError(t, err, fleet.Invalid, "more than 1000")
	})
}

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); b[0] = 'x'; return len(b), nil }

// TestBadEntries: what cannot be in a fleet holds up the folder that it is in, and no other.
func TestBadEntries(t *testing.T) {
	r := ocitest.New(t).Repository("fleet")
	reg, link := byte(tar.TypeReg), byte(tar.TypeSymlink)
	for name, c := range map[string]struct {
		entries []tar.Header
		dir     string // that is held up
		words   string
		read    string // file that cannot be read, where the folder itself is fine
	}{
		"a large file":        {entries: []tar.Header{{Name: "bad/big", Typeflag: reg, Size: 20_000}}, dir: "bad", words: "has 20000 bytes, more than 1000"},
		"deep":                {entries: []tar.Header{{Name: strings.Repeat("d/", 5) + "f", Typeflag: reg}}, dir: "d/d/d/d", words: "more than 4 folders deep"},
		"deep without an end": {entries: []tar.Header{{Name: strings.Repeat("d/", 5000) + "f", Typeflag: reg}}, dir: "d/d/d/d", words: "more than 4 folders deep"},
		"absolute":            {entries: []tar.Header{{Name: "/etc/passwd", Typeflag: reg}}, dir: ".", words: "name is empty"},
		"no name":             {entries: []tar.Header{{Name: "./", Typeflag: link, Linkname: "/etc"}}, dir: ".", words: "name is empty"},
		"out of its folder":   {entries: []tar.Header{{Name: "bad/../../b", Typeflag: reg}}, dir: "bad", words: "a way out"},
		"twice":               {entries: []tar.Header{{Name: "bad/a", Typeflag: reg}, {Name: "./bad/a", Typeflag: reg}}, dir: "bad", words: "2 entries"},
		"through a link":      {entries: []tar.Header{{Name: "bad/a", Typeflag: link, Linkname: "/etc"}, {Name: "bad/a/b", Typeflag: reg}}, dir: "bad", words: "2 entries"},
		"a folder and a link": {entries: []tar.Header{{Name: "bad/a/b", Typeflag: reg}, {Name: "bad/a", Typeflag: link, Linkname: "/etc"}}, dir: "bad", words: "2 entries"},
		"a Git directory":     {entries: []tar.Header{{Name: "bad/.GIT/config", Typeflag: reg}}, dir: "bad", words: "stands for a Git directory"},
		"a control code":      {entries: []tar.Header{{Name: "bad/a\x1b[2J", Typeflag: reg}}, dir: "bad", words: "control character"},
		"a hard link":         {entries: []tar.Header{{Name: "bad/a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}}, read: "bad/a", words: "special file"},
		"a device":            {entries: []tar.Header{{Name: "bad/a", Typeflag: tar.TypeBlock}}, read: "bad/a", words: "special file"},
		"a link out of it":    {entries: []tar.Header{{Name: "bad/a", Typeflag: link, Linkname: "../../etc/passwd"}}, read: "bad/a", words: "points out of"},
		"a link to a root":    {entries: []tar.Header{{Name: "bad/a", Typeflag: link, Linkname: "/etc/passwd"}}, read: "bad/a", words: "only relative links"},
	} {
		t.Run(name, func(t *testing.T) {
			contents := map[string]string{"good/a": "b", "bad/big": strings.Repeat("x", 20_000)}
			r.Packed(t, "latest", at(1), ocitest.PackHeaders(t, append(c.entries, tar.Header{Name: "good/a", Typeflag: reg, Size: 1}), contents), nil)
			_, content, err := get(t, open(t, r, oci.Options{Budget: oci.Budget{Tree: tree.Budget{FileBytes: 1000, Depth: 4, Files: 100, Bytes: 15_000}}}))
			if err != nil {
				t.Fatal(err)
			}
			judged := content.(sources.Judged)
			if b, err := fs.ReadFile(content, "good/a"); err != nil || string(b) != "b" || len(judged.Bad("good")) != 0 {
				t.Errorf("what is beside it is held up: %v, %v", err, judged.Bad("good"))
			}
			if c.read != "" {
				_, err := fs.ReadFile(content, c.read)
				if err == nil || !strings.Contains(err.Error(), c.words) {
					t.Errorf("got %v, want %q", err, c.words)
				}
				return
			}
			if bad := judged.Bad(c.dir); len(bad) == 0 || !strings.Contains(bad[0].Err.Error(), c.words) {
				t.Errorf("got %v, want %q", bad, c.words)
			}
		})
	}
}
