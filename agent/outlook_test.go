package agent

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A preview of a fleet with an overlay that includes the folder of a live cluster tells
// that, whoever asks for it.
func TestForeseeIncluded(t *testing.T) {
	f := fleetOf("2", fleet.Prune{}, clusterOf(keyC, "2", "x"))
	f.Parts = []fleet.Part{{Folder: "clusters/prod/a", Clusters: []fleet.Key{keyA}, By: []fleet.Includer{{Folder: "clusters/prod/c"}}}}
	s := status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: keyA, Overlay: "clusters/prod/a", Phase: fleet.PhaseProvisioned}}}}
	out := Foresee(s, f, time.Now())
	if len(out.Clusters) != 0 || len(out.Problems) != 2 || len(out.Orphans) != 0 {
		t.Errorf("a plan says %+v", out)
	}
}
