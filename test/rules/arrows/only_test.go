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

// only checks that the functions of the program for which does is true are exactly those in
// may, which has the reasons. Functions are named like "agent/console/cli.newStatus". missing is
// the message for a function that may lacks, idle for a function in may for which does is
// false.
func only(t *testing.T, may map[string]string, does func(room string, fn *ast.FuncDecl) bool, missing, idle string) {
	t.Helper()
	found := map[string]bool{}
	for _, room := range []string{"agent", "fleet", "providers", "reconcile", "render", "sources"} {
		err := filepath.WalkDir(filepath.Join("../../..", room), func(path string, d fs.DirEntry, err error) error {
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
			where := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../../")
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

// partOfTests reports whether only tests use a folder of that name.
func partOfTests(name string) bool {
	return strings.HasSuffix(name, "test") || name == "testdata"
}
