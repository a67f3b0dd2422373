package tree_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/sources"
	"fairlead.dev/sources/tree"
)

// lazyTree returns the tree root of s as sources of Git give it.
func lazyTree(s *store) sources.Tree { return tree.NewIndex(s, tree.Budget{}).Lazy("root") }

func TestMounted(t *testing.T) {
	base := &store{
		dirs: map[string][]tree.Entry{
			"root":    {folder("clusters", "c"), folder("sources", "sources"), link("way", "way")},
			"c":       {file("a", "f1", 1), link("in", "in")},
			"sources": {folder("own", "c"), folder("platform", "c"), file("b\\c", "f1", 1)},
		},
		files: map[string]string{"f1": "1", "way": "sources/platform", "in": "../sources/platform/x"},
	}
	other := &store{
		dirs: map[string][]tree.Entry{
			"root": {file("x", "f2", 2), folder("d", "d"), link("out", "out"), link("back", "back")},
			"d":    {file("y", "f3", 1), file("\xff", "f3", 1)},
		},
		files: map[string]string{"f2": "22", "f3": "3", "out": "../../clusters/a", "back": "d/y"},
	}
	m := tree.Mounted(lazyTree(base), "sources", map[string]sources.Tree{
		"platform": lazyTree(other), "gone": tree.Unavailable(errors.New("it is away")),
	})
	got := map[string]string{}
	for _, name := range []string{
		"clusters/a", "sources/own/a", "sources/platform/x", "sources/platform/d/y", "sources/platform/back",
		"sources/platform/a", "sources/platform/out", "sources/gone/x", "clusters/in", "way/x", "sources/gone",
	} {
		b, err := fs.ReadFile(m, name)
		f, openErr := m.Open(name)
		if (openErr == nil) != (err == nil) {
			t.Errorf("%s: ReadFile says %v, Open %v", name, err, openErr)
		}
		if openErr == nil {
			_ = f.Close()
		}
		if got[name] = string(b); err != nil {
			got[name] = err.Error()
		}
	}
	want := map[string]string{
		"clusters/a": "1", "sources/own/a": "1", "sources/platform/x": "22", "sources/platform/d/y": "3", "sources/platform/back": "3",
		// What the base has at the same place is not seen.
		"sources/platform/a":   "open sources/platform/a: file does not exist",
		"sources/platform/out": `open sources/platform/out: cannot accept the content of the repository: symbolic link "out" points out of the repository`,
		"sources/gone/x":       "open sources/gone/x: it is away", "sources/gone": "open sources/gone: it is away",
		// A link of the base goes to what the base has there.
		"clusters/in": "open clusters/in: file does not exist", "way/x": "open way/x: file does not exist",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, dir := range []string{".", "sources", "sources/platform"} {
		list, err := fs.ReadDir(m, dir)
		if err != nil {
			t.Error(err)
		}
		for _, e := range list {
			names = append(names, dir+"/"+e.Name())
		}
	}
	if diff := cmp.Diff([]string{
		"./clusters", "./sources", "./way", "sources/gone", "sources/own", "sources/platform",
		"sources/platform/back", "sources/platform/d", "sources/platform/out", "sources/platform/x",
	}, names); diff != "" {
		t.Error(diff)
	}
	var bad []string
	for _, dir := range []string{"sources", "sources/platform", "sources/platform/d", "sources/gone"} {
		for _, b := range m.(sources.Judged).Bad(dir) {
			bad = append(bad, b.Folder+": "+b.Name)
		}
	}
	if diff := cmp.Diff([]string{"sources: b\\c", "sources/platform/d: \xff"}, bad); diff != "" {
		t.Error(diff)
	}
}

func TestMountedIsAFilesystem(t *testing.T) {
	base := &store{dirs: map[string][]tree.Entry{"root": {folder("clusters", "c")}, "c": {file("a", "f", 1)}}, files: map[string]string{"f": "1"}}
	other := &store{dirs: map[string][]tree.Entry{"root": {file("x", "f", 1)}}, files: map[string]string{"f": "2"}}
	m := tree.Mounted(lazyTree(base), "sources", map[string]sources.Tree{"platform": lazyTree(other)})
	if err := fstest.TestFS(m, "clusters/a", "sources/platform/x"); err != nil {
		t.Error(err)
	}
	if same := tree.Mounted(lazyTree(base), "sources", nil); strings.Contains(digest(t, same, "."), "sha256:") {
		t.Error("a tree without mounts is another one")
	}
	other.dirs["other"] = []tree.Entry{file("x", "f2", 1)}
	next := tree.Mounted(lazyTree(base), "sources", map[string]sources.Tree{"platform": tree.NewIndex(other, tree.Budget{}).Lazy("other")})
	for _, dir := range []string{".", "sources", "sources/platform"} {
		if digest(t, m, dir) == digest(t, next, dir) {
			t.Errorf("%s: other content has the same digest", dir)
		}
	}
	if digest(t, m, "clusters") != "c" {
		t.Error("the digest of what is elsewhere changed")
	}
}

func digest(t *testing.T, tr sources.Tree, name string) string {
	t.Helper()
	d, err := tr.Digest(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
