package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// only holds the functions of the program that does is true of, called as in
// "agent/cli.newStatus", against the list may, which says why. Missing and idle are what
// is said of one that the list lacks, and of one of the list that does is not true of.
func only(t *testing.T, may map[string]string, does func(room string, fn *ast.FuncDecl) bool, missing, idle string) {
	t.Helper()
	found := map[string]bool{}
	for _, room := range []string{"agent", "fleet", "providers", "reconcile", "render", "sources"} {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && partOfTests(d.Name()):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			where := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && does(where, fn) {
					found[where+"."+fn.Name.Name] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range found {
		if may[name] == "" {
			t.Errorf("%s %s", name, missing)
		}
	}
	for name := range may {
		if !found[name] {
			t.Errorf("%s %s", name, idle)
		}
	}
}

// partOfTests reports whether a folder of that name holds what tests alone use.
func partOfTests(name string) bool {
	return strings.HasSuffix(name, "test") || name == "testdata"
}
