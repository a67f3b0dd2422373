// Package kindstest tests the kinds of a provider: that they have the fields of upstream's
// resource definitions, how the decoder takes their objects, and what specs are normalised to.
//
//	func TestFieldsOfCRDs(t *testing.T) {
//		kindstest.Definitions{Project: "capv", Group: group, Missing: []string{"VSphereVM"}}.Compare(t, Kinds())
//	}
package kindstest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// Kind returns the kind of that name.
func Kind(t testing.TB, kinds []fleet.Kind, name string) fleet.Kind {
	t.Helper()
	i := slices.IndexFunc(kinds, func(k fleet.Kind) bool { return k.Kind == name })
	if i < 0 {
		t.Fatalf("no kind %s", name)
	}
	return kinds[i]
}

// Object decodes text, YAML or JSON, strictly as an object of a kind.
func Object(t testing.TB, k fleet.Kind, version, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	o := k.New(version)
	if strict, err := kjson.UnmarshalStrict(data, o); err != nil || len(strict) > 0 {
		t.Fatalf("decoding: %v %v in:\n%s", err, strict, text)
	}
	return o
}

// Normalised decodes spec, puts it where the kind has it in an object x, and returns what
// Normalise and Resolve make of it, and what is wrong with it. Companions are what Resolve gets;
// nil: it is not known what there is.
func Normalised(t testing.TB, k fleet.Kind, version, spec string, companions func(kind string) map[string]any) (any, field.ErrorList) {
	t.Helper()
	var s any
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatalf("%v in:\n%s", err, spec)
	}
	if makesObjects(k, version) {
		s = map[string]any{"template": map[string]any{"spec": s}}
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": s})
	if err != nil {
		t.Fatal(err)
	}
	out, errs := k.Normalise(Object(t, k, version, string(text)))
	if len(errs) > 0 || k.Resolve == nil {
		return out, errs
	}
	if companions == nil {
		companions = func(string) map[string]any { return nil }
	}
	return k.Resolve(out, companions)
}

// makesObjects reports whether k is a template, whose spec is that of other objects.
func makesObjects(k fleet.Kind, version string) bool {
	strict, err := kjson.UnmarshalStrict([]byte(`{"spec":{"template":{"spec":{}}}}`), k.New(version))
	return err == nil && len(strict) == 0
}

// Among returns companions: of each kind those in all.
func Among(all map[string]map[string]any) func(kind string) map[string]any {
	return func(kind string) map[string]any {
		if found := all[kind]; found != nil {
			return found
		}
		return map[string]any{}
	}
}

// Text returns what is wrong, as one text; empty: nothing is.
func Text(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

// Check wants what is wrong to hold want; empty: nothing is.
func Check(t testing.TB, got, want, reason string) {
	t.Helper()
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("got %q, want %q: %s", got, want, reason)
	}
}

// YAML returns v without what is empty, as people would write it.
func YAML(t testing.TB, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// specType returns the type of the specs of k in a version.
func specType(k fleet.Kind, version string) reflect.Type {
	spec, _ := reflect.TypeOf(k.New(version)).Elem().FieldByName("Spec")
	return spec.Type
}
