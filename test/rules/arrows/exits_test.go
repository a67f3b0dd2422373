package arrows

import (
	"go/ast"
	"slices"
	"testing"
)

// mayLeave are the functions that write to the streams of the process around the one that
// takes out of texts what steers a terminal, and what. Commands write to the streams of
// cobra, which go through it.
func mayLeave() map[string]string {
	return map[string]string{
		"agent/console/cli.New":           "makes the streams of commands go through it",
		"agent/console/cli.Main":          "the last error, which is plain",
		"agent/console/cli.serveRenders":  "the answers of a worker, to the process that began it",
		"agent/console/output.Terminal":   "finds the terminal, to draw on",
		"agent/console/output.draw":       "a frame on a terminal, whose text is plain",
		"agent/console/output.Text":       "a table, whose cells are plain, in colours",
		"agent/console/cli.newDemo":       "the story of a demonstration is drawn",
		"agent/console/output.Width":      "asks how wide the terminal is",
		"agent/console/output.isTerminal": "asks whether it is one",
		"agent/console/cli.newKubeconfig": "a kubeconfig, for other programs",
		"agent/console/cli.newSecretsGet": "the value of a secret, for other programs",
		"agent/console/cli.showSecret":    "the same",
		"agent/console/cli.showObjects":   "manifests, for other programs",
		"agent/cmd/demo.main":             "hands the streams of the process to the commands",
		"agent/wiring/program.Main":       "the same",
		"agent/wiring/supervise.runAgain": "passes them on to the process that it runs",
		"render/worker.endLate":           "what a worker that took too long says to the process that began it",
	}
}

// TestNothingLeavesUnsanitised holds the functions of the program that write to the
// streams of the process in another way than commands do against a list.
func TestNothingLeavesUnsanitised(t *testing.T) {
	only(t, mayLeave(), func(room string, fn *ast.FuncDecl) bool {
		return leaves(fn, room == "agent/console/cli" || room == "agent/console/output")
	},
		"writes around the one exit: write to the streams of the command, or say in mayLeave why not",
		"of mayLeave writes to nothing but the streams of commands")
}

// leaves reports whether fn has a stream of the process, prints to one, or, in the command
// line, calls what leads around the exit.
func leaves(fn *ast.FuncDecl, commands bool) bool {
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name, ok := n.Fun.(*ast.Ident)
			around := []string{"println"}
			if commands {
				around = append(around, "Exact", "Terminal")
			}
			found = found || ok && slices.Contains(around, name.Name)
		case *ast.SelectorExpr:
			of := ""
			if x, ok := n.X.(*ast.Ident); ok {
				of = x.Name
			}
			switch n.Sel.Name {
			case "Exact", "Terminal":
				found = found || of == "output"
			case "Stdout", "Stderr":
				found = found || of == "os"
			case "Print", "Printf", "Println":
				found = found || of == "fmt" || of == "log"
			case "SetOut", "SetErr", "SetOutput":
				found = found || commands
			case "Out", "Err":
				found = found || commands && of == "s" // of Streams
			case "File":
				found = found || commands && (of == "s" || of == "w") // of a screen
			}
		}
		return !found
	})
	return found
}
