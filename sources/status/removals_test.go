package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestRemovalsAreRemembered: how machines of a pool are removed is on the status branch.
func TestRemovalsAreRemembered(t *testing.T) {
	r := fleet.Report{
		Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Phase: fleet.PhaseProvisioned,
		Memory: fleet.Memory{Removals: []fleet.PoolRemoval{
			{Pool: "jobs", DrainSeconds: 60, DetachSeconds: 120, Exclude: []string{"a"}, Labels: map[string]string{"tier": "batch"}, MaxUnavailable: 3, Order: fleet.DeleteOldest},
		}},
	}
	b, err := encodeCluster(newCluster(r, Cluster{}, time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeCluster(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Removals, got.Report.Removals); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}
