package rollout

import (
	"fmt"
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

// A cluster that vanished is being deleted. Once its folder is back that ends, also where the folder is broken, and
// where it has what it had before, also for the next agent; a problem of the whole fleet does not end it.
func TestPutBackWhileItIsDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		waves  fleet.Waves
		reborn bool
	}{"at once": {}, "in stages": {waves: wavesOf()}, "restarted": {reborn: true}, "in stages and restarted": {wavesOf(), true}} {
		w := &wavy{}
		first := wavyFleet("1", "v1", 3, tc.waves)
		revision := func(n, clusters int, problems ...fleet.Problem) *fleet.Fleet {
			f := wavyFleet(fmt.Sprint(n), "v1", clusters, tc.waves)
			f.Config.Prune, f.Problems = fleet.Prune{Enabled: true, Limit: 1}, problems
			return f
		}
		is := func(f *fleet.Fleet) Target {
			w.push(f)
			got, _ := w.s.Target(keyOf("c2"))
			return got
		}
		is(first)
		w.rest("c0", "c1", "c2")
		second := revision(2, 2)
		if got := is(second); !got.Pruned || !got.Definition.Delete {
			t.Fatalf("%s: it is not deleted: %+v", name, got)
		}
		if tc.reborn {
			r := w.recorded()
			r.Fleet, r.Applied = "f", second.Revision
			for i := range r.Reports {
				if r.Reports[i].Cluster == keyOf("c2") {
					r.Reports[i].Phase = fleet.PhaseDeleting
				}
			}
			w.s = Recorded(r)
			w.push(second)
			w.decide(Input{Older: []Revision{{Revision: first.Revision, Fleet: first}}})
		}
		if got := is(revision(3, 2, fleet.Problem{Message: "it cannot be read"})); !got.Pruned || !got.Definition.Delete || got.InGit {
			t.Errorf("%s: a problem of the whole fleet: %+v", name, got)
		}
		if got := is(revision(4, 2, fleet.Problem{Overlay: first.Clusters[2].Overlay, Message: "it cannot be read"})); got.Pruned || got.Definition.Delete || !got.InGit {
			t.Errorf("%s: its folder is back, and broken: %+v", name, got)
		}
		if got := is(revision(5, 3)); got.Pruned || got.Definition.Delete || !got.InGit {
			t.Errorf("%s: its folder is back: %+v", name, got)
		}
	}
}
