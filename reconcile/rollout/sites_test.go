package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestProvidersOfSites: every provider that a cluster has workers on is in use, and those
// that it had some on before they left Git.
func TestProvidersOfSites(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu-1"}
	s := State{clusters: newClusterMap(map[fleet.Key]cluster{k: {
		definition: &fleet.Cluster{Key: k, Provider: "near", Guests: []fleet.Site{{Provider: "far"}}},
		recorded:   &fleet.Report{Memory: fleet.Memory{Residence: fleet.Residence{Guests: []fleet.GuestMemory{{Provider: "left"}}}}},
	}})}
	if d := cmp.Diff([]string{"far", "left", "near"}, s.Providers()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
