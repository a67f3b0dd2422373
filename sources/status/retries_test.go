package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestRetriesAreRemembered: how often a pool tried to replace machines that failed to start is
// on the status branch, so that it holds for the next agent. What nobody can have written is
// left out.
func TestRetriesAreRemembered(t *testing.T) {
	last := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	r := fleet.Report{
		Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Phase: fleet.PhaseWorkers,
		Memory: fleet.Memory{Retries: []fleet.PoolRetry{{Pool: "md", Template: "1-abc", Tries: 3, Last: last}}},
	}
	b, err := encodeCluster(newCluster(r, Cluster{}, last))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeCluster(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Retries, got.Report.Retries); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	if got := decodeRetries([]retry{{"md", "1-abc", 0, "2026-01-31T08:00:00Z"}, {"md", "1-abc", 3, "yesterday"}}); got != nil {
		t.Errorf("read %+v, want nothing", got)
	}
}
