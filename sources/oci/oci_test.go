package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
	"fairlead.dev/sources/tree"
	"fairlead.dev/test/kube/binaries"
)

// at returns the nth of the moments at which artifacts are made.
func at(n int) time.Time { return time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC) }

var files = map[string]string{"fleet.yaml": "a: b\n", "clusters/prod/eu-1/kustomization.yaml": "resources: []\n"}

func open(t *testing.T, r ocitest.Repository, o oci.Options) *oci.Repository {
	t.Helper()
	o.URL = r.OCI()
	repo, err := oci.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// get returns the newest content of repo.
func get(t *testing.T, repo *oci.Repository) (fleet.Revision, sources.Tree, error) {
	t.Helper()
	rev, err := repo.Resolve(t.Context())
	if err != nil {
		return rev, nil, err
	}
	content, err := repo.Fetch(t.Context(), rev)
	return rev, content, err
}

func wantError(t *testing.T, err error, kind fleet.ErrorKind, words string) {
	t.Helper()
	if fleet.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), words) {
		t.Errorf("got %v of kind %q, want %q of kind %q", err, fleet.KindOf(err), words, kind)
	}
}

// TestFollow reads what was pushed, from a registry in this process and from the one of
// crane.
func TestFollow(t *testing.T) {
	for name, registry := range map[string]func(t *testing.T) string{
		"in memory": func(t *testing.T) string { return ocitest.New(t).URL },
		"crane":     craneRegistry,
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.Repository{URL: registry(t), Name: "team/fleet"}
			key, public := ocitest.NewKey(t)
			keys, err := oci.NewKeys(map[string][]byte{"cosign.pub": public})
			if err != nil {
				t.Fatal(err)
			}
			one := r.Artifact(t, "main", at(1), files, nil)
			r.Sign(t, one, key, nil)
			repo := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify})
			rev, content, err := get(t, repo)
			if err != nil || rev != (fleet.Revision{Ref: "main", Digest: one}) {
				t.Fatalf("got %v, %v", rev, err)
			}
			for name, want := range files {
				if b, err := fs.ReadFile(content, name); err != nil || string(b) != want {
					t.Errorf("%s: got %q, %v", name, b, err)
				}
			}
			two := r.Artifact(t, "main", at(2), map[string]string{"./x/": "", "./x/a.yaml": "c: d\n"}, nil)
			r.Bundle(t, two, key, "https://sigstore.dev/cosign/sign/v1")
			next, content, err := get(t, repo)
			if err != nil || next.Digest != two {
				t.Fatalf("got %v, %v", next, err)
			}
			if err := repo.Continues(t.Context(), rev, next); err != nil {
				t.Error(err)
			}
			if _, err := fs.Stat(content, "x/a.yaml"); err != nil {
				t.Error(err)
			}
			if _, err := repo.Fetch(t.Context(), rev); err != nil {
				t.Errorf("the one before: %v", err)
			}
			_, _, err = get(t, open(t, r, oci.Options{Ref: "other"}))
			wantError(t, err, fleet.NotFound, "other")
		})
	}
}

// craneRegistry runs the registry that crane has.
func craneRegistry(t *testing.T) string {
	crane, err := binaries.Path("crane")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), crane, "registry", "serve", "--address", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said []byte
	for b := make([]byte, 256); ; {
		n, err := out.Read(b)
		said = append(said, b[:n]...)
		if m := regexp.MustCompile(`serving on port (\d+)`).FindSubmatch(said); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://127.0.0.1:" + string(m[1])
		}
		if err != nil {
			t.Fatalf("crane: %v: %s", err, said)
		}
	}
}

