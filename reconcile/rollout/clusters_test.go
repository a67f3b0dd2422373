package rollout

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

// TestStagesComeAndGo: what waits when stages are removed from Git comes at once, also in a cluster that
// the newest revision has a problem with.
func TestStagesComeAndGo(t *testing.T) {
	w := provisioned(4)
	w.push(wavyFleet("2", "v1", 4, fleet.Waves{}))
	w.push(wavyFleet("3", "v2", 4, wavesOf()))
	w.want(t, "later stages wait", "v2 v1 v1 v1")
	f := wavyFleet("4", "v2", 4, fleet.Waves{})
	broken := f.Clusters[3]
	f.Clusters = f.Clusters[:3]
	f.Problems = []fleet.Problem{{Cluster: broken.Key, Overlay: broken.Overlay, Message: "a patch does not apply"}}
	w.push(f)
	w.want(t, "no stages", "v2 v2 v2 v2")
}

// TestUnknownClusters: a cluster that a provider has is an orphan only while Git and the fleet do not
// know it.
func TestUnknownClusters(t *testing.T) {
	known, stray := clusterOf(keyOf("a"), "1", "x"), clusterOf(keyOf("b"), "2", "x")
	known.Provider, stray.Provider = "cloud", "cloud"
	s := follow(State{}, fleetOf("1", fleet.Prune{}, known)).State
	decide := func(in Input) {
		in.Before = s
		s = Decide(in).State
	}
	want := func(what string, orphans ...fleet.Key) {
		t.Helper()
		if got := s.Status().Orphans; !slices.Equal(got, orphans) {
			t.Errorf("%s: the orphans are %v, not %v", what, got, orphans)
		}
	}
	decide(Input{Tagged: map[string][]fleet.Key{"cloud": {known.Key, stray.Key}}})
	want("the provider has it, and Git does not", stray.Key)
	both := fleetOf("2", fleet.Prune{}, known, stray)
	decide(Input{Newest: &Revision{Revision: both.Revision, Fleet: &both}})
	want("Git has it")
	stray.Abandon = true
	both = fleetOf("3", fleet.Prune{}, known, stray)
	decide(Input{Newest: &Revision{Revision: both.Revision, Fleet: &both}})
	one := fleetOf("4", fleet.Prune{}, known)
	decide(Input{Newest: &Revision{Revision: one.Revision, Fleet: &one}})
	decide(Input{Gone: []fleet.Key{stray.Key}})
	want("it is forgotten, and the provider has it still", stray.Key)
}

// TestStateIsAValue: a decision leaves the state before it as it is.
func TestStateIsAValue(t *testing.T) {
	f := fleetOf("1", fleet.Prune{}, clusterOf(keyOf("a"), "1", "x"), clusterOf(keyOf("b"), "1", "x"))
	before := follow(State{}, f).State
	target, _ := before.Target(keyOf("a"))
	after := Decide(Input{Before: before, Passes: []Pass{{Target: target, Report: fleet.Report{Cluster: keyOf("a"), Phase: fleet.PhaseProvisioned}, AtRest: true}}}).State
	if got, want := len(before.Status().Behind), 2; got != want {
		t.Errorf("%d clusters are behind in the state before, not %d", got, want)
	}
	if got, want := after.Status().Behind, []fleet.Key{keyOf("b")}; !slices.Equal(got, want) {
		t.Errorf("%v are behind, not %v", got, want)
	}
}
