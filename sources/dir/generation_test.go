package dir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/files"
)

// branch returns a branch in a new folder, with the folder .fairlead.
func branch(t *testing.T) (*Branch, string) {
	t.Helper()
	f, err := New(Options{Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b := f.Branch()
	return b, b.path
}

func commit(t *testing.T, b *Branch, head fleet.Revision, message string, edits map[string]string) fleet.Revision {
	t.Helper()
	c := sources.Commit{Edits: map[string][]byte{}, Message: message}
	for name, content := range edits {
		c.Edits[name] = []byte(content)
	}
	head, err := b.Commit(t.Context(), head, c)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestPowerCut: each file and each folder of a generation is on the disk before the link
// leads to it, and the link is on the disk before Commit returns.
func TestPowerCut(t *testing.T) {
	b, folder := branch(t)
	created, synced := map[string]bool{}, map[string]bool{}
	last := ""
	lasting := b.disk
	b.disk.create = func(root files.Root, name string, content []byte, mode fs.FileMode) error {
		created[name] = true
		return lasting.create(root, name, content, mode)
	}
	b.disk.sync = func(root files.Root, name string) error {
		head, err := os.Readlink(filepath.Join(folder, "status"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		last = path.Join(name, head)
		if name != "." && (head == "" || !strings.HasPrefix(name, head)) { // the link does not lead to it yet
			synced[name] = true
		}
		return lasting.sync(root, name)
	}
	var head fleet.Revision
	for _, step := range []struct {
		edits   map[string]string
		created []string
		synced  []string // below the generation
	}{
		{
			map[string]string{"owner.yaml": "me", "clusters/prod/a.yaml": "1", "clusters/prod/b.yaml": "1"},
			[]string{"clusters/prod/a.yaml", "clusters/prod/b.yaml", "owner.yaml"},
			[]string{".", "clusters", "clusters/prod"},
		},
		{
			map[string]string{"clusters/prod/b.yaml": "2"},
			[]string{"clusters/prod/b.yaml"},
			[]string{".", "clusters", "clusters/prod"},
		},
	} {
		clear(created)
		clear(synced)
		head = commit(t, b, head, "a commit", step.edits)
		target, err := os.Readlink(filepath.Join(folder, "status"))
		if err != nil {
			t.Fatal(err)
		}
		if last != target {
			t.Errorf("the last thing brought to the disk was not the link to %s, but %s", target, last)
		}
		if diff := cmp.Diff(step.created, slices.Sorted(maps.Keys(created))); diff != "" {
			t.Error("files brought to the disk:", diff)
		}
		want := []string{"generations"}
		for _, name := range step.synced {
			want = append(want, path.Join(target, name))
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(synced))); diff != "" {
			t.Error("folders brought to the disk:", diff)
		}
	}
	for name, want := range map[string]string{"owner.yaml": "me", "clusters/prod/a.yaml": "1", "clusters/prod/b.yaml": "2"} {
		if got, err := os.ReadFile(filepath.Join(folder, "status", name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// TestGenerationBefore: an edit leaves the generation before as it was, and the one before
// that goes.
func TestGenerationBefore(t *testing.T) {
	b, folder := branch(t)
	one := commit(t, b, fleet.Revision{}, "one", map[string]string{"a": "1", "b": "1"})
	two := commit(t, b, one, "two", map[string]string{"a": "2"})
	before, err := os.Readlink(filepath.Join(folder, "status"))
	if err != nil {
		t.Fatal(err)
	}
	commit(t, b, two, "three", map[string]string{"a": "3"})
	for name, want := range map[string]string{"a": "2", "b": "1"} {
		if got, err := os.ReadFile(filepath.Join(folder, before, name)); err != nil || string(got) != want {
			t.Errorf("before: %s is %q, %v", name, got, err)
		}
	}
	if list, err := os.ReadDir(filepath.Join(folder, "generations")); err != nil || len(list) != 2 {
		t.Errorf("generations: %v, %v", list, err)
	}
}

// TestLogIsBounded: a full log becomes log.old, and takes the place of the one before.
func TestLogIsBounded(t *testing.T) {
	b, folder := branch(t)
	large := strings.Repeat("m", 1<<20)
	var head fleet.Revision
	for _, message := range []string{"first " + large, "second " + large, "third"} {
		head = commit(t, b, head, message, map[string]string{"a": message[:5]})
	}
	for name, want := range map[string]string{"log": "third", "log.old": "second"} {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s is %.20q, %v", name, got, err)
		}
	}
}