// TestRefs: tags, digests and ranges.
func TestRefs(t *testing.T) {
	r := ocitest.New(t).Repository("fleet")
	digests := map[string]string{}
	for i, tag := range []string{"v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0-rc.1", "latest", "main-7", "main-9"} {
		digests[tag] = r.Artifact(t, tag, at(i), files, nil)
	}
	r.Sign(t, digests["latest"], func() ed25519.PrivateKey { _, k, _ := ed25519.GenerateKey(nil); return k }(), nil)
	for ref, want := range map[string]string{
		"": "latest", "v1.2.0": "v1.2.0", "semver:1.x": "v1.10.0", "semver:>=2.0.0-0": "v2.0.0-rc.1", "main-*": "main-9", "*": "v2.0.0-rc.1",
		digests["main-7"]: digests["main-7"],
	} {
		rev, _, err := get(t, open(t, r, oci.Options{Ref: ref}))
		if err != nil || rev.Ref != want || digests[want] != "" && rev.Digest != digests[want] {
			t.Errorf("%q: got %v, %v", ref, rev, err)
		}
	}
	_, _, err := get(t, open(t, r, oci.Options{Ref: "semver:3.x"}))
	wantError(t, err, fleet.NotFound, "matches")
	for ref, words := range map[string]string{"semver:x.y.z.": "not a range", "a b": "neither a tag nor a digest", "sha256:abc": "neither a tag nor a digest", "[*": "not a pattern"} {
		_, err := oci.New(oci.Options{URL: r.OCI(), Ref: ref})
		wantError(t, err, fleet.Invalid, words)
	}
	for url, words := range map[string]string{
		"oci://h/a:v1": "--ref v1", "oci://h/a@sha256:1": "--ref sha256:1", "oci://u:p@h/a": "has a user", "oci://h": "oci://HOST/REPOSITORY", "oci://h/A": "lower case", "https://h/a": "begin with",
	} {
		_, err := oci.New(oci.Options{URL: url})
		wantError(t, err, fleet.Invalid, words)
		if strings.Contains(fmt.Sprint(err), "u:p") {
			t.Errorf("shows a password: %v", err)
		}
	}
	_, _, err = get(t, open(t, r, oci.Options{Ref: "semver:1.x", Budget: oci.Budget{Tags: 3}}))
	wantError(t, err, fleet.Exhausted, "more than 3")
}

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

// TestKept: older artifacts stay at hand while there is room for them.
func TestKept(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	for size, want := range map[int]int{100: 0, 600: 1} {
		repo := open(t, r, oci.Options{Budget: oci.Budget{Tree: tree.Budget{Bytes: 1000}}})
		first := fleet.Revision{}
		for i := range 2 {
			r.Artifact(t, "latest", at(i), map[string]string{"a": strings.Repeat(fmt.Sprint(i), size)}, nil)
			rev, _, err := get(t, repo)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = rev
			}
		}
		registry.Requests()
		if _, err := repo.Fetch(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(registry.Requests(), "\n"), "/blobs/"); got != want {
			t.Errorf("of %d bytes each: the older one is fetched %d times again, want %d", size, got, want)
		}
	}
}

// TestPath: a fleet in a folder of an artifact.
func TestPath(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), map[string]string{
		"teams/a/fleet.yaml": "a", "teams/a/clusters/x/c.yaml": "b", "other/big": strings.Repeat("x", 2000), "docs/a.md": "", "file": "",
	}, nil)
	budget := oci.Budget{Tree: tree.Budget{Bytes: 1000}}
	_, content, err := get(t, open(t, r, oci.Options{Path: "teams/a", Budget: budget}))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(content, "fleet.yaml"); err != nil || string(b) != "a" {
		t.Errorf("got %q, %v", b, err)
	}
	_, _, err = get(t, open(t, r, oci.Options{Budget: budget}))
	wantError(t, err, fleet.Invalid, "more than 1000 bytes")
	for _, path := range []string{"teams/b", "file", "teams/a/fleet.yaml", "file/a"} {
		_, _, err := get(t, open(t, r, oci.Options{Path: path}))
		wantError(t, err, fleet.Invalid, "there is no folder \""+path+"\" in the artifact, which --path names")
	}
	for _, path := range []string{"/a", "a/", "../a", "a//b"} {
		_, err := oci.New(oci.Options{URL: r.OCI(), Path: path})
		wantError(t, err, fleet.Invalid, "is no folder in an artifact")
	}
	for path, want := range map[string]string{"": ".", "teams/a": "teams/a", "teams/a/clusters/x": "teams/a", "teams/a/typo": "teams/a", "teams": ".", "docs": ".", "typo": "."} {
		repo := open(t, r, oci.Options{Path: path})
		rev, err := repo.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		root, err := repo.Root(t.Context(), rev, []string{"fleet.yaml", "clusters"})
		if err != nil || root != want {
			t.Errorf("%q: got %q, %v; want %q", path, root, err, want)
		}
		content, err := repo.Fetch(t.Context(), rev)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix("teams/a/clusters/x/c.yaml", strings.TrimPrefix(want+"/", "./"))
		if b, err := fs.ReadFile(content, name); err != nil || string(b) != "b" {
			t.Errorf("%q: %s: got %q, %v", path, name, b, err)
		}
	}
}

