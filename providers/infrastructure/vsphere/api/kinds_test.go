package api

import (
	"testing"

	"fairlead.dev/test/run/kindstest"
)

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource definitions, of the
// same JSON types, and no others than virtualIP, which is Fairlead's own. Of all kinds of the
// group, VSphereVM alone is missing.
func TestFieldsOfCRDs(t *testing.T) {
	kindstest.Definitions{Project: "capv", Group: group, Own: ".virtualIP", Missing: []string{"VSphereVM"}}.Compare(t, Kinds())
}

// normalised returns what Normalise and Resolve make of a spec beside the companions, and what
// is wrong with it.
func normalised(t *testing.T, kind, version, spec string, companions map[string]map[string]any) (any, string) {
	t.Helper()
	out, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), kind), version, spec, kindstest.Among(companions))
	if len(errs) > 0 {
		return nil, kindstest.Text(errs)
	}
	return out, ""
}
