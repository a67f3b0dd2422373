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

// TestPromisesAreHeld: the tests and checks that docs/architecture.md names exist.
func TestPromisesAreHeld(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, ok := strings.Cut(string(page), "\n## Guarantees\n")
	if !ok {
		t.Fatal("docs/architecture.md has no section Guarantees")
	}
	promises, _, _ = strings.Cut(promises, "\n## ")
	code := identifiers(t)
	for promise := range strings.SplitSeq(promises, "\n- ") {
		_, held, _ := strings.Cut(promise, "Tests:")
		named := regexp.MustCompile("`([A-Z]\\w*)(?:/\\w+)?`").FindAllStringSubmatch(held, -1)
		if len(named) == 0 && strings.HasPrefix(promise, "**") {
			t.Errorf("no test is named for the promise %q", firstLine(promise))
		}
		for _, n := range named {
			what := n[1] // a property, or a check of conformance
			if strings.HasPrefix(what, "Test") {
				what = "func " + what + "("
			}
			if !code[what] {
				t.Errorf("%s is named for the promise %q, and is not there", n[1], firstLine(promise))
			}
		}
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