// TestSignatures: with keys, what none of them signed is not even fetched.
func TestSignatures(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	ours, public := ocitest.NewKey(t)
	theirs, _ := ocitest.NewKey(t)
	_, edwards, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public, "b.pub": ocitest.Public(t, edwards)})
	if err != nil {
		t.Fatal(err)
	}
	const sign = "https://sigstore.dev/cosign/sign/v1"
	other := r.Artifact(t, "other", at(1), map[string]string{"x": "y"}, nil)
	for name, c := range map[string]struct {
		sign func(digest string)
		good bool
	}{
		"unsigned":       {func(string) {}, false},
		"signed":         {func(d string) { r.Sign(t, d, ours, nil) }, true},
		"by Ed25519":     {func(d string) { r.Sign(t, d, edwards, nil) }, true},
		"by others":      {func(d string) { r.Sign(t, d, theirs, nil) }, false},
		"of another one": {func(d string) { r.Sign(t, d, ours, r.Payload(other)) }, false},
		"of another kind": {func(d string) {
			r.Sign(t, d, ours, []byte(strings.Replace(string(r.Payload(d)), "cosign container", "atomic container", 1)))
		}, false},
		"a bundle": {func(d string) { r.Bundle(t, d, ours, sign) }, true},
		"a bundle of another one": {func(d string) {
			r.Bundle(t, other, ours, sign)
			registry.Move("fleet", strings.Replace(d, ":", "-", 1), registryTag(registry, "fleet", strings.Replace(other, ":", "-", 1)))
		}, false},
		"a bundle by others":       {func(d string) { r.Bundle(t, d, theirs, sign) }, false},
		"a bundle about something": {func(d string) { r.Bundle(t, d, ours, "https://slsa.dev/provenance/v1") }, false},
		"a signature moved": {func(d string) {
			r.Sign(t, other, ours, nil)
			registry.Move("fleet", tagOf(d), registryTag(registry, "fleet", tagOf(other)))
		}, false},
		"others', and then a bundle": {func(d string) { r.Sign(t, d, theirs, nil); r.Bundle(t, d, ours, sign) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := r.Artifact(t, "latest", at(1), map[string]string{"name": name}, nil)
			c.sign(d)
			registry.Requests()
			_, _, err := get(t, open(t, r, oci.Options{Verify: keys.Verify}))
			if c.good {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, fleet.Invalid, "cosign sign")
			if !errors.Is(err, sources.ErrUntrusted) {
				t.Errorf("another key may be good for it: %v", err)
			}
			content := layerOf(t, r, d)
			for _, req := range registry.Requests() {
				if strings.Contains(req, content) {
					t.Errorf("the content was fetched: %s", req)
				}
			}
		})
	}
	t.Run("a registry that hides signatures", func(t *testing.T) {
		d := r.Artifact(t, "latest", at(1), files, nil)
		r.Sign(t, d, ours, nil)
		registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
			hit := strings.HasSuffix(req.URL.Path, ".sig")
			if hit {
				w.WriteHeader(503)
			}
			return hit
		})
		defer registry.Fault(nil)
		_, _, err := get(t, open(t, r, oci.Options{Verify: keys.Verify}))
		wantError(t, err, fleet.Unavailable, "signatures")
	})
	t.Run("a list of signatures without end", func(t *testing.T) {
		r.Artifact(t, "latest", at(1), map[string]string{"never": "signed"}, nil)
		pages := 0
		registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
			hit := strings.Contains(req.URL.Path, "/referrers/")
			if hit {
				pages++
				w.Header().Set("Content-Type", ocitest.IndexType)
				w.Header().Set("Link", "<"+req.URL.Path+">; rel=\"next\"")
				_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":%q,"manifests":[]}`, ocitest.IndexType)
			}
			return hit
		})
		defer registry.Fault(nil)
		_, _, err := get(t, open(t, r, oci.Options{Verify: keys.Verify, Budget: oci.Budget{Timeout: 20 * time.Second}}))
		wantError(t, err, fleet.Invalid, "it has no signature")
		if pages != 32 {
			t.Errorf("%d pages were read", pages)
		}
	})
	t.Run("a key that is withdrawn", func(t *testing.T) {
		var mu sync.Mutex
		withdrawn := false
		verify := func(payload, signature []byte) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if withdrawn {
				return "", errors.New("it is withdrawn")
			}
			return keys.Verify(payload, signature)
		}
		d := r.Artifact(t, "latest", at(1), files, nil)
		r.Sign(t, d, ours, nil)
		repo := open(t, r, oci.Options{Verify: verify})
		if _, _, err := get(t, repo); err != nil {
			t.Fatal(err)
		}
		withdrawn = true
		_, _, err := get(t, repo)
		wantError(t, err, fleet.Invalid, "withdrawn")
	})
}

