package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"fairlead.dev/sources"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
)

// An artifact is hostile content in the registry of a fleet.
type artifact struct {
	want    string // part of the one problem
	push    func(t *testing.T, registry *ocitest.Registry, r ocitest.Repository)
	signed  bool   // a signature is required
	opening string // beginning of a file in it that is refused
	bad     string // folder that is kept back; without opening or bad the artifact is refused as a whole
}

// zeros returns n bytes of nothing, packed.
func zeros(t *testing.T, n int64, begin []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, io.MultiReader(bytes.NewReader(begin), io.LimitReader(nothing{}, n))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type nothing struct{}

// Read implements io.Reader.
func (nothing) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// artifacts are the hostile artifacts. Those with many or large entries have at most size.
func artifacts(size int64) map[string]artifact {
	archive := func(make func(t *testing.T) []byte) func(*testing.T, *ocitest.Registry, ocitest.Repository) {
		return func(t *testing.T, _ *ocitest.Registry, r ocitest.Repository) {
			r.Packed(t, "latest", time.Unix(1e9, 0), make(t), nil)
		}
	}
	entries := func(h ...tar.Header) func(*testing.T, *ocitest.Registry, ocitest.Repository) {
		return archive(func(t *testing.T) []byte {
			return ocitest.PackHeaders(t, h, map[string]string{"a/big": strings.Repeat("x", 20<<20)})
		})
	}
	header := func(h tar.Header) []byte {
		var b bytes.Buffer
		_ = tar.NewWriter(&b).WriteHeader(&h)
		return b.Bytes()
	}
	return map[string]artifact{
		"a file without end": {want: "unfolds to more than", push: archive(func(t *testing.T) []byte {
			return zeros(t, size+size/2, header(tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 1 << 40}))
		})},
		"a gigabyte of folders": {want: "more than 100000 files", push: archive(func(t *testing.T) []byte {
			return zeros(t, 0, bytes.Repeat(header(tar.Header{Name: "a/", Typeflag: tar.TypeDir}), int(min(size>>9, 200_000))))
		})},
		"a comment without end": {want: "not packed by tar", push: archive(func(t *testing.T) []byte {
			return zeros(t, size, header(tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 1 << 20, PAXRecords: map[string]string{"comment": "x"}})[:512])
		})},
		"a file beyond the limit": {want: "more than 16777216", bad: "a", push: entries(tar.Header{Name: "a/big", Typeflag: tar.TypeReg, Size: 20 << 20}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"a path out of it":        {want: "a way out of the folder", bad: "clusters", push: entries(tar.Header{Name: "clusters/../../../etc/cron.d/a", Typeflag: tar.TypeReg}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"an absolute path":        {want: "the name is empty", bad: ".", push: entries(tar.Header{Name: "/etc/cron.d/a", Typeflag: tar.TypeReg}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"a file behind a link":    {want: "2 entries of this name", bad: "a", push: entries(tar.Header{Name: "a/a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, tar.Header{Name: "a/a/b", Typeflag: tar.TypeReg}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"a file twice":            {want: "2 entries of this name", bad: "a", push: entries(tar.Header{Name: "a/b", Typeflag: tar.TypeReg}, tar.Header{Name: "./a/b", Typeflag: tar.TypeReg}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"a link out of it":        {want: "points out of the repository", opening: "a", push: entries(tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "../../etc/passwd"}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"a hard link":             {want: "special file", opening: "a", push: entries(tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"a deep path":             {want: "folders deep", bad: strings.TrimSuffix(strings.Repeat("a/", 32), "/"), push: entries(tar.Header{Name: strings.Repeat("a/", 20_000) + "b", Typeflag: tar.TypeReg}, tar.Header{Name: "good/a", Typeflag: tar.TypeReg})},
		"another digest": {want: "does not have the digest", push: func(t *testing.T, registry *ocitest.Registry, r ocitest.Repository) {
			content := ocitest.Pack(t, map[string]string{"a": "damaged"})
			r.Packed(t, "latest", time.Unix(1e9, 0), content, func(m *ocitest.Manifest) {
				registry.Damage(m.Layers[0].Digest, bytes.Repeat([]byte("x"), len(content)))
			})
		}},
		"a manifest without end": {want: "", push: func(t *testing.T, _ *ocitest.Registry, r ocitest.Repository) {
			r.Artifact(t, "latest", time.Unix(1e9, 0), nil, func(m *ocitest.Manifest) { m.Annotations["a"] = strings.Repeat("a", 8<<20) })
		}},
		"unsigned": {want: "it has no signature", signed: true, push: func(t *testing.T, _ *ocitest.Registry, r ocitest.Repository) {
			r.Artifact(t, "latest", time.Unix(1e9, 0), map[string]string{"a": "b"}, nil)
		}},
	}
}

// artifactOf reads the artifact of that name, and then a good one.
func artifactOf(t *testing.T, name string) (problem error, others bool) {
	t.Helper()
	registry := ocitest.New(t)
	bad, good := registry.Repository("bad"), registry.Repository("good")
	a := artifacts(256 << 20)[name]
	a.push(t, registry, bad)
	good.Artifact(t, "latest", time.Unix(1e9, 0), map[string]string{"a": "b"}, nil)
	read := func(r ocitest.Repository, o oci.Options, file, dir string) error {
		o.URL = r.OCI()
		repo, err := oci.New(o)
		if err != nil {
			return err
		}
		rev, err := repo.Resolve(t.Context())
		if err != nil {
			return err
		}
		tree, err := repo.Fetch(t.Context(), rev)
		if err != nil || file == "" && dir == "" {
			return err
		}
		if dir != "" {
			return held(tree, dir)
		}
		_, err = fs.ReadFile(tree, file)
		return err
	}
	var o oci.Options
	if a.signed {
		o.Verify = func([]byte, []byte) (string, error) { return "", fmt.Errorf("no key") }
	}
	others = read(good, oci.Options{}, "a", "") == nil
	if a.opening != "" || a.bad != "" {
		others = others && read(bad, o, "good/a", "") == nil
	}
	return read(bad, o, a.opening, a.bad), others
}

// held says why the folder dir is held up.
func held(tree sources.Tree, dir string) error {
	if j, ok := tree.(sources.Judged); ok {
		for _, b := range j.Bad(dir) {
			return fmt.Errorf("%s: %q: %w", b.Folder, b.Name, b.Err)
		}
	}
	return nil
}
