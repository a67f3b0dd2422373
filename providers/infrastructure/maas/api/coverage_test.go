package api_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/test/run/kindstest"
)

// TestCoverage: what is written for VM hosts, or by controllers, is not honoured; everything else is.
func TestCoverage(t *testing.T) {
	honoured, others := 0, map[string]string{}
	for _, f := range kindstest.Coverage(t, api.Kinds()) {
		switch {
		case !strings.HasPrefix(f.Kind, "Maas"):
		case f.Status == "honoured":
			honoured++
		case !strings.Contains(f.Path, "lxd"):
			others[f.Kind+" "+f.Path] = f.Status
		}
	}
	want := map[string]string{
		"MaasMachine spec.providerID": "refused", "MaasMachine spec.systemID": "refused", "MaasMachine spec.parent": "refused",
		"MaasMachineTemplate spec.template.spec.providerID": "refused", "MaasMachineTemplate spec.template.spec.systemID": "refused", "MaasMachineTemplate spec.template.spec.parent": "refused",
		"MaasClusterTemplate spec.template.metadata": "refused",
	}
	if d := gocmp.Diff(want, others); d != "" {
		t.Errorf("fields that are not honoured: -want +got:\n%s", d)
	}
	if honoured < 34 {
		t.Errorf("%d fields are honoured: are all kinds there?", honoured)
	}
}
