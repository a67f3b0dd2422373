package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
)

// writeArchive writes images as one archive that container runtimes import: the
// format of `docker save`, one layer an image, not compressed.
func writeArchive(w io.Writer, images []image) error {
	out := tar.NewWriter(w)
	type entry struct{ Config, RepoTags, Layers any }
	var manifest []entry
	for _, i := range images {
		layer, err := i.layer()
		if err != nil {
			return fmt.Errorf("image %s: %w", i.refs[0], err)
		}
		sum := digest(layer)
		config, err := json.Marshal(map[string]any{
			"architecture": "amd64", "os": "linux",
			"config": map[string]any{"Entrypoint": i.entrypoint, "Env": []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum}},
		})
		if err != nil {
			return err
		}
		e := entry{digest(config) + ".json", i.refs, []string{sum + ".tar"}}
		manifest = append(manifest, e)
		if err := add(out, digest(config)+".json", config); err != nil {
			return err
		}
		if err := add(out, sum+".tar", layer); err != nil {
			return err
		}
	}
	b, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := add(out, "manifest.json", b); err != nil {
		return err
	}
	return out.Close()
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func add(w *tar.Writer, name string, b []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// layer returns the files of i as a tar, with the folders that they lie in.
func (i image) layer() ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range i.folders() {
		mode := int64(0o755)
		if dir == "tmp" {
			mode = 0o1777
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.links)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: i.links[name], Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.files)) {
		b, err := os.ReadFile(i.files[name])
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(b))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

// folders returns the folders of an image, those above before those below.
func (i image) folders() []string {
	dirs := map[string]bool{"tmp": true, "run": true, "var": true, "etc": true}
	for _, names := range []map[string]string{i.files, i.links} {
		for name := range names {
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				dirs[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}
