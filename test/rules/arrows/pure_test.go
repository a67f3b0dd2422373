package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pureRooms are the packages that are functions of their input, with all that they may
// import.
func pureRooms() map[string][]string {
	return map[string][]string{
		"reconcile/plan": {
			"cmp", "fmt", "maps", "slices", "strconv", "strings", "time", module + "fleet", module + "reconcile/plan/health",
			module + "reconcile/plan/remediation", module + "reconcile/plan/rollout", module + "reconcile/plan/staging", module + "reconcile/plan/text",
			"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/util/version",
			"sigs.k8s.io/cluster-api/api/addons/v1beta2", "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2", "sigs.k8s.io/cluster-api/api/core/v1beta2",
		},
		"reconcile/plan/health": {
			"fmt", "slices", "strconv", "strings", "time", module + "fleet",
			"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/util/intstr", "sigs.k8s.io/cluster-api/api/core/v1beta2",
		},
		"reconcile/plan/remediation": {"cmp", "slices", "time", module + "fleet"},
		"reconcile/plan/rollout":     {"cmp", "slices", "time", module + "fleet"},
		"reconcile/plan/staging": {
			"fmt", "slices", "strings", module + "fleet", module + "reconcile/plan/text",
			"k8s.io/apimachinery/pkg/util/version", "sigs.k8s.io/cluster-api/api/core/v1beta2",
		},
		"reconcile/plan/text": {"strings"},
		"reconcile/forecast": {
			"cmp", "fmt", "maps", "slices", "strings", "time", module + "fleet", module + "reconcile/plan",
			"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1",
			"sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2", "sigs.k8s.io/cluster-api/api/core/v1beta2",
		},
		"reconcile/rollout": {
			"cmp", "fmt", "iter", "maps", "slices", "strings", "time", module + "fleet", "github.com/benbjohnson/immutable",
			"k8s.io/apimachinery/pkg/labels", "sigs.k8s.io/cluster-api/api/core/v1beta2",
		},
		"fleet/window": {"fmt", "slices", "strconv", "strings", "time", "time/tzdata", "github.com/teambition/rrule-go"},
	}
}

// TestPure keeps pure rooms functions of their input: nothing is imported that they are
// not allowed, and there is no goroutine, no clock and no global variable.
func TestPure(t *testing.T) {
	for room, allowed := range pureRooms() {
		t.Run(room, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("../../..", room, "*.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no files: %v", err)
			}
			for _, name := range files {
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				for _, fault := range impure(f, allowed) {
					t.Errorf("%s %s", name, fault)
				}
			}
		})
	}
}

// TestImpureIsSeen holds impure against a file that has one of each.
func TestImpureIsSeen(t *testing.T) {
	const source = `package p
import ("os"; "time")
var state int
func f() { go f(); _ = time.Now() }`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := impure(f, []string{"time"}); len(got) != 4 {
		t.Errorf("of four faults it sees %q", got)
	}
}

// impure says what keeps the code of f from being a function of its input.
func impure(f *ast.File, allowed []string) []string {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	var faults []string
	for _, i := range f.Imports {
		if path := strings.Trim(i.Path.Value, `"`); !slices.Contains(allowed, path) {
			faults = append(faults, "imports "+path)
		}
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			faults = append(faults, "has a global variable")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			faults = append(faults, "starts a goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				faults = append(faults, "reads a clock: time."+n.Sel.Name)
			}
		}
		return true
	})
	return faults
}
