package cli

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestReleaseOfADeparture: a cluster that was removed and forgotten can be skipped, and nothing else.
func TestReleaseOfADeparture(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu-1"}
	var s status.Status
	s.Fleet.Rollout.Departed = []fleet.Departure{{Cluster: k, Stage: "canary"}}
	if got, err := find(s, "eu-1"); err != nil || got != k {
		t.Errorf("found %v, %v", got, err)
	}
	for way, ok := range map[fleet.ReleaseWay]bool{fleet.ReleaseSkip: true, fleet.ReleaseNow: false} {
		if _, err := waitingInCluster(&fleet.Request{Cluster: k, Release: way}, s); (err == nil) != ok {
			t.Errorf("%s: %v", way, err)
		}
	}
	if got := stageOrCluster(s, nil); len(got) != 1 {
		t.Errorf("completes %v", got)
	}
}
