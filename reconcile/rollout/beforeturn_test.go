package rollout

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// TestLabelsAfterARestart: the labels of the present definition count although an agent that starts has not rendered it yet.
func TestLabelsAfterARestart(t *testing.T) {
	for name, waves := range map[string]fleet.Waves{"out of the freeze": frozenUntilJanuary(), "into an earlier stage": wavesOf()} {
		w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
		older, newer := wavyFleet("1", "v1", 3, waves), wavyFleet("2", "v2", 3, waves)
		w.push(older)
		w.rest("c0", "c1", "c2")
		newer.Clusters[2].Labels["ring"] = "canary"
		w.push(newer)
		w.rest("c0")
		w.want(t, name, "v2 v1 v1")
		w.restart(older, newer)
		w.want(t, name+", after a restart", "v2 v1 v1")
	}
}

// TestHalfChangedFirstAfterARestart: no cluster of a stage begins before one that may be half changed, and whose definition is rendered later.
func TestHalfChangedFirstAfterARestart(t *testing.T) {
	waves := wavesOf()
	waves.Stages = waves.Stages[1:]
	waves.Stages[0].AtOnce = 1
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	older, newer, newest := wavyFleet("1", "v1", 2, waves), wavyFleet("2", "v2", 2, waves), wavyFleet("3", "v3", 2, waves)
	w.push(older)
	w.rest("c0", "c1")
	newer.Clusters[0] = older.Clusters[0]
	w.push(newer)
	w.want(t, "c1 is on its way", "v1 v2")
	r, report := w.without(1)
	w.starts(r, newer, older)
	w.starts(Record{Fleet: "f", Applied: newer.Revision, Rollout: w.s.Rollout(), Reports: append(r.Reports, report)}, newest, older)
	w.decide(Input{Older: []Revision{{Revision: newer.Revision, Fleet: newer}}})
	w.want(t, "c1 goes on", "v1 v3")
}

// TestBrokenClusterTakesNoOlderRevision: what waits for a cluster of a later stage was replaced for the canary. It does not begin while the
// newest revision has a problem with the cluster, unless people ask for it.
func TestBrokenClusterTakesNoOlderRevision(t *testing.T) {
	w := provisioned(5)
	w.push(wavyFleet("2", "v2", 5, wavesOf()))
	broken := wavyFleet("3", "v1", 5, wavesOf())
	broken.Problems = []fleet.Problem{{Cluster: keyOf("c4"), Overlay: broken.Clusters[4].Overlay, Message: "broken"}}
	broken.Clusters = broken.Clusters[:4]
	w.push(broken)
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "no canary has v2", "v1 v1 v1 v1 v1")
	if a := w.ask(t, fleet.Request{Cluster: keyOf("c4"), Release: fleet.ReleaseNow}); a.State != fleet.RequestDone {
		t.Errorf("the answer is %+v", a)
	}
	w.want(t, "it was asked for", "v1 v1 v1 v1 v2")
	if got, _ := w.s.Target(keyOf("c4")); len(got.Problems) != 1 {
		t.Errorf("its problems are %v", got.Problems)
	}
}

// TestBrokenCanaryTakesWhatWaits: a canary that gets what waited is still broken in the newest revision, and holds later stages.
func TestBrokenCanaryTakesWhatWaits(t *testing.T) {
	waves := wavesOf()
	waves.Windows = []fleet.Window{{Name: "night", Select: waves.Stages[1].Select, Schedule: nightly(6 * time.Hour)}}
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 5, waves))
	w.rest("c0", "c1", "c2", "c3", "c4")
	w.now = w.now.Add(12 * time.Hour)
	w.push(wavyFleet("2", "v2", 5, waves))
	w.push(brokenIn(wavyFleet("3", "v3", 5, waves), keyOf("c0")))
	w.now = w.now.Add(12 * time.Hour)
	w.decide(Input{})
	w.rest("c0")
	w.now = w.now.Add(2 * time.Hour)
	w.decide(Input{})
	w.want(t, "nothing shows that v3 works", "v2 v1 v1 v1 v1")
}

// TestDamagedRecordEndsNoHaltWithinAStage: nor do others of a stage begin that was halted since a cluster was late. They wait until that one is
// found at rest, or late again.
func TestDamagedRecordEndsNoHaltWithinAStage(t *testing.T) {
	older, newer := wavyFleet("1", "v1", 5, wavesOf()), wavyFleet("2", "v2", 5, wavesOf())
	w := provisioned(5)
	w.push(newer)
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.now = w.now.Add(119 * time.Minute)
	w.rest("c1")
	w.now = w.now.Add(time.Minute)
	w.rest("c3")
	if s := w.stage(t, "prod"); s.State != fleet.StageHalted {
		t.Fatalf("c2 is late, and the stage is %+v", s)
	}
	w.startsWithout(newer, older)
	w.rest("c0", "c1", "c3", "c4")
	w.now = w.now.Add(time.Hour)
	target, _ := w.s.Target(keyOf("c2"))
	w.decide(Input{Passes: []Pass{{Target: target, Report: fleet.Report{Cluster: keyOf("c2"), Phase: fleet.PhaseProvisioned}}}})
	w.want(t, "c2 is not known to be at rest", "v2 v2 v2 v2 v1")
	suspended := *w
	suspended.suspend("c2")
	suspended.want(t, "c2 is suspended, so its stage does not wait for it", "v2 v2 v2 v2 v2")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	if s := w.stage(t, "prod"); s.State != fleet.StageHalted {
		t.Errorf("c2 is late again, and the stage is %+v", s)
	}
	w.rest("c2")
	w.want(t, "all are at rest", "v2 v2 v2 v2 v2")
}

// TestReleaseBeforeTheFirstRevision: an agent that can use no revision yet does not know what waits, and answers no release.
func TestReleaseBeforeTheFirstRevision(t *testing.T) {
	w := provisioned(5)
	w.push(wavyFleet("2", "v2", 5, wavesOf()))
	w.s = Recorded(w.recorded())
	w.decide(Input{Newest: &Revision{Revision: revision("3"), Refused: "rubbish"}})
	if a := w.ask(t, fleet.Request{Cluster: keyOf("c4"), Release: fleet.ReleaseNow}); a != (fleet.Answer{}) {
		t.Errorf("the answer is %+v", a)
	}
}
