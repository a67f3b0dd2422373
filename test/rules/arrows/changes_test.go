package arrows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/providers"
)

// contracts are the interfaces that change the world, by package, and which of their
// methods do.
func contracts() map[string]map[string]map[string]bool {
	return map[string]map[string]map[string]bool{
		"providers": providers.Changes(),
		"reconcile": {"SecretStore": {"Get": false, "Create": true, "Replace": true, "Delete": true}},
	}
}

// mayChange are those that call what changes the world, beside reconcile/exec, and why:
// packages with what is below them, packages alone ("providers."), or functions.
func mayChange() map[string]string {
	return map[string]string{
		"providers.":                          "through.go stands before the calls of abilities",
		"providers/decorators/limit":          "a decorator",
		"providers/decorators/trace":          "a decorator",
		"providers/conformance":               "the suite that providers are held against",
		"test/run/life":                       "stands for the agent in suites of providers",
		"reconcile.Forget":                    "ends what runs for a cluster that is not this agent's any more",
		"agent/ownership/adopt.mark":          "people take over what another controller made",
		"agent/ownership/adopt.revert":        "people undo that",
		"agent/ownership/adopt.storeOne":      "the secrets of a cluster that is taken over",
		"agent/secrets.Create":                "the gate before the secrets: a decorator",
		"agent/secrets.Replace":               "the same",
		"agent/secrets.Delete":                "the same",
		"agent/console/orphans.removeOne":     "people remove orphans",
		"agent/ownership/pivot.put":           "people move a fleet, with its secrets",
		"agent/ownership/pivot.compareByMark": "a mark that it stored a moment before",
		"agent/ownership/pivot.clean":         "secrets that were copied leave the place they were in",
		"agent/ownership/pivot.removeCopies":  "secrets that a pivot that is undone copied",
		"agent/secrets/escrow.restore":        "people restore a backup of secrets",
	}
}

// A compiled package is one as go list shows it, with what the compiler wrote of it.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// A checker knows the types of the module.
type checker struct {
	fset     *token.FileSet
	packages []compiled // of the module
	imports  types.Importer

	contracts []contract
	changing  map[string]bool // names of methods of contracts that change the world
}

// A contract is an interface of which is known what changes the world.
type contract struct {
	name    string
	is      *types.Interface
	changes map[string]bool
}

// method returns the one called so; nil: there is none.
func (c *contract) method(name string) *types.Func {
	for m := range c.is.Methods() {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// checked is made by the first test that needs it.
var checked struct {
	once sync.Once
	k    *checker
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	checked.once.Do(func() { checked.k = compile(t) })
	if checked.k == nil {
		t.Fatal("the packages could not be compiled: see the first test that failed")
	}
	return checked.k
}

func compile(t *testing.T) *checker {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = "../../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot list packages: %v\n%s", err, stderr.String())
	}
	k := &checker{fset: token.NewFileSet()}
	exports := make(map[string]string)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p compiled
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) {
			k.packages = append(k.packages, p)
		}
	}
	k.imports = importer.ForCompiler(k.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s was not compiled", path)
		}
		return os.Open(exports[path])
	})
	k.changing = make(map[string]bool)
	for path, list := range contracts() {
		p, err := k.imports.Import(module + path)
		if err != nil {
			t.Fatal(err)
		}
		for name, methods := range list {
			o := p.Scope().Lookup(name)
			if o == nil {
				t.Fatalf("package %s has no %s", path, name)
			}
			k.contracts = append(k.contracts, contract{name, o.Type().Underlying().(*types.Interface), methods})
			for method, changes := range methods {
				k.changing[method] = k.changing[method] || changes
			}
		}
	}
	return k
}

// mentions reports whether a file selects something that is called like a method that
// changes the world.
func (k *checker) mentions(f *ast.File) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		e, ok := n.(*ast.SelectorExpr)
		found = found || ok && k.changing[e.Sel.Name]
		return !found
	})
	return found
}

// uses calls found with each method that package p selects and whose name is that of one
// that changes the world, the function that it is in, and the type that it is selected
// of.
func (k *checker) uses(t *testing.T, p compiled, found func(in string, at token.Pos, of types.Type, method *types.Func)) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(k.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if !slices.ContainsFunc(files, k.mentions) {
		return
	}
	info := &types.Info{Selections: make(map[*ast.SelectorExpr]*types.Selection)}
	if _, err := (&types.Config{Importer: k.imports}).Check(p.ImportPath, k.fset, files, info); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			in := ""
			if fn, ok := d.(*ast.FuncDecl); ok {
				in = "." + fn.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if e, ok := n.(*ast.SelectorExpr); ok && k.changing[e.Sel.Name] {
					if s := info.Selections[e]; s != nil && s.Kind() != types.FieldVal {
						found(in, e.Sel.Pos(), s.Recv(), s.Obj().(*types.Func))
					}
				}
				return true
			})
		}
	}
}

// change tells which contract has method as one that changes the world, where of, the
// type that it is called of, is one of that contract; or where of is of none that has
// the method, but has it as that one does.
func (k *checker) change(of types.Type, method *types.Func) string {
	named, known := "", false
	for _, c := range k.contracts {
		m := c.method(method.Name())
		switch {
		case m == nil:
		case types.Implements(of, c.is) || types.Implements(types.NewPointer(of), c.is):
			if known = true; c.changes[m.Name()] {
				return c.name + "." + m.Name()
			}
		case c.changes[m.Name()] && m.Signature().Params().Len() > 1 && types.Identical(m.Type(), method.Type()):
			named = c.name + "." + m.Name()
		}
	}
	if known {
		return ""
	}
	return named
}

// TestOnlyExecChangesTheWorld: what changes an infrastructure, a workload cluster or the
// secrets of one is called by reconcile/exec alone, but for what is named here with
// reasons.
func TestOnlyExecChangesTheWorld(t *testing.T) {
	k := newChecker(t)
	used, allowed := make(map[string]bool), mayChange()
	for _, p := range k.packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		k.uses(t, p, func(in string, at token.Pos, of types.Type, method *types.Func) {
			what := k.change(of, method)
			if what == "" {
				return
			}
			if below(name, "reconcile/exec") {
				used["reconcile/exec"] = true
				return
			}
			for may := range allowed {
				if may == name+in || may == name+"." || below(name, may) {
					used[may] = true
					return
				}
			}
			t.Errorf("%s: %s%s uses %s, which reconcile/exec alone is to: plan an action, or say in mayChange why not", k.fset.Position(at), name, in, what)
		})
	}
	if !used["reconcile/exec"] {
		t.Error("reconcile/exec is not seen to change anything, which cannot be")
	}
	for may := range allowed {
		if !used[may] {
			t.Errorf("%s may change the world, and does not", may)
		}
	}
}

// TestChangesAreKnown: whoever adds a method to a contract says whether it changes
// anything.
func TestChangesAreKnown(t *testing.T) {
	for _, c := range newChecker(t).contracts {
		var got []string
		for m := range c.is.Methods() {
			got = append(got, m.Name())
		}
		slices.Sort(got)
		if want := slices.Sorted(maps.Keys(c.changes)); !slices.Equal(got, want) {
			t.Errorf("%s has the methods %q, and of %q is said whether they change anything", c.name, got, want)
		}
	}
}
