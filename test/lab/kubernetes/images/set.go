package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A Set is what machines are made of. Its folders lie on one filesystem and are
// not written to by anybody: machines lay their own files over them.
type Set struct {
	Versions []string // of Kubernetes, the newest first, like v1.36.3
	Rootfs   string   // folder: the Debian root filesystem
	Node     string   // folder: what a node has in addition, to be laid over Rootfs
	Store    string   // folder: /var/lib/containerd with all images
}

// Dir returns the folder of all that belongs to the lab.
func Dir() (string, error) {
	if dir := os.Getenv("FAIRLEAD_LAB"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the lab: %w; set FAIRLEAD_LAB to a folder", err)
	}
	return filepath.Join(cache, "fairlead", "lab"), nil
}

// Current returns the set that was built last.
func Current() (Set, error) {
	dir, err := Dir()
	if err != nil {
		return Set{}, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "set.json"))
	if errors.Is(err, os.ErrNotExist) {
		return Set{}, errors.New("the lab has no images: run make lab-images")
	}
	var s Set
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// Build makes the set of these versions of Kubernetes, the newest
// first, and makes it the current one. It needs root, and tells on progress
// what it does.
func Build(ctx context.Context, progress io.Writer, versions ...string) (Set, error) {
	if os.Geteuid() != 0 {
		return Set{}, errors.New("images of the lab are made by root: file owners and devices are part of them")
	}
	if len(versions) == 0 {
		return Set{}, errors.New("images of the lab need a version of Kubernetes")
	}
	dir, err := Dir()
	if err != nil {
		return Set{}, err
	}
	if _, err := exec.LookPath(debianMaker); err != nil { // the programs before it take half an hour
		return Set{}, fmt.Errorf("cannot make the lab's rootfs: %w; run apt-get install %s", err, debianMaker)
	}
	m := &maker{progress: progress, dir: dir, versions: versions}
	if m.root, err = m.output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "fairlead.dev"); err != nil {
		return Set{}, fmt.Errorf("the lab is made from a checkout of Fairlead: %w", err)
	}
	steps := []func(context.Context) error{m.makePrograms, m.makeRootfs, m.makeNode, m.makeStore}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return Set{}, err
		}
	}
	b, err := json.MarshalIndent(m.set(), "", "  ")
	if err != nil {
		return Set{}, err
	}
	tmp := filepath.Join(dir, ".set.json")
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return Set{}, err
	}
	return m.set(), os.Rename(tmp, filepath.Join(dir, "set.json"))
}

// A maker makes one set.
type maker struct {
	progress io.Writer
	root     string // of the repository
	dir      string // of the lab
	versions []string

	programs            map[string]string // files by name, and by name and version
	rootfs, node, store string
}

func (m *maker) set() Set {
	return Set{Versions: m.versions, Rootfs: m.rootfs, Node: m.node, Store: m.store}
}

func (m *maker) say(format string, args ...any) { fmt.Fprintf(m.progress, format+"\n", args...) }

// folder makes the folder of a kind of thing that is made from inputs, unless it
// is there, and returns it. fill is given an empty one; it is put in its place
// when fill is done, and those that were made from other inputs stay, since
// machines may run from them.
func (m *maker) folder(kind string, inputs any, fill func(dir string) error) (string, error) {
	b, err := json.Marshal(inputs)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	path := filepath.Join(m.dir, kind+"-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(path); err == nil {
		m.say("%s is there: %s", kind, path)
		return path, nil
	}
	tmp := filepath.Join(m.dir, ".making-"+kind)
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", err
	}
	m.say("making %s", kind)
	if err := fill(tmp); err != nil {
		return "", fmt.Errorf("cannot make the lab's %s: %w", kind, err)
	}
	return path, os.Rename(tmp, path)
}
