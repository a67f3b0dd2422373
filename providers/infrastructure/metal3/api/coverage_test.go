package api_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/render/decode"
)

// TestCoverage: of what Metal3 takes and acts on, this is not honoured, and all that is said
// of fields is said of one that is there.
func TestCoverage(t *testing.T) {
	row := regexp.MustCompile("(?m)^## (\\w+) v1\\w*$|^\\| `(spec.*?)` \\| (honoured|refused|no effect) \\|")
	kind, honoured, others := "", 0, map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(decode.New("f", api.Kinds()).Coverage()), -1) {
		switch {
		case m[1] != "":
			kind = m[1]
		case !strings.HasPrefix(kind, "Metal3") && !strings.HasPrefix(kind, "Host") && kind != "BareMetalHost" && kind != "IPPool":
		case m[3] == "honoured":
			honoured++
		default:
			others[kind+" "+m[2]] = m[3]
		}
	}
	seen := maps.Clone(others)
	for _, k := range api.Kinds() {
		if k.Kind == "InClusterIPPool" || k.Kind == "GlobalInClusterIPPool" {
			continue
		}
		for status, paths := range map[string]map[string]string{"refused": k.Refused, "no effect": k.Unused} {
			for path := range paths {
				if seen[k.Kind+" "+path] != status {
					t.Errorf("%s %s is said to be %s, and is no field", k.Kind, path, status)
				}
			}
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
