package desired_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/loop/desired"
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

// A cluster comes with the places beside the first ones of the other clusters of its namespace, whether the
// revision has those or not, as in an agent's pass.
func TestNeighborPlaces(t *testing.T) {
	lives := func(namespace, name, place string) status.Cluster {
		r := fleet.Report{Cluster: fleet.Key{Namespace: namespace, Name: name}, Phase: fleet.PhaseProvisioned}
		r.Residence.Places = []fleet.Place{{ID: "first"}, {ID: place}}
		return status.Cluster{Report: r}
	}
	s := status.Status{Clusters: []status.Cluster{lives("prod", "a", "of a"), lives("prod", "gone", "of gone"), lives("dev", "a", "of dev")}}
	out := desired.Of(s, fleet.Fleet{ID: "f", Clusters: []fleet.Cluster{{Key: fleet.Key{Namespace: "prod", Name: "a"}}}}, time.Now())
	if len(out.Clusters) != 1 || !slices.Equal(out.Clusters[0].NeighborPlaces, []fleet.Place{{ID: "of gone"}}) {
		t.Errorf("clusters are %+v", out.Clusters)
	}
}

// A cluster of the first stage has its turn now, although its present definition, of an older revision, is not rendered.
func TestTurnIsNow(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "a"}
	f := fleet.Fleet{
		ID: "f", Config: fleet.Config{Waves: fleet.Waves{Stages: []fleet.Stage{{Name: "first", Select: labels.Everything(), AtOnce: 1}}}},
		Clusters: []fleet.Cluster{{Key: k, Overlay: "clusters/prod/a", Digest: "new"}},
	}
	s := status.Status{Clusters: []status.Cluster{{Report: fleet.Report{Cluster: k, Overlay: "clusters/prod/a", Digest: "old", Phase: fleet.PhaseProvisioned}}}}
	if out := desired.Of(s, f, time.Now()); len(out.Turns) != 1 || out.Turns[0].Wait.Why != "" {
		t.Errorf("it is %+v", out.Turns)
	}
}
