package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/test/run/kindstest"
)

// TestCoverage: of the fields that Cluster API takes and acts on, all are honoured but the
// metadata of machines, which are no objects here.
func TestCoverage(t *testing.T) {
	honoured, others := 0, map[string]string{}
	for _, f := range kindstest.Coverage(t, api.Kinds()) {
		switch {
		case !strings.HasPrefix(f.Kind, "VSphere"):
		case f.Status == "honoured":
			honoured++
		default:
			others[f.Kind+" "+f.Version+" "+strings.TrimPrefix(strings.TrimPrefix(f.Path, "spec."), "template.spec.")] = f.Status
		}
	}
	upstream := map[string]string{
		"clusterModules":                 "written by a controller",
		"providerID":                     "written by a controller, and refused in templates",
		"network.devices.ipAddrs":        "refused in templates",
		"failureDomain":                  "read by nobody, gone in v1beta2",
		"network.preferredAPIServerCidr": "read by nobody, gone in v1beta2",
	}
	maps.DeleteFunc(others, func(f, _ string) bool { return upstream[f[strings.LastIndex(f, " ")+1:]] != "" })
	want := map[string]string{
		"VSphereMachine v1beta1 cryptoKeyID":               "refused",
		"VSphereMachine v1beta2 cryptoKeyID":               "refused",
		"VSphereMachineTemplate v1beta1 cryptoKeyID":       "refused",
		"VSphereMachineTemplate v1beta2 cryptoKeyID":       "refused",
		"VSphereMachineTemplate v1beta1 template.metadata": "refused",
		"VSphereMachineTemplate v1beta2 template.metadata": "refused",
	}
	if d := gocmp.Diff(want, others); d != "" {
		t.Errorf("fields that are not honoured: -want +got:\n%s", d)
	}
	if honoured < 460 {
		t.Errorf("%d fields are honoured: are all kinds there? The others are %v", honoured, slices.Sorted(maps.Keys(others)))
	}
	t.Logf("%d fields are honoured, %d are not", honoured, len(others))
}
