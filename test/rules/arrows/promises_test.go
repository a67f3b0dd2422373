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

// TestPromisesAreHeld: each guarantee of testdata/guarantees.md names tests and checks that exist.
func TestPromisesAreHeld(t *testing.T) {
	shown, err := os.ReadFile("testdata/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| \*\*([^*]+)\*\*.* \| ([^|]*) \|$`).FindAllStringSubmatch(string(shown), -1)
	if len(rows) < 140 || len(rows) != strings.Count(string(shown), "\n| **") {
		t.Fatalf("testdata/guarantees.md has %d guarantees with tests, which cannot be all", len(rows))
	}
	code := identifiers(t)
	for _, row := range rows {
		named := regexp.MustCompile("`([A-Z]\\w*)(?:/\\w+)?`").FindAllStringSubmatch(row[2], -1)
		if len(named) == 0 {
			t.Errorf("testdata/guarantees.md names no test for %q", row[1])
		}
		for _, n := range named {
			what := n[1] // a property, or a check of conformance
			if strings.HasPrefix(what, "Test") {
				what = "func " + what + "("
			}
			if !code[what] {
				t.Errorf("%s is named for %q, and is not there", n[1], row[1])
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
