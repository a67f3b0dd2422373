package rollout

import (
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// without returns what w.recorded does where the file of cluster i cannot be read, and what that file said.
func (w *wavy) without(i int) (Record, fleet.Report) {
	r := w.recorded()
	report := r.Reports[i]
	r.Reports, r.Damaged = slices.Delete(r.Reports, i, i+1), map[fleet.Key]string{report.Cluster: "it cannot be read"}
	return r, report
}

// starts begins as an agent does that reads r, where clusters have f or older.
func (w *wavy) starts(r Record, f, older *fleet.Fleet) {
	w.s = Recorded(r)
	w.push(f)
	w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
}

// brokenIn returns f with a problem with its first cluster.
func brokenIn(f *fleet.Fleet, k fleet.Key) *fleet.Fleet {
	f.Problems = []fleet.Problem{{Cluster: k, Overlay: f.Clusters[0].Overlay, Message: "broken"}}
	f.Clusters = f.Clusters[1:]
	return f
}

// TestRepairedBetweenStarts: people put a damaged file back while no agent runs. The canary is not taken for one that is done, nor one of a
// later stage for a new cluster.
func TestRepairedBetweenStarts(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	for _, i := range []int{0, 4} {
		w := provisioned(5)
		w.push(newer)
		r, report := w.without(i)
		w.starts(r, newer, older)
		w.starts(Record{Fleet: "f", Applied: newer.Revision, Rollout: w.s.Rollout(), Reports: append(r.Reports, report)}, newer, older)
		w.now = w.now.Add(24 * time.Hour)
		w.decide(Input{})
		w.want(t, "put back: "+report.Cluster.String(), "v2 v1 v1 v1 v1")
	}
}

// TestRepairedWhileBeingMade: no stage waits for a cluster that is being made, whose damaged file is put back.
func TestRepairedWhileBeingMade(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	w := provisioned(5)
	w.push(newer)
	r, report := w.without(0)
	report.Milestones.Began = w.now
	w.starts(r, newer, older)
	next := Record{Fleet: "f", Applied: newer.Revision, Rollout: w.s.Rollout(), Reports: append(r.Reports, report)}
	for range 2 {
		w.starts(next, newer, older)
		w.want(t, "the canary is new", "v2 v2 v2 v1 v1")
		if s := w.stage(t, "canary"); s.Clusters > 0 {
			t.Errorf("its stage is %+v", s)
		}
		next.Rollout = w.s.Rollout()
	}
}

// TestRestartBeforeADefinitionIsFound: the next agent still does not know of a canary that it was done, although fleet.yaml was written again
// meanwhile.
func TestRestartBeforeADefinitionIsFound(t *testing.T) {
	newer, broken := wavyFleet("2", "v2", 5, wavesOf()), brokenIn(wavyFleet("3", "v2", 5, wavesOf()), keyOf("c0"))
	w := provisioned(5)
	w.push(newer)
	r := w.recorded()
	w.s = Recorded(Record{Reports: r.Reports}).WithoutOrphans()
	w.push(broken)
	w.decide(Input{Older: []Revision{{Revision: newer.Revision, Unavailable: "no answer"}}})
	w.starts(Record{Fleet: "f", Applied: broken.Revision, Reports: r.Reports, Rollout: w.s.Rollout()}, broken, newer)
	w.decide(Input{Older: []Revision{{Revision: revision("1"), Fleet: wavyFleet("1", "v1", 5, wavesOf())}}})
	w.push(wavyFleet("4", "v2", 5, wavesOf()))
	w.now = w.now.Add(24 * time.Hour)
	w.decide(Input{})
	w.want(t, "the canary is not known to be at rest", "v2 v1 v1 v1 v1")
}

// TestRepairedWhileBroken: the newest revision has a problem with a canary whose file is damaged, or with its folder, which is not known then.
// Later stages wait before the file is put back, and then until the canary is found at rest.
func TestRepairedWhileBroken(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	for name, k := range map[string]fleet.Key{"cluster": keyOf("c0"), "folder": {}} {
		w := provisioned(5)
		w.push(newer)
		r, report := w.without(0)
		w.starts(r, brokenIn(wavyFleet("3", "v2", 5, wavesOf()), k), older)
		w.wantOthers(t, name+" is broken", "v1")
		w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{report.Cluster: &report}})
		w.decide(Input{Older: []Revision{{Revision: newer.Revision, Fleet: newer}}})
		w.want(t, name+" is broken, and its file put back", "v2 v1 v1 v1 v1")
		if got, _ := w.s.Target(report.Cluster); got.Why != "" || !got.InGit || len(got.Problems) != 1 {
			t.Errorf("%s: %q, in Git: %v, problems %v", name, got.Why, got.InGit, got.Problems)
		}
		w.push(wavyFleet("4", "v2", 5, wavesOf()))
		w.now = w.now.Add(24 * time.Hour)
		w.decide(Input{})
		w.want(t, name+" is not known to be at rest", "v2 v1 v1 v1 v1")
		w.rest("c0")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.want(t, name+" has soaked", "v2 v2 v2 v1 v1")
	}
}

