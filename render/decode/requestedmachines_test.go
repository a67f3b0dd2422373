package decode

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestRequestedMachines: an annotation names machines by provider id, of which infrastructures may give the next machine of
// a host the same, or by name and provider id.
func TestRequestedMachines(t *testing.T) {
	const key = fleet.ReplaceAnnotation
	text := "openstack:///1, one maas:///a/x"
	if why := providerIDs(text); why != "" {
		t.Errorf("refused: %s", why)
	}
	why := "asked for in Git with " + key
	want := map[fleet.MachineID]string{{ProviderID: "openstack:///1"}: why, {Name: "one", ProviderID: "maas:///a/x"}: why}
	if d := cmp.Diff(want, requestedMachines(map[string]string{key: text}, key)); d != "" {
		t.Errorf("machines (-want +got):\n%s", d)
	}
}
