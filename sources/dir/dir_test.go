package dir_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/tree"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, o dir.Options) *dir.Folder {
	t.Helper()
	f, err := dir.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFollow(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"fleet.yaml": "a", "clusters/x/k.yaml": "b", ".git/config": "no", ".fairlead/x": "no", "clusters/.git": "no"})
	if err := os.Symlink("../fleet.yaml", filepath.Join(root, "clusters/link")); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir.Options{Path: root})
	one, err := f.Resolve(t.Context())
	if err != nil || one.Ref != root || !strings.HasPrefix(one.Digest, "sha256:") {
		t.Fatalf("revision %v, %v", one, err)
	}
	first, err := f.Fetch(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(first, "fleet.yaml", "clusters/x/k.yaml", "clusters/link"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(first, ".git"); err == nil {
		t.Error(".git is in the tree")
	}
	if b, err := fs.ReadFile(first, "clusters/link"); err != nil || string(b) != "a" {
		t.Errorf("the link reads %q, %v", b, err)
	}
	// A change of the same size within one tick of a coarse clock.
	info, err := os.Stat(filepath.Join(root, "clusters/x/k.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"clusters/x/k.yaml": "c"})
	if err := os.Chtimes(filepath.Join(root, "clusters/x/k.yaml"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	two, err := f.Resolve(t.Context())
	if err != nil || two == one {
		t.Fatalf("after a change: %v, %v", two, err)
	}
	second, err := f.Fetch(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	for path, same := range map[string]bool{"clusters/x": false, "clusters": false, "fleet.yaml": true} {
		a, _ := first.Digest(path)
		b, err := second.Digest(path)
		if err != nil || (a == b) != same {
			t.Errorf("digests of %s: %s, %s, %v", path, a, b, err)
		}
	}
	again, err := f.Fetch(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := fs.ReadFile(again, "clusters/x/k.yaml"); string(b) != "b" {
		t.Errorf("the older content reads %q", b)
	}
	_, err = f.Fetch(t.Context(), fleet.Revision{Ref: root, Digest: "sha256:00"})
	wantKind(t, err, fleet.NotFound, "changed since")
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		budget tree.Budget
		make   func(root string) error
		read   string // file that cannot be read
		bad    bool   // the file is kept back; without read or bad the whole folder is refused
		words  string
	}{
		"many files": {budget: tree.Budget{Files: 3}, make: func(string) error { return nil }, read: "a", words: "more than 3 entries"},
		"more files": {budget: tree.Budget{Files: 3}, make: func(r string) error {
			for i := range 30 {
				if err := os.WriteFile(filepath.Join(r, fmt.Sprint(i)), nil, 0o644); err != nil {
					return err
				}
			}
			return nil
		}, words: "more than 30 files and folders"},
		"big file":  {budget: tree.Budget{FileBytes: 2}, make: func(string) error { return nil }, read: "c", words: `it has 3 bytes, more than 2`},
		"deep":      {budget: tree.Budget{Depth: 2}, make: func(r string) error { return os.MkdirAll(filepath.Join(r, "x/y/z/u"), 0o755) }, read: "x/y/z/u", words: "2 folders deep"},
		"bad name":  {make: func(r string) error { return os.WriteFile(filepath.Join(r, `a\b`), nil, 0o644) }, bad: true, words: "path separator"},
		"git alias": {make: func(r string) error { return os.Mkdir(filepath.Join(r, "GIT~1"), 0o755) }, bad: true, words: "Git directory"},
		"link out":  {make: func(r string) error { return os.Symlink("../../etc/passwd", filepath.Join(r, "l")) }, read: "l", words: `symbolic link "l"`},
		"link abs":  {make: func(r string) error { return os.Symlink("/etc/passwd", filepath.Join(r, "l")) }, read: "l", words: `symbolic link "l"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, map[string]string{"a": "1", "b": "22", "c": "333", "d": "4"})
			if err := c.make(root); err != nil {
				t.Fatal(err)
			}
			if c.read == "" && !c.bad {
				_, err := open(t, dir.Options{Path: root, Budget: c.budget}).Resolve(t.Context())
				wantKind(t, err, fleet.Invalid, c.words)
				return
			}
			f := open(t, dir.Options{Path: root, Budget: c.budget})
			rev, err := f.Resolve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tr, err := f.Fetch(t.Context(), rev)
			if err != nil {
				t.Fatal(err)
			}
			if c.bad {
				bad := tr.(sources.Judged).Bad(".")
				if _, err := fs.ReadFile(tr, "a"); err != nil || len(bad) != 1 || !strings.Contains(bad[0].Err.Error(), c.words) {
					t.Errorf("kept back is %v, and the rest is read with %v", bad, err)
				}
				return
			}
			_, err = fs.ReadFile(tr, c.read)
			wantKind(t, err, fleet.Invalid, c.words)
		})
	}
	_, err := dir.New(dir.Options{Path: filepath.Join(t.TempDir(), "none")})
	wantKind(t, err, fleet.NotFound, "follow folder")
}

// Safety: the content of a folder that is too large for memory is read when it is asked
// for, as long as it is still what was seen.
func TestMoreThanIsKept(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"a": "1", "b": "22", "c": "333", "d": "4"})
	f := open(t, dir.Options{Path: root, Budget: tree.Budget{Bytes: 3}})
	rev, err := f.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := f.Fetch(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1", "b": "22", "c": "333", "d": "4"} {
		if got, err := fs.ReadFile(tr, name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	write(t, root, map[string]string{"b": "two", "c": "three"})
	if got, err := fs.ReadFile(tr, "b"); err != nil || string(got) != "22" {
		t.Errorf("what is kept became %q, %v", got, err)
	}
	_, err = fs.ReadFile(tr, "c")
	wantKind(t, err, fleet.Unavailable, "has changed since")
}

func TestNotify(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"a/b": "1", ".git/x": "1"})
	f := open(t, dir.Options{Path: root, Quiet: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan struct{}, 100)
	done := make(chan error)
	go func() { done <- f.Notify(ctx, func() { calls <- struct{}{} }) }()
	// The first change may come before the watch begins, so changes are repeated until one
	// is seen.
	seen := func(change func(i int)) {
		t.Helper()
		for i := range 200 {
			change(i)
			select {
			case <-calls:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
		t.Fatal("a change was not told")
	}
	seen(func(i int) { write(t, root, map[string]string{"a/b": fmt.Sprint(i)}) })
	seen(func(i int) { write(t, root, map[string]string{fmt.Sprintf("new%d/deep/f", i): "1"}) })
	seen(func(i int) { write(t, root, map[string]string{"new0/deep/f": fmt.Sprint(i)}) })
	for len(calls) > 0 {
		<-calls
	}
	write(t, root, map[string]string{".git/x": "2"})
	select {
	case <-calls:
		t.Error("a change in .git was told")
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
