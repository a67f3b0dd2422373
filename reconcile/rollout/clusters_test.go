package rollout

import (
	"maps"
	"math/rand/v2"
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

// TestClusterMap: what a map keeps beside its clusters is what it has of them, however it came about, and a
// change leaves the map before unchanged.
func TestClusterMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() cluster {
		var c cluster
		switch random.IntN(4) {
		case 0:
			c.recorded = &fleet.Report{Memory: fleet.Memory{Residence: fleet.Residence{Guests: []fleet.GuestMemory{{Provider: "edge"}, {Provider: "cloud"}}}}}
		case 1: // its record is damaged
		default:
			c.definition = &fleet.Cluster{Provider: []string{"cloud", "metal"}[random.IntN(2)]}
		}
		switch random.IntN(8) {
		case 0:
			c.behind = true
		case 1:
			c.orphan = true
		case 2:
			c.damaged = "it cannot be read"
		case 3:
			c.next = &fleet.Cluster{}
		}
		return c
	}
	verify := func(m clusterMap) {
		t.Helper()
		var notable []fleet.Key
		providers := map[string]int{}
		for k, c := range m.all() {
			if c.behind || c.orphan || c.damaged != "" || c.next != nil || c.definition == nil {
				notable = append(notable, k)
			}
			if c.definition != nil {
				providers[c.definition.Provider]++
			}
			if c.recorded != nil {
				providers["edge"]++
				providers["cloud"]++
			}
		}
		var got []fleet.Key
		for k, c := range m.seenNotable() {
			if got = append(got, k); c != mustGet(m, k) {
				t.Fatalf("%s: what is notable is another one than the cluster", k)
			}
		}
		if !slices.Equal(got, notable) {
			t.Fatalf("notable are %v, not %v", got, notable)
		}
		if !maps.Equal(m.providers, providers) {
			t.Fatalf("the providers are %v, not %v", m.providers, providers)
		}
	}
	var m clusterMap
	for range 2000 {
		before, k := m, keyOf(string(rune('a'+random.IntN(12))))
		switch random.IntN(12) {
		case 0, 1, 2:
			m.delete(k)
		case 3:
			m = m.mapped(func(_ fleet.Key, c cluster) cluster { c.behind = !c.behind; return c })
		default:
			m.put(k, some())
		}
		verify(before)
		verify(m)
	}
}

func mustGet(m clusterMap, k fleet.Key) *cluster {
	c, _ := m.byKey.Get(k)
	return c
}
