package kindstest

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/needs"
)

// Definitions are the resource definitions of a project, in the corpus.
type Definitions struct {
	Project string   // folder in the corpus
	Group   string   // of the kinds that are compared
	Missing []string // kinds of Group that the provider does not have, sorted
	Own     string   // part of the paths of fields that are Fairlead's own; empty: there are none
	// Untyped are paths for which the definition gives a type that they do not have.
	Untyped []string
}

type schema struct {
	Type                 string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
}

type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Scope    string
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

// byKind returns the definitions of d.Group by kind.
func (d Definitions) byKind(t *testing.T) map[string]definition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(needs.Corpus(t, "crds", d.Project), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	out := map[string]definition{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var found definition
		if err := yaml.Unmarshal(data, &found); err != nil {
			t.Fatal(err)
		}
		if found.Spec.Group == d.Group {
			out[found.Spec.Names.Kind] = found
		}
	}
	return out
}

// Compare checks that the Go types of kinds have the fields of upstream's definitions, of the
// same JSON types, and no others than Own. The kinds are all of those definitions but Missing.
func (d Definitions) Compare(t *testing.T, kinds []fleet.Kind) {
	t.Helper()
	defs := d.byKind(t)
	missing := maps.Clone(defs)
	for _, k := range kinds {
		if k.Group != d.Group {
			continue // its definition is not in the corpus
		}
		delete(missing, k.Kind)
		of := defs[k.Kind].Spec
		if want := of.Scope == "Cluster"; k.ClusterScoped != want {
			t.Errorf("%s: cluster scoped is %v, want %v", k.Kind, k.ClusterScoped, want)
		}
		var versions []string
		for _, v := range of.Versions {
			versions = append(versions, v.Name)
			want, got := map[string]string{}, map[string]string{}
			fieldsOfSchema(v.Schema.OpenAPIV3Schema.Properties["spec"], "spec", want)
			for _, path := range d.Untyped {
				if want[path] != "" {
					want[path] = ""
				}
			}
			fieldsOfType(specType(k, v.Name), "spec", got)
			maps.DeleteFunc(got, func(path, _ string) bool { return d.Own != "" && strings.Contains(path, d.Own) })
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: fields: -want +got:\n%s", k.Kind, v.Name, diff)
			}
			if len(want) < 3 {
				t.Errorf("%s %s: found only %v", k.Kind, v.Name, slices.Sorted(maps.Keys(want)))
			}
		}
		if diff := gocmp.Diff(slices.Sorted(slices.Values(versions)), slices.Sorted(slices.Values(k.Versions))); diff != "" {
			t.Errorf("%s: versions: -want +got:\n%s", k.Kind, diff)
		}
	}
	if diff := gocmp.Diff(d.Missing, slices.Sorted(maps.Keys(missing))); diff != "" {
		t.Errorf("kinds of upstream that are missing: -want +got:\n%s", diff)
	}
}

// fieldsOfSchema adds the JSON types of s and what is below it, by path, to out.
func fieldsOfSchema(s schema, path string, out map[string]string) {
	out[path] = s.Type
	for name, p := range s.Properties {
		fieldsOfSchema(p, path+"."+name, out)
	}
	if s.Items != nil {
		fieldsOfSchema(*s.Items, path+"[]", out)
	}
	if s.AdditionalProperties != nil {
		fieldsOfSchema(*s.AdditionalProperties, path+"{}", out)
	}
}

// fieldsOfType adds those of a Go type.
func fieldsOfType(t reflect.Type, path string, out map[string]string) {
	switch t {
	case reflect.TypeFor[any](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString]():
		out[path] = "" // of several types
		return
	case reflect.TypeFor[metav1.Duration]():
		out[path] = "string"
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		fieldsOfType(t.Elem(), path, out)
	case reflect.Struct:
		out[path] = "object"
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				fieldsOfType(f.Type, path, out)
				continue
			}
			fieldsOfType(f.Type, path+"."+name, out)
		}
	case reflect.Map:
		out[path] = "object"
		if t.Name() == "" || t.Elem() != reflect.TypeFor[any]() { // a type of its own says that what is in it has no schema
			fieldsOfType(t.Elem(), path+"{}", out)
		}
	case reflect.Slice:
		out[path] = "array"
		fieldsOfType(t.Elem(), path+"[]", out)
	case reflect.Bool:
		out[path] = "boolean"
	case reflect.String:
		out[path] = "string"
	default:
		out[path] = "integer"
	}
}
