package api_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/test/run/kindstest"
)

// TestCoverage: of what Metal3 takes and acts on, this is not honoured, and all that is said
// of fields is said of one that is there.
func TestCoverage(t *testing.T) {
	honoured, others := 0, map[string]string{}
	for _, f := range kindstest.Coverage(t, api.Kinds()) {
		switch {
		case strings.HasPrefix(f.Kind, "InCluster") || strings.HasPrefix(f.Kind, "GlobalInCluster"):
		case f.Status == "honoured":
			honoured++
		default:
			others[f.Kind+" "+f.Path] = f.Status
		}
	}
	without := map[string]string{ // what a controller writes, what Metal3 does not read, and what is said elsewhere here
		"BareMetalHost spec.consumerRef": "refused", "BareMetalHost spec.customDeploy": "refused", "BareMetalHost spec.image": "refused", "BareMetalHost spec.metaData": "refused",
		"BareMetalHost spec.networkData": "refused", "BareMetalHost spec.userData": "refused", "BareMetalHost spec.firmware": "refused", "BareMetalHost spec.hardwareProfile": "refused",
		"BareMetalHost spec.taints": "refused", "BareMetalHost spec.description": "no effect", "IPPool spec.clusterName": "no effect", "IPPool spec.namePrefix": "no effect",
		"Metal3DataTemplate spec.clusterName": "no effect", "Metal3DataTemplate spec.templateReference": "refused",
		"Metal3MachineTemplate spec.template.metadata": "refused", "Metal3MachineTemplate spec.template.spec.failureDomain": "refused",
		"Metal3MachineTemplate spec.template.spec.metaData": "refused", "Metal3MachineTemplate spec.template.spec.networkData": "refused",
		"Metal3MachineTemplate spec.template.spec.providerID": "refused", "Metal3MachineTemplate spec.template.spec.userData": "refused",
	}
	for path, status := range without {
		if others[path] != status {
			t.Errorf("%s is %q, want %s", path, others[path], status)
		}
		delete(others, path)
	}
	want := map[string]string{ // the rest is not honoured yet
		"BareMetalHost spec.disablePowerOff": "refused", "BareMetalHost spec.networkInterfaces": "refused", "BareMetalHost spec.preprovisioningNetworkDataName": "refused",
	}
	if d := gocmp.Diff(want, others); d != "" {
		t.Errorf("fields that are not honoured: -want +got:\n%s", d)
	}
	if honoured < 250 {
		t.Errorf("%d fields are honoured: the table is read wrongly", honoured)
	}
}
