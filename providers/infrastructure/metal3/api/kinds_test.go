package api

import (
	"testing"

	"fairlead.dev/test/run/kindstest"
)

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource definitions, of the
// same JSON types, and no others than virtualIP, which is Fairlead's own. Of all kinds of the
// group, those alone are missing that controllers write.
func TestFieldsOfCRDs(t *testing.T) {
	kindstest.Definitions{
		Project: "capm3", Group: group, Own: ".virtualIP",
		Missing: []string{"Metal3Data", "Metal3DataClaim", "Metal3Machine", "Metal3Remediation"},
		Untyped: []string{"spec.networkData.links.bonds[].parameters[].value"}, // upstream writes "object" of what bonds have numbers in
	}.Compare(t, Kinds())
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