func tagOf(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// registryTag returns the digest of a tag.
func registryTag(r *ocitest.Registry, repository, tag string) string {
	res, err := http.Head(r.URL + "/v2/" + repository + "/manifests/" + tag) //nolint:gosec // the test's own registry
	if err != nil {
		return ""
	}
	_ = res.Body.Close()
	return res.Header.Get("Docker-Content-Digest")
}

// layerOf returns the digest of the content of an artifact.
func layerOf(t *testing.T, r ocitest.Repository, digest string) string {
	t.Helper()
	res, err := http.Get(r.URL + "/v2/" + r.Name + "/manifests/" + digest) //nolint:gosec // the test's own registry
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	m := regexp.MustCompile(`gzip","digest":"(sha256:[a-f0-9]+)`).FindSubmatch(b)
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, b)
	}
	return string(m[1])
}

// TestSignedTagsAreNotMovedBack: who may push and has no key brings no older artifact back.
func TestSignedTagsAreNotMovedBack(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	key, public := ocitest.NewKey(t)
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public})
	if err != nil {
		t.Fatal(err)
	}
	push := func(tag string, when time.Time, text string) fleet.Revision {
		d := r.Artifact(t, tag, when, map[string]string{"a": text}, nil)
		r.Sign(t, d, key, nil)
		return fleet.Revision{Ref: tag, Digest: d}
	}
	one, two := push("main", at(1), "1"), push("main", at(2), "2")
	same, timeless := push("main", at(2), "3"), push("main", time.Unix(0, 0), "4")
	signed, unsigned := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify}), open(t, r, oci.Options{Ref: "main"})
	if err := signed.Continues(t.Context(), one, two); err != nil {
		t.Error(err)
	}
	if err := unsigned.Continues(t.Context(), two, one); err != nil || unsigned.Signed() {
		t.Errorf("nobody asks for signatures: %v", err)
	}
	wantError(t, signed.Continues(t.Context(), two, one), fleet.Invalid, "was moved back")
	wantError(t, signed.Continues(t.Context(), two, same), fleet.Invalid, "was moved back")
	wantError(t, signed.Continues(t.Context(), two, timeless), fleet.Invalid, "--reproducible")
	if err := signed.Includes(t.Context(), two, one); err != nil {
		t.Error(err)
	}
	wantError(t, signed.Includes(t.Context(), one, two), fleet.Invalid, "not made before it")
	if err := open(t, r, oci.Options{Ref: one.Digest, Verify: keys.Verify}).Continues(t.Context(), two, one); err != nil {
		t.Errorf("a digest that is named is a new beginning: %v", err)
	}
	if err := open(t, r, oci.Options{Ref: "v1", Verify: keys.Verify}).Continues(t.Context(), two, fleet.Revision{Ref: "v1", Digest: one.Digest}); err != nil {
		t.Errorf("another tag that is named is a new beginning: %v", err)
	}
	wantError(t, open(t, r, oci.Options{Ref: "v*", Verify: keys.Verify}).Continues(t.Context(), two, fleet.Revision{Ref: "v1", Digest: one.Digest}), fleet.Invalid, "was moved back")
	unsignedOne := r.Artifact(t, "main", at(9), map[string]string{"a": "9"}, nil)
	wantError(t, signed.Continues(t.Context(), two, fleet.Revision{Ref: "main", Digest: unsignedOne}), fleet.Invalid, "no signature")
	registry.Forget("fleet", one.Digest)
	wantError(t, open(t, r, oci.Options{Ref: "main", Verify: keys.Verify}).Continues(t.Context(), one, two), fleet.NotFound, "name a digest with --ref")
}

