package decode_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestAvailabilityGates takes them over.
func TestAvailabilityGates(t *testing.T) {
	c := mustDecode(t, replaced(t, newest, "spec:\n  clusterNetwork:",
		"spec:\n  availabilityGates: [{conditionType: EtcdClusterHealthy}, {conditionType: RollingOut, polarity: Negative}]\n  clusterNetwork:"))
	if g := c.AvailabilityGates; len(g) != 2 || g[0].ConditionType != "EtcdClusterHealthy" || g[1].Polarity != "Negative" {
		t.Errorf("gates %v", g)
	}
}

// TestProtectedFromDeletion: what is protected is not deleted, and everything else
// that Git says of it counts.
func TestProtectedFromDeletion(t *testing.T) {
	type fate struct{ Delete, Abandon, Refused, Protected bool }
	for annotations, want := range map[string]fate{
		`fairlead.dev/delete: "true"`:                                {Delete: true},
		`fairlead.dev/delete: abandon`:                               {Abandon: true},
		`fairlead.dev/delete: "true", fairlead.dev/protect: "true"`:  {Refused: true, Protected: true},
		`fairlead.dev/delete: abandon, fairlead.dev/protect: "true"`: {Refused: true, Protected: true},
		`fairlead.dev/delete: "false", fairlead.dev/protect: "true"`: {Protected: true},
		`fairlead.dev/delete: "true", fairlead.dev/protect: "false"`: {Delete: true},
		`fairlead.dev/drift: report, fairlead.dev/suspend-until: ""`: {},
	} {
		c := mustDecode(t, replaced(t, newest, "  replicas: 3\n", "  replicas: 5\n",
			"metadata: {name: eu, namespace: prod}\nspec:\n  clusterNetwork", "metadata: {name: eu, namespace: prod, annotations: {"+annotations+"}}\nspec:\n  clusterNetwork"))
		if got := (fate{c.Delete, c.Abandon, c.DeletionRefused, c.Protect}); got != want {
			t.Errorf("%s: %+v, want %+v", annotations, got, want)
		}
		if c.Workers[0].Replicas != 5 {
			t.Errorf("%s: the pool has %d machines, want 5", annotations, c.Workers[0].Replicas)
		}
		if drift := c.Drift == fleet.DriftReport; drift != (annotations[13:18] == "drift") {
			t.Errorf("%s: drift is %q", annotations, c.Drift)
		}
	}
}
