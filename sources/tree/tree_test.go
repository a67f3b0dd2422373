package tree_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// A store holds folders and files by id.
type store struct {
	dirs  map[string][]tree.Entry
	files map[string]string
	reads int
}

func (s *store) Dir(id string) ([]tree.Entry, error) {
	s.reads++
	return s.dirs[id], nil
}
func (s *store) File(id string) ([]byte, error) { return []byte(s.files[id]), nil }

func file(name, id string, size int64) tree.Entry { return tree.Entry{Name: name, ID: id, Size: size} }

func folder(name, id string) tree.Entry { return tree.Entry{Name: name, Mode: fs.ModeDir, ID: id} }

func link(name, id string) tree.Entry { return tree.Entry{Name: name, Mode: fs.ModeSymlink, ID: id} }

func wantInvalid(t *testing.T, err error, words string) {
	t.Helper()
	if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v of kind %q, want Invalid with %q", err, fleet.KindOf(err), words)
	}
}

func TestFilesystem(t *testing.T) {
	s := &store{
		dirs: map[string][]tree.Entry{
			"root": {folder("d", "d"), file("a", "f1", 1), link("to-d", "l1"), link("to-file", "l2"), {Name: "sub", Mode: fs.ModeIrregular, ID: "x"}},
			"d":    {file("b", "f2", 2), link("up", "l3"), folder("e", "e")},
			"e":    {link("back", "l4")},
		},
		files: map[string]string{"f1": "1", "f2": "22", "l1": "d", "l2": "to-d/./b", "l3": "../a", "l4": "../../to-d/b"},
	}
	tr, err := tree.NewIndex(s, tree.Budget{}).Tree("root")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range []string{"a", "d/b", "to-d/b", "to-file", "d/up", "to-d/up", "d/e/back", "to-d/e/back"} {
		b, err := fs.ReadFile(tr, p)
		if err != nil {
			t.Error(err)
		}
		id, err := tr.Digest(p)
		if err != nil {
			t.Error(err)
		}
		got[p] = string(b) + " " + id
	}
	want := map[string]string{
		"a": "1 f1", "d/b": "22 f2", "to-d/b": "22 f2", "to-file": "22 f2", "d/up": "1 f1", "to-d/up": "1 f1",
		"d/e/back": "22 f2", "to-d/e/back": "22 f2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := fs.ReadFile(tr, "sub"); err == nil || !strings.Contains(err.Error(), "submodule") {
		t.Errorf("reading a submodule gives %v", err)
	}
	delete(s.files, "")
	s.dirs["root"] = s.dirs["root"][:4]
	if tr, err = tree.NewIndex(s, tree.Budget{}).Tree("root"); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tr, "a", "d/b", "to-file", "d/e/back"); err != nil {
		t.Error(err)
	}
}

