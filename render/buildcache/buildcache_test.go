package buildcache

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/kustomize"
)

// counting counts what it builds.
type counting struct {
	objects []kustomize.Object
	problem *fleet.Problem
	err     error
	builds  int
	rests   int
}

func (c *counting) Build(context.Context, kustomize.Input) ([]kustomize.Object, *fleet.Problem, error) {
	c.builds++
	return c.objects, c.problem, c.err
}

func (*counting) Processes() int { return 1 }
func (c *counting) Rest()        { c.rests++ }

// world is a folder for built overlays, and a program.
type world struct {
	t               *testing.T
	folder, program string
}

func newWorld(t *testing.T) world {
	w := world{t, filepath.Join(t.TempDir(), "cache", "render"), filepath.Join(t.TempDir(), "fairlead")}
	if err := os.WriteFile(w.program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// workers returns those of a new process.
func (w world) workers(next render.Workers) render.Workers {
	w.t.Helper()
	workers, err := New(w.folder, w.program, next, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	return workers
}

// build returns what a new process has for in, and how often it built.
func (w world) build(next *counting, in kustomize.Input) ([]kustomize.Object, int) {
	w.t.Helper()
	before := next.builds
	objects, problem, err := w.workers(next).Build(w.t.Context(), in)
	if problem != next.problem || !errors.Is(err, next.err) {
		w.t.Fatalf("got %v, %v", problem, err)
	}
	return objects, next.builds - before
}

// files returns the names of all files of entries.
func (w world) files() []string {
	w.t.Helper()
	var out []string
	err := filepath.WalkDir(w.folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "trim.txt" {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func input() kustomize.Input {
	return kustomize.Input{
		Overlay: "clusters/a", File: "clusters/a/kustomization.yaml", Keyed: []string{"base"},
		Files:  map[string][]byte{"clusters/a/kustomization.yaml": []byte("resources: [c.yaml]\n"), "clusters/a/c.yaml": []byte("kind: Cluster\n")},
		Quotes: []kustomize.Quote{{Key: "version", Text: "${V}", Quoted: true}},
	}
}

// TestBuiltOnce: a later process of the same program builds only what differs.
func TestBuiltOnce(t *testing.T) {
	w, next := newWorld(t), &counting{objects: objectsOf(t)}
	want, n := w.build(next, input())
	if n != 1 || len(want) != 4 {
		t.Fatalf("built %d times, with %d objects", n, len(want))
	}
	got, n := w.build(next, input())
	if n != 0 {
		t.Error("built again")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-built, +kept:\n%s", diff)
	}
	for what, change := range map[string]func(in *kustomize.Input){
		"overlay":         func(in *kustomize.Input) { in.Overlay = "clusters/b" },
		"name of a file":  func(in *kustomize.Input) { in.File = "clusters/a/kustomization.yml" },
		"content":         func(in *kustomize.Input) { in.Files["clusters/a/c.yaml"] = []byte("kind: Clutter\n") },
		"another file":    func(in *kustomize.Input) { in.Files["clusters/a/d.yaml"] = nil },
		"a file less":     func(in *kustomize.Input) { delete(in.Files, "clusters/a/c.yaml") },
		"keyed lists":     func(in *kustomize.Input) { in.Keyed = nil },
		"quotes":          func(in *kustomize.Input) { in.Quotes[0].Quoted = false },
		"text in quotes":  func(in *kustomize.Input) { in.Quotes[0].Text = "${W}" },
		"key of a quote":  func(in *kustomize.Input) { in.Quotes[0].Key = "other" },
		"content and end": func(in *kustomize.Input) { in.Files["clusters/a/c.yaml"] = []byte("kind: Cluster\n\n") },
	} {
		in := input()
		in.Files = maps.Clone(in.Files)
		change(&in)
		if _, n := w.build(next, in); n != 1 {
			t.Errorf("%s: not built again", what)
		}
	}
	if _, n := w.build(next, input()); n != 0 {
		t.Error("built again after others")
	}
}

// TestOtherProgram: what another program built is not used.
func TestOtherProgram(t *testing.T) {
	w, next := newWorld(t), &counting{objects: objectsOf(t)}
	w.build(next, input())
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(w.program, later, later); err != nil {
		t.Fatal(err)
	}
	if _, n := w.build(next, input()); n != 1 {
		t.Error("a program that was installed again does not build")
	}
	if err := os.WriteFile(w.program, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(w.program, later, later); err != nil {
		t.Fatal(err)
	}
	if _, n := w.build(next, input()); n != 1 {
		t.Error("a program of another size does not build")
	}
}

// TestNothingSecretIsKept: neither Secrets nor what was encrypted in Git come to the disk.
func TestNothingSecretIsKept(t *testing.T) {
	w := newWorld(t)
	in := input()
	in.Decrypted = true
	next := &counting{objects: objectsOf(t)}
	for range 2 {
		if _, n := w.build(next, in); n != 1 {
			t.Error("what was decrypted was kept")
		}
	}
	secret := objectsOf(t)
	secret[1].Node.Content[slices.IndexFunc(secret[1].Node.Content, func(n *yaml.Node) bool { return n.Value == "kind" })+1].Value = "Secret"
	next = &counting{objects: secret}
	for range 2 {
		if _, n := w.build(next, input()); n != 1 {
			t.Error("a Secret was kept")
		}
	}
	if files := w.files(); len(files) > 0 {
		t.Errorf("there are %v", files)
	}
}

// TestFailuresAreNotKept: a build that failed is tried again.
func TestFailuresAreNotKept(t *testing.T) {
	for name, next := range map[string]*counting{
		"problem": {problem: &fleet.Problem{Message: "no"}},
		"error":   {err: &kustomize.OverBudget{Problem: fleet.Problem{Message: "too much"}}},
	} {
		w := newWorld(t)
		for range 2 {
			if _, n := w.build(next, input()); n != 1 {
				t.Errorf("%s: not built again", name)
			}
		}
	}
}

// TestDamaged: an entry that a crash or a person damaged is built again, and good from then on.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"cut":   func(b []byte) []byte { return b[:len(b)/2] },
		"bit":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"zeros": func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		w, next := newWorld(t), &counting{objects: objectsOf(t)}
		want, _ := w.build(next, input())
		for _, file := range w.files() {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, n := w.build(next, input())
		if n != 1 || !cmp.Equal(want, got) {
			t.Errorf("%s: built %d times", name, n)
		}
		if got, n = w.build(next, input()); n != 0 || !cmp.Equal(want, got) {
			t.Errorf("%s: not kept again: built %d times", name, n)
		}
	}
}

// TestNoFolder: the error says where nothing can be kept.
func TestNoFolder(t *testing.T) {
	w := newWorld(t)
	for what, w := range map[string]world{
		w.program + ": ":               {t, w.program, w.program},
		filepath.Base(w.program) + "2": {t, w.folder, w.program + "2"},
	} {
		if _, err := New(w.folder, w.program, &counting{}, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, not %q", err, what)
		}
	}
}

// TestFullDisk: what cannot be kept is built, and told once.
func TestFullDisk(t *testing.T) {
	w, next, log := newWorld(t), &counting{objects: objectsOf(t)}, &strings.Builder{}
	workers, err := New(w.folder, w.program, next, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(w.folder); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if objects, problem, err := workers.Build(t.Context(), input()); len(objects) != 4 || problem != nil || err != nil || next.builds != i+1 {
			t.Errorf("got %d objects, %v, %v", len(objects), problem, err)
		}
	}
	if n := strings.Count(log.String(), "could not be kept"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// TestOwnerAlone: other users of the computer cannot read what is kept, also in a folder that they may read.
func TestOwnerAlone(t *testing.T) {
	w, next := newWorld(t), &counting{objects: objectsOf(t)}
	own := filepath.Join(w.folder, "overlays")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	w.build(next, input())
	for name, want := range map[string]fs.FileMode{own: 0o700, w.folder: 0o755} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v, %v", name, info.Mode(), err)
		}
	}
}

// TestOldEntriesGo: what nobody has used for days is removed at rest.
func TestOldEntriesGo(t *testing.T) {
	w, next := newWorld(t), &counting{objects: objectsOf(t)}
	w.build(next, input())
	old := time.Now().Add(-10 * 24 * time.Hour)
	for _, file := range w.files() {
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	in := input()
	in.Overlay = "clusters/b"
	next.objects = next.objects[:3]
	w.build(next, in)
	many := len(w.files())
	w.workers(next).Rest()
	if n := len(w.files()); n == 0 || n >= many || next.rests != 1 {
		t.Errorf("%d of %d files are left, %d rests", n, many, next.rests)
	}
	if _, n := w.build(next, in); n != 0 {
		t.Error("the newer entry is gone")
	}
	if _, n := w.build(next, input()); n != 1 {
		t.Error("the old entry is there")
	}
}

// TestPacked: an entry is far smaller than its objects, of which a large fleet has many.
func TestPacked(t *testing.T) {
	objects := objectsOf(t)
	objects[0].Node.HeadComment = strings.Repeat("the same words ", 1000)
	b, err := encode(objects)
	if err != nil || len(b) > 3000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
