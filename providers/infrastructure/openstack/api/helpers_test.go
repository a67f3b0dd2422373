package api

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"fairlead.dev/test/run/kindstest"
)

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource definitions, of the
// same JSON types, and no others. Those of Images are in TestImageKind.
func TestFieldsOfCRDs(t *testing.T) {
	kindstest.Definitions{Project: "capo", Group: group, Missing: []string{"OpenStackServer"}}.Compare(t, Kinds())
}

// normalised returns what Normalise and Resolve make of a spec where it is not known which
// companions there are.
func normalised(t *testing.T, kind, version, spec string) (any, field.ErrorList) {
	t.Helper()
	return kindstest.Normalised(t, kindstest.Kind(t, Kinds(), kind), version, spec, nil)
}

// canonical returns text with sorted keys and in one layout.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return kindstest.YAML(t, v)
}

// fieldsOf returns the places of errs, sorted.
func fieldsOf(errs field.ErrorList) []string {
	seen := map[string]bool{}
	for _, e := range errs {
		seen[e.Field] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
