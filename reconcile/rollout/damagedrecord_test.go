package rollout

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// recorded returns what the status branch says of the clusters, which have arrived, and of the rollout.
func (w *wavy) recorded() Record {
	r := Record{Fleet: "f", Applied: w.s.Applied(), Rollout: w.s.Rollout()}
	for _, k := range w.s.Keys() {
		t, _ := w.s.Target(k)
		r.Reports = append(r.Reports, fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Digest: t.Definition.Digest, Overlay: t.Definition.Overlay, Revision: t.Definition.Revision})
	}
	return r
}

// startsWithout begins as an agent does that cannot read fleet.yaml of the status branch, where clusters have f or older.
func (w *wavy) startsWithout(f, older *fleet.Fleet) {
	r := w.recorded()
	w.s = Recorded(Record{Reports: r.Reports}).WithoutOrphans()
	w.push(f)
	w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
	w.decide(Input{})
}

// TestDamagedRecordEndsNoSoak: a start that does not know how far clusters came lets no stage begin before the clusters of the one before
// are found at rest, and have soaked.
func TestDamagedRecordEndsNoSoak(t *testing.T) {
	waves := wavesOf()
	older, newer := wavyFleet("1", "v1", 5, waves), wavyFleet("2", "v2", 5, waves)
	w := provisioned(5)
	w.push(newer)
	w.want(t, "the canary is first", "v2 v1 v1 v1 v1")
	w.startsWithout(newer, older)
	w.now = w.now.Add(24 * time.Hour)
	w.decide(Input{})
	w.want(t, "the canary is not known to be at rest", "v2 v1 v1 v1 v1")
	w.rest("c0")
	w.want(t, "it has not soaked", "v2 v1 v1 v1 v1")
	w.now = w.now.Add(24 * time.Hour)
	w.decide(Input{})
	w.want(t, "it has soaked", "v2 v2 v2 v1 v1")
	w.startsWithout(newer, older)
	w.restart(older, newer)
	w.want(t, "two are not known to be at rest, for another start neither", "v2 v2 v2 v1 v1")
	w.rest("c0")
	w.now = w.now.Add(24 * time.Hour)
	w.rest("c1", "c2")
	w.want(t, "the others follow", "v2 v2 v2 v2 v2")
}

// TestDamagedRecordEndsNoHalt: nor does one after a canary that failed.
func TestDamagedRecordEndsNoHalt(t *testing.T) {
	waves := wavesOf()
	waves.Stages[0].Deadline = 2 * time.Hour
	older, newer := wavyFleet("1", "v1", 5, waves), wavyFleet("2", "v2", 5, waves)
	w := provisioned(5)
	w.push(older)
	w.push(newer)
	w.now = w.now.Add(3 * time.Hour)
	w.decide(Input{})
	if s := w.stage(t, "canary"); s.State != fleet.StageHalted {
		t.Fatalf("at the deadline the stage is %+v", s)
	}
	w.startsWithout(newer, older)
	w.want(t, "the canary is not known to be at rest", "v2 v1 v1 v1 v1")
}

// TestDeadlineIsNoticed: a stage halts at the deadline of its only cluster although passes report the same all the time.
func TestDeadlineIsNoticed(t *testing.T) {
	waves := wavesOf()
	waves.Stages[0].Deadline = 2 * time.Hour
	w := provisioned(5)
	w.push(wavyFleet("1", "v1", 5, waves))
	w.push(wavyFleet("2", "v2", 5, waves))
	for range 3 * 60 {
		w.now = w.now.Add(time.Minute)
		for _, k := range w.s.Keys() {
			target, _ := w.s.Target(k)
			w.decide(Input{Passes: []Pass{{Target: target, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}, AtRest: k != keyOf("c0")}}})
		}
	}
	if s := w.stage(t, "canary"); s.State != fleet.StageHalted {
		t.Errorf("after three hours the stage is %+v", s)
	}
}

// TestRepairedClusterWaitsForItsTurn: a cluster of a later stage, whose file people put back as it was, does not overtake the canary. Without
// stages it takes what is new at once.
func TestRepairedClusterWaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		waves fleet.Waves
		want  string
	}{
		"in stages":      {wavesOf(), "v1"},
		"without stages": {fleet.Waves{}, "v2"},
	} {
		older, newer := wavyFleet("1", "v1", 5, c.waves), wavyFleet("2", "v2", 5, c.waves)
		w := provisioned(5)
		k := keyOf("c4")
		was := w.recorded()
		w.push(newer)
		r := w.recorded()
		r.Damaged = map[fleet.Key]string{k: "it cannot be read"}
		r.Reports = r.Reports[:4]
		w.s = Recorded(r)
		w.push(newer)
		w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
		w.now = w.now.Add(time.Minute)
		w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{k: &was.Reports[4]}})
		if c.waves.Declared() {
			w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
			w.decide(Input{})
		}
		if target, _ := w.s.Target(k); target.Definition == nil || target.Definition.ControlPlane.Version != c.want {
			t.Errorf("%s: the target is %+v, want version %s", name, target, c.want)
		}
	}
}

