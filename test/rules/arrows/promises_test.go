package arrows

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesAreHeld: testdata/guarantees.md has a line for each guarantee of
// docs/architecture.md, with tests and checks that exist.
func TestPromisesAreHeld(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("testdata/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, ok := strings.Cut(string(page), "\n## Guarantees\n")
	if !ok {
		t.Fatal("docs/architecture.md has no section Guarantees")
	}
	promises, _, _ = strings.Cut(promises, "\n## ")
	tests, code := cells(string(shown)), identifiers(t)
	delete(tests, "guarantee")
	for _, m := range regexp.MustCompile(`(?m)^- \*\*([^*]+)\*\*`).FindAllStringSubmatch(promises, -1) {
		promise := strings.Join(strings.Fields(m[1]), " ")
		named := regexp.MustCompile("`([A-Z]\\w*)(?:/\\w+)?`").FindAllStringSubmatch(tests[promise], -1)
		delete(tests, promise)
		if len(named) == 0 {
			t.Errorf("testdata/guarantees.md names no test for %q", promise)
		}
		for _, n := range named {
			what := n[1] // a property, or a check of conformance
			if strings.HasPrefix(what, "Test") {
				what = "func " + what + "("
			}
			if !code[what] {
				t.Errorf("%s is named for %q, and is not there", n[1], promise)
			}
		}
	}
	for promise := range tests {
		t.Errorf("testdata/guarantees.md has %q, which is no guarantee of docs/architecture.md", promise)
	}
}

// identifiers returns the names that Go files of the module have in them, and "func TestX(" for
// each test.
func identifiers(t *testing.T) map[string]bool {
	t.Helper()
	out := make(map[string]bool)
	names := regexp.MustCompile(`(?m)^func Test\w+\(|\b[A-Z]\w*`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "bin" {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range names.FindAllString(string(text), -1) {
			out[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
