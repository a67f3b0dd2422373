package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// mayRun are the functions that run a program, and which.
func mayRun() map[string]string {
	return map[string]string{
		"agent/wiring/supervise.runAgain": "this program",
		"agent/wiring/demo.git":           "git, for a demonstration on a person's computer",
		"render/sops.run":                 "sops, where --sops-program names it",
		"render/worker.start":             "this program",
		"sources/git.configured":          "git config, for a person who asks for something",
		"sources/git.filled":              "git credential, for a person who looks or asks",
		"sources/git.signer":              "what signs a person's commits",
		"sources/git.Origin":              "git remote, for a person who asks for something",
		"sources/git.run":                 "git, in the clone of a person who rolls back or compares",
		"sources/git.sshConfig":           "ssh -G, which connects to nothing, for a person who looks or asks",
		"sources/git.start":               "git upload-pack, for a repository on its own file system",
		"sources/git/gitserver.Init":      "git, for a demonstration and tests",
		"sources/git/gitserver.New":       "the same",
		"sources/git/gitserver.StartSSH":  "sshd, for tests",
	}
}

// TestProgramsThatAreRun holds the functions that run programs against a list: an agent
// that reads a repository over https or ssh runs none but itself.
func TestProgramsThatAreRun(t *testing.T) {
	only(t, mayRun(), func(_ string, fn *ast.FuncDecl) bool { return runsPrograms(fn) },
		"runs a program: docs/concepts/trust.md says which ones are run, and so does mayRun",
		"of mayRun runs no program")
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

// TestProgramsAreSupervised: each program of the product gives its own crashes an exit code,
// so that none of them is taken for an answer.
func TestProgramsAreSupervised(t *testing.T) {
	mains, err := filepath.Glob("../../../agent/cmd/*/main.go")
	if err != nil || len(mains) < 2 {
		t.Fatalf("found %v, %v", mains, err)
	}
	for _, name := range mains {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		supervised := false
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(*ast.SelectorExpr); ok && e.Sel.Name == "Main" {
				x, ok := e.X.(*ast.Ident)
				supervised = supervised || ok && (x.Name == "program" || x.Name == "supervise")
			}
			return true
		})
		if !supervised {
			t.Errorf("%s calls neither program.Main nor supervise.Main", name)
		}
	}
}
