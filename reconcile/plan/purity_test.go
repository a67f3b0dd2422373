package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPurity keeps plan a function of its input: only the imports below, no
// goroutine, no clock.
func TestPurity(t *testing.T) {
	allowed := []string{
		"cmp", "fmt", "slices", "strconv", "strings", "time",
		"fairlead.dev/fleet",
		"k8s.io/api/core/v1",
		"k8s.io/apimachinery/pkg/apis/meta/v1",
		"k8s.io/apimachinery/pkg/labels",
		"k8s.io/apimachinery/pkg/util/intstr",
		"k8s.io/apimachinery/pkg/util/version",
		"sigs.k8s.io/cluster-api/api/addons/v1beta2",
		"sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2",
		"sigs.k8s.io/cluster-api/api/core/v1beta2",
	}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", name)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					t.Errorf("%s reads a clock: time.%s", name, n.Sel.Name)
				}
			case *ast.GenDecl:
				if n.Tok == token.VAR && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool { return d == ast.Decl(n) }) {
					t.Errorf("%s has a global variable", name)
				}
			}
			return true
		})
	}
}

// TestArrow checks that plan knows nothing of this module but its words.
func TestArrow(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		switch path = strings.TrimSpace(path); {
		case !strings.HasPrefix(path, "fairlead.dev/"):
		case path == "fairlead.dev/fleet", path == "fairlead.dev/reconcile/plan":
		default:
			t.Errorf("plan depends on %s", path)
		}
	}
}