func TestLinks(t *testing.T) {
	for name, target := range map[string]string{
		"absolute": "/etc/passwd", "out": "../x", "far out": "d/../../x", "out by a link": "d/up/../x", "itself": "l",
		"circle": "m", "nothing": "", "backslash": `..\x`, "long": strings.Repeat("a/", 3000),
	} {
		s := &store{
			dirs:  map[string][]tree.Entry{"root": {link("l", "l"), link("m", "m"), folder("d", "d"), file("x", "x", 0)}, "d": {link("up", "up")}},
			files: map[string]string{"l": target, "m": "l", "up": ".."},
		}
		tr, err := tree.NewIndex(s, tree.Budget{}).Tree("root")
		if err != nil {
			t.Fatal(err)
		}
		_, err = fs.ReadFile(tr, "l")
		wantInvalid(t, err, `symbolic link "`)
		if b, err := fs.ReadFile(tr, "x"); err != nil || len(b) != 0 {
			t.Errorf("%s: other files are refused too: %v", name, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", ".git", ".GIT", ".Git ", ".git.", ".git. .", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git",
		"a/b", `a\b`, "a\x00b", "a\nb", "a\xffb",
	} {
		s := &store{dirs: map[string][]tree.Entry{"root": {folder("d", "d")}, "d": {file(name, "f", 1)}}}
		_, err := tree.NewIndex(s, tree.Budget{}).Tree("root")
		wantInvalid(t, err, fmt.Sprintf("has an entry %q", name))
	}
	for _, name := range []string{".gitignore", ".github", "git", "git~2", "...", "a b", "ü", ".gitmodules"} {
		s := &store{dirs: map[string][]tree.Entry{"root": {file(name, "f", 1)}}}
		if _, err := tree.NewIndex(s, tree.Budget{}).Tree("root"); err != nil {
			t.Error(err)
		}
	}
	s := &store{dirs: map[string][]tree.Entry{"root": {file("a", "f", 1), folder("a", "d")}}}
	_, err := tree.NewIndex(s, tree.Budget{}).Tree("root")
	wantInvalid(t, err, `two entries "a"`)
}

// Safety: a bomb of equal subtrees is refused after each was read once.
func TestBombs(t *testing.T) {
	bomb := func(levels, width int) *store {
		s := &store{dirs: map[string][]tree.Entry{}}
		for l := range levels {
			for w := range width {
				e := folder(fmt.Sprint(w), fmt.Sprint(l+1))
				if l == levels-1 {
					e = file(fmt.Sprint(w), "f", 1)
				}
				s.dirs[fmt.Sprint(l)] = append(s.dirs[fmt.Sprint(l)], e)
			}
		}
		return s
	}
	// Each folder has its subfolder first, and is in memory until that is counted.
	wide := &store{dirs: map[string][]tree.Entry{}}
	for l := range 30 {
		wide.dirs[fmt.Sprint(l)] = append(slices.Repeat([]tree.Entry{file("z", "f", 1)}, 900), folder("a", fmt.Sprint(l+1)))
	}
	for name, c := range map[string]struct {
		store  *store
		budget tree.Budget
		words  string
	}{
		"wide and deep":     {wide, tree.Budget{Files: 1000}, "more than 1000 files"},
		"10 levels of 10":   {bomb(10, 10), tree.Budget{}, "more than 100000 files"},
		"40 levels of 2":    {bomb(40, 2), tree.Budget{Depth: 100}, "more than 100000 files"},
		"deep":              {bomb(40, 1), tree.Budget{}, "more than 32 folders deep"},
		"bytes":             {bomb(3, 10), tree.Budget{Bytes: 999}, "more than 999 bytes"},
		"one file":          {&store{dirs: map[string][]tree.Entry{"0": {file("big", "f", 17<<20)}}}, tree.Budget{}, `"big" has 17825792 bytes`},
		"deep by an old id": {&store{dirs: map[string][]tree.Entry{"0": {folder("a", "1"), folder("b", "2")}, "1": {folder("c", "9")}, "2": {folder("d", "1")}}}, tree.Budget{Depth: 2}, "2 folders deep"},
	} {
		_, err := tree.NewIndex(c.store, c.budget).Tree("0")
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		wantInvalid(t, err, c.words)
		if c.store.reads > 40 || name == "wide and deep" && c.store.reads > 2 {
			t.Errorf("%s: %d folders were read", name, c.store.reads)
		}
	}
}

// Safety: an entry that is bad is kept back, told, and holds up nothing beside it.
func TestLazy(t *testing.T) {
	s := &store{
		dirs: map[string][]tree.Entry{
			"root":   {folder("good", "good"), folder("bad", "bad"), folder("deep", "deep"), folder("wide", "wide")},
			"good":   {file("a", "f", 1)},
			"bad":    {file("a", "f", 1), file("b\\c", "f", 1), file("\xff", "f", 1), file("big", "f", 17<<20), file("two", "f", 1), file("two", "g", 1), folder("d\n", "good"), link("way", "way")},
			"deep":   {folder("1", "deeper"), file("a", "f", 1)},
			"deeper": {folder("2", "good"), file("a", "f", 1)},
			"wide":   slices.Repeat([]tree.Entry{file("a", "f", 1)}, 20),
		},
		files: map[string]string{"f": "x", "way": "d\n/a"},
	}
	tr := tree.NewIndex(s, tree.Budget{Depth: 2, Files: 10}).Lazy("root")
	if s.reads != 0 {
		t.Errorf("%d folders were read before anybody asked", s.reads)
	}
	for _, name := range []string{"good/a", "bad/a", "deep/a", "deep/1/a"} {
		if _, err := fs.ReadFile(tr, name); err != nil {
			t.Error(err)
		}
	}
	for name, words := range map[string]string{"bad/big": "17825792 bytes", "deep/1/2/a": "2 folders deep", "wide/a": "more than 10 entries", "bad/two": "2 entries", "bad/way": "a control character"} {
		_, err := fs.ReadFile(tr, name)
		wantInvalid(t, err, words)
	}
	_, err := tr.Lstat("bad/two")
	wantInvalid(t, err, "2 entries") // and not that there is none
	if _, err := tr.Stat("bad/three"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	got := map[string][]string{}
	for _, dir := range []string{".", "good", "bad", "deep", "deep/1", "wide", "none"} {
		for _, b := range tr.Bad(dir) {
			got[dir] = append(got[dir], fmt.Sprintf("%s %q %v: %v", b.Folder, b.Name, b.Dir, b.Err))
		}
	}
	const accept = "cannot accept the content of the repository: "
	want := map[string][]string{
		"bad": {
			`bad "b\\c" false: the name has a path separator in it`, `bad "d\n" true: the name has a control character in it`,
			`bad "two" false: there are 2 entries of this name`, `bad "two" false: there are 2 entries of this name`,
			`bad "\xff" false: the name is not UTF-8`, `bad "big" false: it has 17825792 bytes, more than 16777216`,
		},
		"deep/1": {`deep/1 "2" true: it is more than 2 folders deep`},
		"wide":   {`. "wide" true: ` + accept + `the folder has more than 10 entries`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	names := map[string]int{}
	for _, dir := range []string{"bad", "deep/1"} {
		list, err := fs.ReadDir(tr, dir)
		if err != nil {
			t.Error(err)
		}
		names[dir] = len(list)
	}
	if diff := cmp.Diff(map[string]int{"bad": 3, "deep/1": 1}, names); diff != "" {
		t.Error(diff)
	}
}

// What is kept of folders that were looked at is bounded: of more, those of before are
// asked for again.
func TestLazyKeepsSoMuch(t *testing.T) {
	s := &store{dirs: map[string][]tree.Entry{}, files: map[string]string{"f": "x"}}
	for i := range 8 {
		name := strconv.Itoa(i)
		s.dirs["root"] = append(s.dirs["root"], folder(name, "dir "+name))
		s.dirs["dir "+name] = []tree.Entry{file("a", "f "+name, 1)}
	}
	tr := tree.NewIndex(s, tree.Budget{Files: 8}).Lazy("root")
	look := func(name string) int {
		before := s.reads
		if _, err := fs.Stat(tr, name+"/a"); err != nil {
			t.Error(err)
		}
		return s.reads - before
	}
	look("0")
	if n := look("0"); n != 0 {
		t.Errorf("a folder that was just looked at is read %d times", n)
	}
	for range 2 {
		for i := range 8 {
			s.dirs["dir "+strconv.Itoa(i)] = append(s.dirs["dir "+strconv.Itoa(i)], file("b", "f", 1))
			look(strconv.Itoa(i))
		}
	}
	if n := look("0"); n == 0 {
		t.Error("all folders that were ever looked at are kept")
	}
}
