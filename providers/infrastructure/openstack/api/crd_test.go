package api

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/test/run/needs"
)

type schema struct {
	Type                 string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
}

type crd struct {
	Spec struct {
		Names    struct{ Kind string }
		Scope    string
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource
// definitions, of the same JSON types, and no others.
func TestFieldsOfCRDs(t *testing.T) {
	dir := needs.Corpus(t, "crds", "capo")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in %s: %v", dir, err)
	}
	defs := map[string]crd{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d crd
		if err := yaml.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		defs[d.Spec.Names.Kind] = d
	}
	for _, k := range Kinds() {
		if k.Group != group {
			continue // of the OpenStack Resource Controller: see TestImageKind
		}
		d := defs[k.Kind]
		if want := d.Spec.Scope == "Cluster"; k.ClusterScoped != want {
			t.Errorf("%s: cluster scoped is %v, want %v", k.Kind, k.ClusterScoped, want)
		}
		var versions []string
		for _, v := range d.Spec.Versions {
			versions = append(versions, v.Name)
			want := map[string]string{}
			fieldsOfSchema(v.Schema.OpenAPIV3Schema.Properties["spec"], "spec", want)
			got := map[string]string{}
			spec, _ := reflect.TypeOf(k.New(v.Name)).Elem().FieldByName("Spec")
			fieldsOfType(spec.Type, "spec", got)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: fields: -want +got:\n%s", k.Kind, v.Name, diff)
			}
			if len(want) < 3 {
				t.Errorf("%s %s: found only %v", k.Kind, v.Name, slices.Sorted(maps.Keys(want)))
			}
		}
		if diff := gocmp.Diff(slices.Sorted(slices.Values(k.Versions)), slices.Sorted(slices.Values(versions))); diff != "" {
			t.Errorf("%s: versions: %s", k.Kind, diff)
		}
	}
}

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

func fieldsOfType(t reflect.Type, path string, out map[string]string) {
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
		fieldsOfType(t.Elem(), path+"{}", out)
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
