package reports_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
)

var key = fleet.Key{Namespace: "prod", Name: "a"}

func report(phase fleet.Phase, version, failure string) fleet.Report {
	return fleet.Report{Cluster: key, Phase: phase, Version: version, Failure: failure}
}

// TestNewestStays: a pass that sees nothing leaves what the newest pass saw, not
// what the status branch said when the agent began.
func TestNewestStays(t *testing.T) {
	s := reports.New()
	s.Restore([]fleet.Report{report(fleet.PhaseWorkers, "v1", "")})
	if _, passed := s.Last(key); passed {
		t.Error("what was recalled counts as seen")
	}
	s.Put(report(fleet.PhaseProvisioned, "v2", ""), nil)
	want := report(fleet.PhaseProvisioned, "v2", "the cloud is away")
	if diff := cmp.Diff(want, s.Put(report("", "", "the cloud is away"), nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got, passed := s.Last(key)
	if diff := cmp.Diff(want, got); diff != "" || !passed {
		t.Errorf("passed %v, (-want +got)\n%s", passed, diff)
	}
}

// TestForgotten: nothing of a cluster is left for another one of its name.
func TestForgotten(t *testing.T) {
	s := reports.New()
	s.Restore([]fleet.Report{report(fleet.PhaseProvisioned, "v1", "")})
	s.Forget(key)
	if diff := cmp.Diff(report("", "v9", "away"), s.Put(report("", "v9", "away"), nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestFollow: followers are told of each change in its order, and of what a pass did
// once.
func TestFollow(t *testing.T) {
	s := reports.New()
	var told []string
	s.Follow(func(c reports.Change) {
		if c.Gone {
			told = append(told, "gone")
			return
		}
		told = append(told, string(c.Report.Phase)+" "+c.Report.Failure)
		told = append(told, c.Report.Actions...)
	})
	did := report(fleet.PhaseWorkers, "v1", "")
	did.Actions = []string{"CreateMachine"}
	s.Restore([]fleet.Report{report(fleet.PhaseProvisioned, "v0", "")})
	s.Put(did, nil)
	s.Put(report("", "", "away"), nil)
	s.Forget(key)
	if diff := cmp.Diff([]string{"Workers ", "CreateMachine", "Workers away", "gone"}, told); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNeighborPlaces: places beside the first ones are told to the other clusters of the
// namespace for as long as the newest report has them.
func TestNeighborPlaces(t *testing.T) {
	s := reports.New()
	other := fleet.Key{Namespace: "prod", Name: "b"}
	at := func(places ...fleet.Place) fleet.Report {
		r := report(fleet.PhaseProvisioned, "v1", "")
		r.Residence.Places = places
		return r
	}
	expect := func(what string, k fleet.Key, want ...fleet.Place) {
		t.Helper()
		if d := cmp.Diff(want, s.NeighborPlaces(k)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", what, d)
		}
	}
	s.Restore([]fleet.Report{at(fleet.Place{ID: "one"}, fleet.Place{ID: "two"})})
	expect("as the record tells", other, fleet.Place{ID: "two"})
	expect("a cluster itself", key)
	expect("another namespace", fleet.Key{Namespace: "test", Name: "b"})
	s.Put(at(fleet.Place{ID: "one"}, fleet.Place{ID: "three"}), nil)
	s.Put(report("", "", "away"), nil)
	expect("after passes", other, fleet.Place{ID: "three"})
	s.Put(at(fleet.Place{ID: "one"}), nil)
	expect("once it is left", other)
	s.Put(at(fleet.Place{ID: "one"}, fleet.Place{ID: "two"}), nil)
	s.Forget(key)
	expect("once the cluster is forgotten", other)
}