// TestCredentials: they go to their registry, and over TLS alone.
func TestCredentials(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	r.Artifact(t, "latest", at(1), files, nil)
	registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
		user, password, _ := req.BasicAuth()
		if user == "bot" && password == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(401)
		return true
	})
	bot := oci.Auth{Username: "bot", Password: fleet.NewSecret([]byte("secret"))}
	if _, _, err := get(t, open(t, r, oci.Options{Auth: bot})); err != nil {
		t.Error(err)
	}
	_, _, err := get(t, open(t, r, oci.Options{}))
	wantError(t, err, fleet.Unauthorized, "")
	_, err = oci.New(oci.Options{URL: "oci://registry.example.com/fleet", PlainHTTP: true, Auth: bot})
	wantError(t, err, fleet.Invalid, "plain http")

	var mu sync.Mutex
	auth := oci.Auth{}
	repo := open(t, r, oci.Options{Refresh: func(o *oci.Options) error { mu.Lock(); defer mu.Unlock(); o.Auth = auth; return nil }})
	_, _, err = get(t, repo)
	wantError(t, err, fleet.Unauthorized, "")
	mu.Lock()
	auth = bot
	mu.Unlock()
	if _, _, err := get(t, repo); err != nil {
		t.Errorf("credentials that have changed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = repo.Resolve(ctx)
	wantError(t, err, fleet.Unknown, "canceled")
}

// TestKeys: what is no public key of cosign is refused.
func TestKeys(t *testing.T) {
	_, public := ocitest.NewKey(t)
	for name, c := range map[string]struct{ text, want string }{
		"an SSH key":    {"ssh-ed25519 AAAA ada", "no public key in PEM"},
		"nothing":       {"", "is empty"},
		"a private key": {"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n", "no public key in PEM"},
		"no key in it":  {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be read"},
		"words after":   {string(public) + "words", "no public key in PEM"},
	} {
		if _, err := oci.NewKeys(map[string][]byte{"k": []byte(c.text)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oci.NewKeys(map[string][]byte{"k": ocitest.Public(t, weak)}); err == nil || !strings.Contains(err.Error(), "1024 bits") {
		t.Errorf("got %v", err)
	}
	if _, err := oci.NewKeys(map[string][]byte{"k": append(bytes.Clone(public), public...)}); err != nil {
		t.Error(err)
	}
}
