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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		Group    string
		Names    struct{ Kind string }
		Scope    string
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

// definitions are upstream's, by group and kind.
func definitions(t *testing.T) map[string]crd {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(needs.Corpus(t, "crds", "capv"), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	out := map[string]crd{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d crd
		if err := yaml.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		out[d.Spec.Group+"/"+d.Spec.Names.Kind] = d
	}
	return out
}

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource definitions, of the
// same JSON types, and no others than virtualIP, which is Fairlead's own. Of all kinds of the
// group, VSphereVM alone is missing.
func TestFieldsOfCRDs(t *testing.T) {
	defs := definitions(t)
	missing := map[string]bool{}
	for name := range defs {
		if of, kind, _ := strings.Cut(name, "/"); of == group {
			missing[kind] = true
		}
	}
	for _, k := range Kinds() {
		if k.Group != group {
			continue // pools
		}
		delete(missing, k.Kind)
		d := defs[group+"/"+k.Kind]
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
			maps.DeleteFunc(got, func(path, _ string) bool { return strings.Contains(path, ".virtualIP") })
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
	if diff := gocmp.Diff([]string{"VSphereVM"}, slices.Sorted(maps.Keys(missing))); diff != "" {
		t.Errorf("kinds of upstream that are missing: -want +got:\n%s", diff)
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
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		out[path] = "" // a number or a string
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
