package kindstest

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// folder is a sources.Tree of a folder that does not change.
type folder struct{ fs.FS }

// Digest implements sources.Tree.
func (f folder) Digest(name string) (string, error) {
	_, err := fs.Stat(f, name)
	return name, err
}

// Render returns the objects of paths in files, with values for their variables.
func Render(t testing.TB, files fs.FS, values map[string]string, paths ...string) []render.Object {
	t.Helper()
	var out []render.Object
	for _, path := range paths {
		more, problems, err := render.New(render.Options{Values: values}).Objects(t.Context(), folder{files}, path)
		if err != nil || len(problems) > 0 {
			t.Fatalf("rendering %s: %v %v", path, err, problems)
		}
		out = append(out, more...)
	}
	return out
}

// Refused checks that objects are refused by their kinds, which are known and not supported, with
// the way out. Each of refused is an API version, a kind and a part of the hint.
func Refused(t *testing.T, kinds []fleet.Kind, refused ...[3]string) {
	t.Helper()
	for _, r := range refused {
		apiVersion, kind, hint := r[0], r[1], r[2]
		problems := problemsOf(kinds, "apiVersion: "+apiVersion+"\nkind: "+kind+"\nmetadata: {name: m, namespace: default}\n")
		if len(problems) != 1 || !strings.Contains(problems[0].Message, kind+" is not supported") || !strings.Contains(problems[0].Hint, hint) {
			t.Errorf("%s %s: got %v, want that it is not supported, and %q", apiVersion, kind, problems, hint)
		}
	}
}

// Problem checks that the decoder says want of the object in text.
func Problem(t *testing.T, kinds []fleet.Kind, text, want string) {
	t.Helper()
	said := ""
	for _, p := range problemsOf(kinds, text) {
		said += p.Message + " " + p.Hint + "\n"
	}
	if !strings.Contains(said, want) {
		t.Errorf("%s:\ngot %q, want %q", text, said, want)
	}
}

func problemsOf(kinds []fleet.Kind, text string) []fleet.Problem {
	_, problems := decode.New("f", kinds).Decode("o", []render.Object{{File: "f.yaml", YAML: []byte(text)}})
	return problems
}

// A Field is a field of spec in the table of coverage.
type Field struct{ Kind, Version, Path, Status string }

var row = regexp.MustCompile("(?m)^## (\\w+) (v1\\w*)$|^\\| `(spec.*?)` \\| (honoured|refused|no effect) \\|")

// Coverage returns the fields of kinds, without those of Cluster API. Each field that a kind
// calls refused or without effect is one of them.
func Coverage(t *testing.T, kinds []fleet.Kind) []Field {
	t.Helper()
	var out []Field
	var at Field
	for _, m := range row.FindAllStringSubmatch(string(decode.New("f", kinds).Coverage()), -1) {
		if m[1] != "" {
			at.Kind, at.Version = m[1], m[2]
			continue
		}
		for _, k := range kinds {
			if k.Kind == at.Kind {
				out = append(out, Field{at.Kind, at.Version, m[3], m[4]})
			}
		}
	}
	for _, k := range kinds {
		for status, paths := range map[string]map[string]string{"refused": k.Refused, "no effect": k.Unused} {
			for path := range paths {
				if !has(out, k.Kind, path, status) {
					t.Errorf("%s %s is said to be %s, and is no field", k.Kind, path, status)
				}
			}
		}
	}
	return out
}

func has(fields []Field, kind, path, status string) bool {
	for _, f := range fields {
		if f.Kind == kind && f.Path == path && f.Status == status {
			return true
		}
	}
	return false
}
