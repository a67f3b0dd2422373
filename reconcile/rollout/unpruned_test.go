package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestUnprunedIsToldAgain: why clusters that were removed from Git stay is told of the revision that removed them, also by
// an agent that starts with it.
func TestUnprunedIsToldAgain(t *testing.T) {
	reports := []fleet.Report{{Cluster: keyOf("c1"), Digest: "v1", Revision: revision("1")}, {Cluster: keyOf("c2"), Digest: "v1", Revision: revision("1")}}
	empty := func(rev string) *Revision {
		return &Revision{Revision: revision(rev), Fleet: &fleet.Fleet{ID: "f", Revision: revision(rev)}}
	}
	ran := Decide(Input{Before: Recorded(Record{Fleet: "f", Applied: revision("1"), Reports: reports}), Newest: empty("2")}).State
	told := ran.Status()
	if len(told.Problems) != 1 {
		t.Fatalf("the agent that runs tells %v", told.Problems)
	}
	other := fleet.Problem{File: "fleet.yaml", Field: "spec.status.branch", Message: "the agent before had to be restarted"}
	begins := func() State {
		return Recorded(Record{Fleet: "f", Applied: revision("2"), Reports: reports, Orphans: told.Orphans, Problems: append([]fleet.Problem{other}, told.Problems...)})
	}
	for reason, before := range map[string]State{"an agent that starts": begins(), "an agent that renders it again": ran} {
		if diff := cmp.Diff(told.Problems, Decide(Input{Before: before, Newest: empty("2")}).State.Status().Problems); diff != "" {
			t.Errorf("%s tells (-want +got):\n%s", reason, diff)
		}
		next := Decide(Input{Before: before, Newest: empty("3")}).State
		next = Decide(Input{Before: next, Newest: empty("3")}).State
		if got := next.Status().Problems; len(got) > 0 {
			t.Errorf("%s: of the next revision it tells %v", reason, got)
		}
	}
}
