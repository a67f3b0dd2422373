package promise

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/run/needs"
)

// promised are the packages whose exported API is promised in docs/contributing/providers.md.
func promised() []string {
	return []string{"agent/wiring/program", "fleet", "providers", "providers/all", "providers/conformance", "providers/driver/endpoint", "providers/driver/objects"}
}

const apiFile = "testdata/api.txt"

// TestAPI: what the promised packages export is there as long as the version of the API
// stays, and nothing is asked for in addition of who implements their interfaces. Whoever
// means it writes the list again with UPDATE=1, and says so in docs/contributing/providers.md.
func TestAPI(t *testing.T) {
	got := api(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(apiFile, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	const how = "strangers' providers do not build with it any more: keep what was there, or say in docs/contributing/providers.md what they have to change, and run UPDATE=1 go test ./test/rules/promise -run TestAPI"
	was := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range was {
		if _, found := slices.BinarySearch(got, line); !found {
			t.Errorf("gone or changed: %s\n%s", line, how)
		}
	}
	for _, line := range got {
		if _, found := slices.BinarySearch(was, line); !found && strings.Contains(line, " interface method ") {
			t.Errorf("added to an interface: %s\n%s", line, how)
		}
	}
}

// api lists what the promised packages export, sorted: one line for each function, type,
// field, method, constant and variable.
func api(t *testing.T) []string {
	t.Helper()
	exports := exported(t)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var out []string
	for _, path := range promised() {
		p, err := imports.Import("fairlead.dev/" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				out = append(out, lines(path, o)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// exported returns the files with what compiled packages export, by import path.
func exported(t *testing.T) map[string]string {
	t.Helper()
	if _, err := needs.LookPath("go"); err != nil {
		t.Skip("there is no go here")
	}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, p := range promised() {
		args = append(args, "fairlead.dev/"+p)
	}
	data, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for dec := json.NewDecoder(bytes.NewReader(data)); dec.More(); {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		out[p.ImportPath] = p.Export
	}
	return out
}

// lines are those for o of the package in folder path.
func lines(path string, o types.Object) []string {
	text := func(t types.Type) string {
		return types.TypeString(t, func(p *types.Package) string { return strings.TrimPrefix(p.Path(), "fairlead.dev/") })
	}
	name := path + "." + o.Name()
	switch o := o.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("%s const %s", name, text(o.Type()))}
	case *types.TypeName:
		return typeLines(name, o, text)
	}
	return []string{fmt.Sprintf("%s %s", name, text(o.Type()))}
}

// typeLines are those for the type o called name.
func typeLines(name string, o *types.TypeName, text func(types.Type) string) []string {
	under := o.Type().Underlying()
	var out []string
	switch u := under.(type) {
	case *types.Struct:
		out = append(out, name+" struct")
		for f := range u.Fields() {
			if f.Exported() {
				out = append(out, fmt.Sprintf("%s field %s %s", name, f.Name(), text(f.Type())))
			}
		}
	case *types.Interface:
		for m := range u.Methods() {
			out = append(out, fmt.Sprintf("%s interface method %s %s", name, m.Name(), text(m.Type())))
		}
		return append(out, name+" interface")
	default:
		out = append(out, name+" is "+text(under))
	}
	set := types.NewMethodSet(types.NewPointer(o.Type()))
	for s := range set.Methods() {
		if m := s.Obj(); m.Exported() {
			out = append(out, fmt.Sprintf("%s method %s %s", name, m.Name(), text(m.Type())))
		}
	}
	return out
}
