package arrows

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildsElsewhere: the program builds for macOS and Windows. `make cross` builds it,
// which takes minutes; here each name of package syscall that the program uses is one
// that the package has there, and golang.org/x/sys/unix is for files of Unix alone.
func TestBuildsElsewhere(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src/syscall")
	for _, system := range []string{"darwin", "windows"} {
		target := build.Default
		target.GOOS, target.CgoEnabled = system, false
		names := declared(t, target, library)
		for _, room := range []string{"agent", "fleet", "providers", "reconcile", "render", "sources"} {
			err := filepath.WalkDir(filepath.Join("../../..", room), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.IsDir() {
					return err
				}
				if partOfTests(d.Name()) {
					return filepath.SkipDir
				}
				inspect(t, target, path, func(file string, n ast.Node) {
					if e, ok := n.(*ast.SelectorExpr); ok && isPackage(e.X, "syscall") && !names[e.Sel.Name] {
						t.Errorf("%s uses syscall.%s, which is not there on %s: put it into a file of its own, for the systems that have it", file, e.Sel.Name, system)
					}
					if i, ok := n.(*ast.ImportSpec); ok && system == "windows" && i.Path.Value == `"golang.org/x/sys/unix"` {
						t.Errorf("%s imports %s, which is not there on %s: put it into a file of its own, for the systems that have it", file, i.Path.Value, system)
					}
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// declared returns the names that the package in folder has for target.
func declared(t *testing.T, target build.Context, folder string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	inspect(t, target, folder, func(_ string, n ast.Node) {
		switch d := n.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = names[d.Name.Name] || d.Recv == nil
		case *ast.TypeSpec:
			names[d.Name.Name] = true
		case *ast.ValueSpec:
			for _, name := range d.Names {
				names[name.Name] = true
			}
		}
	})
	if !names["Errno"] {
		t.Fatalf("%s declares %d names and no Errno", folder, len(names))
	}
	return names
}

// inspect calls visit with each node of the files in folder that a build for target
// takes, but for tests.
func inspect(t *testing.T, target build.Context, folder string, visit func(file string, n ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if ok, err := target.MatchFile(folder, filepath.Base(file)); err != nil || !ok || strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			visit(file, n)
			return true
		})
	}
}

func isPackage(e ast.Expr, name string) bool {
	x, ok := e.(*ast.Ident)
	return ok && x.Name == name
}