// TestRemovedWhileDamaged: a cluster whose file is damaged is removed from Git. Nothing shows that its change was done, so stages later than its
// own wait until people go on without it.
func TestRemovedWhileDamaged(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 4, wavesOf()), wavyFleet("2", "v2", 4, wavesOf())
	for i, want := range []string{"v1 v1 v1", "v2 v2 v2"} {
		w := provisioned(4)
		w.push(newer)
		w.rest("c0")
		r, report := w.without(i)
		w.starts(r, newer, older)
		w.push(wavyFleet("3", "v2", 4, wavesOf()))
		if left := w.s.Rollout().Departed; len(left) > 0 {
			t.Errorf("%v left, and are there", left)
		}
		without := wavyFleet("4", "v2", 4, wavesOf())
		without.Clusters = slices.Delete(without.Clusters, i, i+1)
		w.push(without)
		w.decide(Input{Gone: []fleet.Key{report.Cluster}})
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.want(t, "without "+report.Cluster.Name, want)
		if left := w.s.Rollout().Departed; want == "v1 v1 v1" && len(left) != 1 {
			t.Errorf("%v left", left)
		}
		if i > 0 {
			continue
		}
		if a := w.ask(t, fleet.Request{Cluster: report.Cluster, Release: fleet.ReleaseSkip}); a.State != fleet.RequestDone {
			t.Errorf("the answer is %+v", a)
		}
		w.want(t, "people go on without it", "v2 v2 v1")
	}
}

// TestNothingUsableAtAStart: an agent that can use no revision keeps what the status says of stages, for the next one.
func TestNothingUsableAtAStart(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	for _, news := range []Revision{{Revision: revision("3"), Unavailable: "no answer"}, {Revision: revision("3"), Refused: "rubbish"}} {
		w := provisioned(5)
		w.push(newer)
		r := w.recorded()
		w.s = Recorded(r)
		w.decide(Input{Newest: &news})
		r.Rollout = w.s.Rollout()
		w.starts(r, newer, older)
		w.now = w.now.Add(24 * time.Hour)
		w.decide(Input{})
		w.want(t, "the canary is not at rest", "v2 v1 v1 v1 v1")
	}
}

// TestUnknownIsNothingToGoBackTo: a cluster that was not found at rest with what it had goes back to that by its turn.
func TestUnknownIsNothingToGoBackTo(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	w := provisioned(5)
	w.push(newer)
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.startsWithout(newer, older)
	w.push(wavyFleet("3", "v3", 5, wavesOf()))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "the half changed ones come first", "v3 v3 v3 v1 v1")
	w.push(wavyFleet("4", "v2", 5, wavesOf()))
	w.want(t, "they wait for the canary", "v2 v3 v3 v1 v1")
}
