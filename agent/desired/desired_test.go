package desired_test

import (
	"testing"
	"time"

	"fairlead.dev/agent/desired"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// An overlay that includes the folder of a live cluster is told, and is none of what is
// desired, whoever asks.
func TestIncluded(t *testing.T) {
	a, c := fleet.Key{Namespace: "prod", Name: "a"}, fleet.Key{Namespace: "prod", Name: "c"}
	f := fleet.Fleet{
		ID: "f", Clusters: []fleet.Cluster{{Key: c, Overlay: "clusters/prod/c"}},
		Parts: []fleet.Part{{Folder: "clusters/prod/a", Clusters: []fleet.Key{a}, By: []fleet.Includer{{Folder: "clusters/prod/c"}}}},
	}
	s := status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: a, Overlay: "clusters/prod/a", Phase: fleet.PhaseProvisioned}}}}
	out := desired.Of(s, f, time.Now())
	if len(out.Clusters) != 0 || len(out.Problems) != 2 || len(out.Orphans) != 0 {
		t.Errorf("it is %+v", out)
	}
}
