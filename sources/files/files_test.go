package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var errCrash = errors.New("it ended here")

// A crashing root ends before a rename.
type crashing struct{ *os.Root }

func (crashing) Rename(string, string) error { return errCrash }

// TestReplace: a file has the old content or the new one, and what a crash left is
// written over.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := MakeFolder(root, "a/b", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(root, "a/b/c", []byte("a long content of old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(crashing{root}, "a/b/c", []byte("an even longer content of a crash"), 0o600); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	if got := read(t, folder, "a/b/c"); got != "a long content of old" {
		t.Errorf("after a crash: %q", got)
	}
	if err := Replace(root, "a/b/c", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, folder, "a/b/c"); got != "new" {
		t.Errorf("replaced: %q", got)
	}
	list, err := os.ReadDir(filepath.Join(folder, "a/b"))
	if err != nil || len(list) != 1 {
		t.Errorf("what is left: %v, %v", list, err)
	}
	if info, err := os.Stat(filepath.Join(folder, "a/b/c")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", info, err)
	}
}

func TestReplaceFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kubeconfig")
	for _, content := range []string{"one", "two"} {
		if err := ReplaceFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Dir(name), "kubeconfig"); got != content {
			t.Errorf("%q, want %q", got, content)
		}
	}
	if err := ReplaceFile(filepath.Join(name, "below"), nil, 0o600); err == nil {
		t.Error("a file below a file was written")
	}
}

// TestReplaceMakesItsOwnTemporary: the mode is that of the caller, whatever lies there under
// the temporary name: a leftover with a wider mode, a file that somebody else made first in
// a folder like /tmp, or a link to elsewhere.
func TestReplaceMakesItsOwnTemporary(t *testing.T) {
	folder := t.TempDir()
	temporary := filepath.Join(folder, Temporary("kubeconfig"))
	if err := os.WriteFile(temporary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(temporary, 0o666); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(temporary) // its maker goes on reading it
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	name := filepath.Join(folder, "kubeconfig")
	if err := ReplaceFile(name, []byte("the administrator's key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode().Perm(), err)
	}
	b := make([]byte, 100)
	if n, _ := held.Read(b); n > 0 {
		t.Errorf("the maker of the temporary file reads %q", b[:n])
	}
	if err := os.Symlink("elsewhere", temporary); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(name, []byte("the next key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, folder, "kubeconfig"); got != "the next key" {
		t.Errorf("after a link: %q", got)
	}
	if _, err := os.Stat(filepath.Join(folder, "elsewhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it wrote where a link leads: %v", err)
	}
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A quick root is a folder in which somebody makes each file again that is removed.
type quick struct{ *os.Root }

func (q quick) Remove(name string) error {
	if err := q.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return q.WriteFile(name, nil, 0o666)
}

// TestStageMakesItsFile: a file that somebody makes at the same moment gets nothing of the content.
func TestStageMakesItsFile(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Stage(quick{root}, "kubeconfig", []byte("the administrator's key"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it ends with %v", err)
	}
	if got := read(t, folder, Temporary("kubeconfig")); got != "" {
		t.Errorf("the file of somebody else has %q", got)
	}
}
