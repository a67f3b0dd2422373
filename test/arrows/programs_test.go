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

// mayRun are the functions that run a program, and which.
func mayRun() map[string]string {
	return map[string]string{
		"agent/cmd/fairlead.supervise": "this program",
		"agent/demo.git":               "git, for a demonstration on a person's computer",
		"render/sops.run":              "sops, where --sops-program names it",
		"render/worker.start":          "this program",
		"sources/git.configured":       "git config, for a person who asks for something",
		"sources/git.signer":           "what signs a person's commits",
		"sources/git.Origin":           "git remote, for a person who asks for something",
		"sources/git.start":            "git upload-pack, for a repository on its own file system",
		"sources/git/gitserver.Init":   "git, for a demonstration and tests",
		"sources/git/gitserver.New":    "the same",
	}
}

// TestProgramsThatAreRun holds the functions that run programs against a list: an agent
// that reads a repository over https or ssh runs none but itself.
func TestProgramsThatAreRun(t *testing.T) {
	list, found := mayRun(), map[string]bool{}
	for _, room := range []string{"agent", "fleet", "providers", "reconcile", "render", "sources"} {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "hoststest" || d.Name() == "testdata") {
				return filepath.SkipDir // parts of tests
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "gitserver/ssh.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			where := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && runsPrograms(fn) {
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
		if list[name] == "" {
			t.Errorf("%s runs a program: docs/trust.md says which ones are run, and so does mayRun", name)
		}
	}
	for name := range list {
		if !found[name] {
			t.Errorf("%s of mayRun runs no program", name)
		}
	}
}

// runsPrograms reports whether fn makes a command, or starts a process in another way.
func runsPrograms(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if e, ok := n.(*ast.SelectorExpr); ok {
			x, ok := e.X.(*ast.Ident)
			switch {
			case !ok:
			case x.Name == "exec" && (e.Sel.Name == "Command" || e.Sel.Name == "CommandContext"),
				x.Name == "os" && e.Sel.Name == "StartProcess",
				x.Name == "syscall" && (e.Sel.Name == "Exec" || e.Sel.Name == "ForkExec" || e.Sel.Name == "StartProcess"):
				found = true
			}
		}
		return !found
	})
	return found
}