// TestDamagedCanaryHoldsLaterStages: a canary whose file cannot be read, and which may be half done, holds the later stages, and so it does
// once the file is put back, until it is found at rest, and has soaked. If people delete the file instead, later stages go on.
func TestDamagedCanaryHoldsLaterStages(t *testing.T) {
	for name, repaired := range map[string]bool{"put back": true, "deleted": false} {
		waves := wavesOf()
		older, newer := wavyFleet("1", "v1", 5, waves), wavyFleet("2", "v2", 5, waves)
		w := provisioned(5)
		w.push(newer)
		r := w.recorded()
		k, report := keyOf("c0"), r.Reports[0]
		r.Reports, r.Damaged = r.Reports[1:], map[fleet.Key]string{k: "it cannot be read"}
		w.s = Recorded(r)
		w.push(newer)
		w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
		w.now = w.now.Add(24 * time.Hour)
		w.decide(Input{})
		w.want(t, name+": its file cannot be read", "v2 v1 v1 v1 v1")
		if s := w.stage(t, "canary"); !strings.Contains(s.Why, "the file of cluster prod/c0 on the status branch") {
			t.Errorf("%s: the stage is %+v", name, s)
		}
		if !repaired {
			w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{k: nil}})
			w.decide(Input{})
			w.want(t, name, "v2 v2 v2 v1 v1")
			continue
		}
		w.decide(Input{Repaired: map[fleet.Key]*fleet.Report{k: &report}})
		w.now = w.now.Add(24 * time.Hour)
		w.decide(Input{})
		w.want(t, name+": it is not known to be at rest", "v2 v1 v1 v1 v1")
		w.rest("c0")
		w.want(t, name+": it has not soaked", "v2 v1 v1 v1 v1")
		w.now = w.now.Add(24 * time.Hour)
		w.decide(Input{})
		w.want(t, name+": it has soaked", "v2 v2 v2 v1 v1")
	}
}

// TestDamagedRecordKeepsTheLimit: clusters that may be half changed go on before others begin, so that no more change than the stage says.
func TestDamagedRecordKeepsTheLimit(t *testing.T) {
	waves := wavesOf()
	waves.Stages[1].Deadline = 0
	older, newer, third := wavyFleet("1", "v1", 5, waves), wavyFleet("2", "v2", 5, waves), wavyFleet("3", "v3", 5, waves)
	w := provisioned(5)
	w.push(newer)
	w.rest("c0")
	w.now = w.now.Add(2 * time.Hour)
	w.decide(Input{})
	w.rest("c1", "c2")
	w.want(t, "c3 and c4 are on their way", "v2 v2 v2 v2 v2")
	w.startsWithout(newer, older)
	w.rest("c0", "c1", "c2")
	w.push(third)
	w.rest("c0")
	w.now = w.now.Add(2 * time.Hour)
	w.decide(Input{})
	w.want(t, "they go on first", "v3 v2 v2 v3 v3")
}

// TestUnknownClusterHoldsNoStage: a cluster whose definition cannot be had, known by name alone, is not late, and takes no place.
func TestUnknownClusterHoldsNoStage(t *testing.T) {
	waves := wavesOf()
	waves.Stages = waves.Stages[1:]
	w := provisioned(5)
	older, newer := wavyFleet("1", "v1", 5, waves), wavyFleet("2", "v2", 5, waves)
	w.push(older)
	r := w.recorded()
	broken := newer.Clusters[4]
	newer.Problems = []fleet.Problem{{Cluster: broken.Key, Overlay: broken.Overlay, Message: "broken"}}
	newer.Clusters = newer.Clusters[:4]
	older.Clusters, older.Unavailable = older.Clusters[:4], []string{r.Reports[4].Overlay}
	w.s = Recorded(Record{Reports: r.Reports}).WithoutOrphans()
	w.push(newer)
	w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
	w.rest("c0", "c1", "c2", "c3")
	w.now = w.now.Add(3 * time.Hour)
	w.decide(Input{})
	if s := w.stage(t, "prod"); s.Changing+s.Waiting > 0 || !strings.Contains(s.Why, "the newest revision has a problem with cluster prod/c4") {
		t.Errorf("the stage is %+v", s)
	}
}
