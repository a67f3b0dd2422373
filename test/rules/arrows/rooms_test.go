package arrows

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A room is a row of testdata/imports.md: a folder, and the folders below it without a row of
// their own.
type room struct {
	folder string
	may    []string // folders of the rooms that it may import
	all    bool     // it may import every package
}

// words are rooms that every room may import.
var words = []string{"fleet", "fleet/documents"}

// TestRooms compares testdata/imports.md with the code: each package is in one room, imports only
// what its row names, and each name is needed.
func TestRooms(t *testing.T) {
	rooms := table(t)
	needed := make(map[string][]string, len(rooms))
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if below(name, "test") {
			continue
		}
		own, ok := roomOf(rooms, name)
		if !ok {
			t.Errorf("%s has no row in testdata/imports.md: add one", name)
			continue
		}
		needed[own.folder] = append(needed[own.folder], "")
		for _, d := range p.Imports {
			d, ours := strings.CutPrefix(d, module)
			if !ours {
				continue
			}
			other, ok := roomOf(rooms, d)
			if !ok || other.folder == own.folder || slices.Contains(words, other.folder) {
				continue
			}
			needed[own.folder] = append(needed[own.folder], other.folder)
			if !own.all && !slices.Contains(own.may, other.folder) {
				t.Errorf("%s imports %s, and the row of %s in testdata/imports.md does not name %s", name, d, own.folder, other.folder)
			}
		}
	}
	for _, r := range rooms {
		for _, m := range r.may {
			if !slices.Contains(needed[r.folder], m) {
				t.Errorf("the row of %s names %s, which it does not import", r.folder, m)
			}
		}
		if needed[r.folder] == nil {
			t.Errorf("the row of %s is for no package", r.folder)
		}
	}
}

// TestFoldersAreShort: a folder with more than nine folders of packages is no diagram. The
// module's own folder and the catalogue of examples are what they are.
func TestFoldersAreShort(t *testing.T) {
	within := make(map[string]map[string]bool)
	for _, p := range list(t) {
		for name := strings.TrimPrefix(p.ImportPath, module); ; {
			parent, child := path.Split(name)
			parent = strings.TrimSuffix(parent, "/")
			if within[parent] == nil {
				within[parent] = make(map[string]bool)
			}
			within[parent][child] = true
			if name = parent; name == "" {
				break
			}
		}
	}
	for parent, children := range within {
		if len(children) > 9 && parent != "" && parent != "fleet-examples" {
			t.Errorf("%s has %d folders of packages, and nine are the most: %s", parent, len(children), strings.Join(slices.Sorted(maps.Keys(children)), " "))
		}
	}
}

// roomOf is the room that the package in folder name is in.
func roomOf(rooms []room, name string) (room, bool) {
	var found room
	for _, r := range rooms {
		if below(name, r.folder) && len(r.folder) > len(found.folder) {
			found = r
		}
	}
	return found, found.folder != ""
}

var (
	rowOf  = regexp.MustCompile("^\\| `([^|]+)` \\|(?: (.*))?\\|$")
	folder = regexp.MustCompile("`([^`]+)`")
)

// table reads the rooms, and what each may import.
func table(t *testing.T) []room {
	t.Helper()
	var rooms []room
	rows(t, "testdata/imports.md", "# Imports", func(name, imports string) {
		r := room{folder: name, all: strings.Contains(imports, "every package")}
		for _, m := range folder.FindAllStringSubmatch(imports, -1) {
			r.may = append(r.may, m[1])
		}
		rooms = append(rooms, r)
	})
	if len(rooms) < 20 {
		t.Fatalf("testdata/imports.md has %d rows, which cannot be all", len(rooms))
	}
	return rooms
}

// TestArchitectureNamesFolders: each room is in a folder that docs/architecture.md has a row of, and
// each row has a room.
func TestArchitectureNamesFolders(t *testing.T) {
	shown := make(map[string]int)
	rows(t, "../../../docs/architecture.md", "\n## Packages", func(names, _ string) {
		for _, name := range strings.Split(names, "`, `") {
			shown[name] = 0
		}
	})
	for _, r := range table(t) {
		var row string
		for name := range shown {
			if below(r.folder, name) && len(name) > len(row) {
				row = name
			}
		}
		if row == "" {
			t.Errorf("docs/architecture.md has no row for %s", r.folder)
		}
		shown[row]++
	}
	for name, n := range shown {
		if n == 0 {
			t.Errorf("docs/architecture.md has a row for %s, where no package is", name)
		}
	}
}

// rows calls each with the cells of the rows of the section of a page.
func rows(t *testing.T, page, section string, each func(name, text string)) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, found, ok := strings.Cut(string(text), section+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", page, strings.TrimSpace(section))
	}
	found, _, _ = strings.Cut(found, "\n## ")
	seen := map[string]bool{}
	for line := range strings.Lines(found) {
		row := rowOf.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			continue
		}
		if seen[row[1]] {
			t.Errorf("%s has two rows in %s", row[1], page)
		}
		seen[row[1]] = true
		each(row[1], row[2])
	}
}
