// Package buildcache keeps built overlays in a folder, so that a later command does not build
// those again whose files are the same.
//
// What it guarantees:
//
//   - What is kept was built by the same program from the same files.
//   - Nothing that was encrypted in Git is kept, and no Secret.
//   - An entry that cannot be read or written costs time, and no overlay.
package buildcache

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/rogpeppe/go-internal/cache"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render"
	"fairlead.dev/render/kustomize"
)

// workers keep what other Workers build.
type workers struct {
	render.Workers
	kept    *cache.Cache
	program string // identity
	warn    func(err error)
}

// New returns workers that keep in folder what next builds, which runs the program in file. Entries that
// were not used for five days are removed. log gets the first error of a write.
func New(folder, file string, next render.Workers, log *slog.Logger) (render.Workers, error) {
	program, err := identity(file)
	if err != nil {
		return nil, fmt.Errorf("built overlays cannot be kept: %w", err)
	}
	kept, err := open(folder)
	if err != nil {
		return nil, fmt.Errorf("built overlays cannot be kept in %s: %w. Set --render-cache to a folder of yours, or to none", folder, err)
	}
	var once sync.Once
	return &workers{Workers: next, kept: kept, program: program, warn: func(err error) {
		once.Do(func() { log.Warn("a built overlay could not be kept", "folder", folder, "error", err) })
	}}, nil
}

// open opens the cache in folder. It is in a folder of its own, which others cannot read: folder may be
// shared with them.
func open(folder string) (*cache.Cache, error) {
	own := filepath.Join(folder, "overlays")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(own, 0o700); err != nil {
		return nil, err
	}
	return cache.Open(own)
}

// identity identifies the program in file: a program that is built or installed again has another one.
func identity(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	built, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s", file, info.Size(), info.ModTime().UnixNano(), built))), nil
}

// Build implements render.Workers.
func (w *workers) Build(ctx context.Context, in kustomize.Input) ([]kustomize.Object, *fleet.Problem, error) {
	if in.Decrypted {
		return w.Workers.Build(ctx, in)
	}
	id := w.id(in)
	if b, _, err := w.kept.GetBytes(id); err == nil {
		if objects, err := decode(b); err == nil {
			return objects, nil, nil
		}
	}
	objects, problem, err := w.Workers.Build(ctx, in)
	if err == nil && problem == nil && !slices.ContainsFunc(objects, isSecret) {
		if err := w.keep(id, objects); err != nil {
			w.warn(err)
		}
	}
	return objects, problem, err
}

// Rest implements render.Workers.
func (w *workers) Rest() {
	w.Workers.Rest()
	if err := w.kept.Trim(); err != nil {
		w.warn(err)
	}
}

// id identifies what is built from in.
func (w *workers) id(in kustomize.Input) cache.ActionID {
	h := cache.NewHash(w.program)
	fmt.Fprintf(h, "%q %q %q %q\n", w.program, in.Overlay, in.File, in.Keyed)
	for _, q := range in.Quotes {
		fmt.Fprintf(h, "%q %q %t\n", q.Key, q.Text, q.Quoted)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		fmt.Fprintf(h, "%q %d\n", name, len(in.Files[name]))
		_, _ = h.Write(in.Files[name]) // a hash returns no error
	}
	return h.Sum()
}

func (w *workers) keep(id cache.ActionID, objects []kustomize.Object) error {
	b, err := encode(objects)
	if err != nil {
		return err
	}
	return w.kept.PutBytes(id, b)
}

func isSecret(o kustomize.Object) bool {
	return documents.ChildText(o.Node, "kind") == "Secret"
}

// packers are *flate.Writer: a new one costs more than to pack an overlay.
//
//nolint:gochecknoglobals // shared by all that pack
var packers = sync.Pool{New: func() any {
	z, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is not valid
	}
	return z
}}

// encode returns objects as decode reads them.
func encode(objects []kustomize.Object) ([]byte, error) {
	var b bytes.Buffer
	z := packers.Get().(*flate.Writer) //nolint:forcetypeassert // New returns nothing else
	defer packers.Put(z)
	z.Reset(&b)
	if err := gob.NewEncoder(z).Encode(objects); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func decode(b []byte) ([]kustomize.Object, error) {
	var objects []kustomize.Object
	if err := gob.NewDecoder(flate.NewReader(bytes.NewReader(b))).Decode(&objects); err != nil {
		return nil, err
	}
	for i := range objects {
		if objects[i].Node == nil {
			objects[i].Node = &yaml.Node{} // gob leaves out what has only zero values
		}
	}
	return objects, nil
}
