package all_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
)

// TestCompanionsThatDoNotWait: while another change of a cluster waits, of the objects that others refer to only identities of
// the newest commit are used, and each kind that is called so is one.
func TestCompanionsThatDoNotWait(t *testing.T) {
	var got []string
	for _, f := range all.Factories() {
		for _, k := range f.Kinds {
			o := fleet.Object{Name: "x", Stored: []fleet.Key{{Namespace: "prod", Name: "x"}}}
			o.GVK.Group, o.GVK.Kind = k.Group, k.Kind
			next := &fleet.Cluster{Companions: []fleet.Object{o}}
			if k.Role == fleet.InfrastructureCompanion && len(new(fleet.Cluster).WhileWaiting(next).Companions) > 0 {
				got = append(got, k.Kind)
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		"AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity", "AzureClusterIdentity", "OpenStackClusterIdentity", "VSphereClusterIdentity",
	}, slices.Compact(got)); diff != "" {
		t.Errorf("kinds that do not wait (-want +got):\n%s", diff)
	}
}
