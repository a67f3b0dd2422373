package rollout

import (
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
