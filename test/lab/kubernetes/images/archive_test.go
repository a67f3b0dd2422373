package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// read returns the entries of a tar in their order, and what is in its files.
func read(t *testing.T, b []byte) (names []string, files map[string][]byte) {
	t.Helper()
	files = make(map[string][]byte)
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, files
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArchive(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("ELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := writeArchive(&out, []image{{
		refs: []string{"example.com/a:1", "example.com/a:2"}, entrypoint: []string{"/usr/bin/program"},
		files: map[string]string{"usr/bin/program": program}, links: map[string]string{"bin": "usr/bin"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, files := read(t, out.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{"example.com/a:1", "example.com/a:2"}) {
		t.Fatalf("the archive has %+v", manifest)
	}
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	layer := files[manifest[0].Layers[0]]
	if want := []string{"sha256:" + digest(layer)}; !slices.Equal(config.RootFS.DiffIDs, want) {
		t.Errorf("the layer has the digest %v, want %v", config.RootFS.DiffIDs, want)
	}
	if !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/program"}) {
		t.Errorf("the entrypoint is %v", config.Config.Entrypoint)
	}
	names, inside := read(t, layer)
	if want := []string{"etc/", "run/", "tmp/", "usr/", "usr/bin/", "var/", "bin", "usr/bin/program"}; !slices.Equal(names, want) {
		t.Errorf("the layer has %q, want %q: folders come before what is in them", names, want)
	}
	if string(inside["usr/bin/program"]) != "ELF" {
		t.Errorf("the program has become %q", inside["usr/bin/program"])
	}
}
