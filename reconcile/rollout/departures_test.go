package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
)

// inSoak has a canary that is whole at v2 and soaks, and c1 and c2 that wait for it.
func inSoak() *wavy {
	w := provisioned(3)
	w.push(wavyFleet("2", "v2", 3, wavesOf()))
	w.rest("c0")
	return w
}

func onItsWay() *wavy {
	w := provisioned(3)
	w.push(wavyFleet("2", "v2", 3, wavesOf()))
	return w
}

func lost(w *wavy) *wavy {
	w.lose("c0")
	return w
}

// TestChangeOutlivesItsStage takes a canary out of its stage, in each way that a commit may, while
// its change is on its way, soaks, or has failed: what comes after waits as for one that stayed,
// also for the next agent.
func TestChangeOutlivesItsStage(t *testing.T) {
	states := map[string]struct {
		canary func() *wavy
		ends   bool // with its soak
	}{
		"on its way":           {canary: onItsWay},
		"lost on its way":      {canary: func() *wavy { return lost(onItsWay()) }},
		"in its soak":          {canary: inSoak, ends: true},
		"failed in its soak":   {canary: func() *wavy { return lost(inSoak()) }},
		"suspended on its way": {canary: func() *wavy { w := onItsWay(); w.suspend("c0"); return w }},
	}
	ways := map[string]func(f *fleet.Fleet){
		"relabelled":             func(f *fleet.Fleet) { f.Clusters[0].Labels["ring"], f.Clusters[0].Digest = "prod", "relabelled" },
		"relabelled and changed": func(f *fleet.Fleet) { other(f, "prod") },
		"removed":                func(f *fleet.Fleet) { f.Clusters = f.Clusters[1:] },
		"pruned": func(f *fleet.Fleet) {
			f.Config.Prune = fleet.Prune{Enabled: true, Limit: 1}
			f.Clusters = f.Clusters[1:]
		},
		"to be deleted": func(f *fleet.Fleet) { f.Clusters[0].Delete, f.Clusters[0].Digest = true, "deleted" },
		"abandoned":     func(f *fleet.Fleet) { f.Clusters[0].Abandon, f.Clusters[0].Digest = true, "abandoned" },
	}
	for state, in := range states {
		for way, out := range ways {
			for _, then := range []string{"", "restarted", "restarted before", "gone"} {
				t.Run(strings.Join([]string{state, way, then}, "/"), func(t *testing.T) {
					w := in.canary()
					f := wavyFleet("3", "v2", 3, wavesOf())
					out(f)
					all := []*fleet.Fleet{wavyFleet("1", "v1", 3, wavesOf()), wavyFleet("2", "v2", 3, wavesOf()), f}
					if then != "restarted before" {
						w.push(f)
					}
					switch then {
					case "restarted", "restarted before": // the commit came while no agent ran
						w.reborn(all)
					case "gone":
						w.decide(Input{Gone: []fleet.Key{keyOf("c0")}})
					}
					w.wantOthers(t, "its change counts", "v1")
					if then == "gone" && (way == "removed" || way == "pruned") && w.s.Has(keyOf("c0")) {
						t.Error("it is forgotten, and known again")
					}
					if c, _ := w.s.Target(keyOf("c0")); way == "relabelled and changed" && c.Definition.ControlPlane.Version != "v2" {
						t.Errorf("what waits for c0 has its turn with the others: %+v", w.s.Rollout().Stages)
					}
					w.now = w.now.Add(time.Hour)
					w.decide(Input{})
					if in.ends && way != "relabelled and changed" {
						w.wantOthers(t, "the soak is over", "v2")
						return
					}
					if in.ends {
						return // what it has now has its own turn
					}
					w.wantOthers(t, "nothing shows that it works", "v1")
					if state == "suspended on its way" && strings.HasPrefix(way, "relabelled") {
						w.decide(Input{Requests: &Requests{}})
					}
					if a := w.ask(t, fleet.Request{Cluster: keyOf("c0"), Release: fleet.ReleaseSkip}); a.State != fleet.RequestDone {
						t.Errorf("the answer is %+v", a)
					}
					w.wantOthers(t, "people go on without it", "v2")
				})
			}
		}
	}
}

// other has the canary in another ring, with a change of its own.
func other(f *fleet.Fleet, ring string) {
	f.Clusters[0] = wavyFleet(f.Revision.Hash(), "v3", 1, fleet.Waves{}).Clusters[0]
	f.Clusters[0].Labels["ring"] = ring
}

// wantOthers wants all but c0 held to version.
func (w *wavy) wantOthers(t *testing.T, what, version string) {
	t.Helper()
	for _, k := range w.s.Keys() {
		if c, _ := w.s.Target(k); k.Name != "c0" && (c.Definition == nil || c.Definition.ControlPlane.Version != version) {
			t.Errorf("%s: %s is not at %s; %+v", what, k, version, w.s.Rollout().Stages)
		}
	}
}

// withoutCanary is a revision that has c0 no more.
func withoutCanary(rev, version string, waves fleet.Waves) *fleet.Fleet {
	f := wavyFleet(rev, version, 3, waves)
	f.Clusters = f.Clusters[1:]
	return f
}

// TestReplacedChangeKeepsDepartures replaces what waits for a canary that was removed before its change
// was done, with the same commit or a later one: later stages wait until people go on without it, or
// nothing waits any more.
func TestReplacedChangeKeepsDepartures(t *testing.T) {
	for state, canary := range map[string]func() *wavy{"on its way": onItsWay, "lost": func() *wavy { return lost(onItsWay()) }, "lost in its soak": func() *wavy { return lost(inSoak()) }} {
		for _, later := range []bool{false, true} {
			for _, restarted := range []bool{false, true} {
				t.Run(fmt.Sprint(state, later, restarted), func(t *testing.T) {
					w := canary()
					all := []*fleet.Fleet{wavyFleet("1", "v1", 3, wavesOf()), wavyFleet("2", "v2", 3, wavesOf())}
					if later {
						w.push(withoutCanary("3", "v2", wavesOf()))
						w.wantOthers(t, "it was removed", "v1")
					}
					all = append(all, withoutCanary("4", "v3", wavesOf()))
					w.push(all[2])
					if restarted {
						w.reborn(all)
					}
					w.now = w.now.Add(3 * time.Hour)
					w.decide(Input{})
					w.wantOthers(t, "what waited was replaced", "v1")
					if st := w.s.Rollout().Stages; len(st) != 2 || st[0].State == fleet.StageHalted {
						t.Errorf("what failed was something else: %+v", st)
					}
					undone := *w
					if a := w.ask(t, fleet.Request{Cluster: keyOf("c0"), Release: fleet.ReleaseSkip}); a.State != fleet.RequestDone {
						t.Errorf("the answer is %+v", a)
					}
					w.wantOthers(t, "people go on without it", "v3")
					undone.push(withoutCanary("5", "v1", wavesOf()))
					if got := undone.s.Rollout().Departed; len(got) > 0 {
						t.Errorf("nothing waits: %+v", got)
					}
					undone.push(withoutCanary("6", "v4", wavesOf()))
					undone.wantOthers(t, "the next change is a new one", "v4")
				})
			}
		}
	}
}

// TestReplacedChangeMayRepairItsStage: where what waits is replaced, a failed cluster that was removed
// no longer halts its stage, so that a commit can repair the others.
func TestReplacedChangeMayRepairItsStage(t *testing.T) {
	waves := wavesOf()
	waves.Stages[1].AtOnce = 1
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 4, waves))
	w.rest("c0", "c1", "c2", "c3")
	w.push(wavyFleet("2", "v2", 4, waves))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.lose("c1")
	without := func(rev, version string) *fleet.Fleet {
		f := wavyFleet(rev, version, 4, waves)
		f.Clusters = slices.Delete(f.Clusters, 1, 2)
		return f
	}
	w.push(without("3", "v2"))
	w.want(t, "it failed", "v2 v2 v1 v1")
	w.push(without("4", "v3"))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "another try", "v3 v2 v3 v1")
}

// TestRenamedStageKeepsDepartures renames stages while a change waits for a canary that was removed, or
// relabelled, with the same commit or a later one: a name ends no change.
func TestRenamedStageKeepsDepartures(t *testing.T) {
	renamed := wavesOf()
	renamed.Stages[0].Name, renamed.Stages[1].Name = "pilot", "rest-of-it"
	relabelled := func(rev string, waves fleet.Waves) *fleet.Fleet {
		f := wavyFleet(rev, "v2", 3, waves)
		f.Clusters[0].Labels["ring"], f.Clusters[0].Digest = "prod", "relabelled"
		return f
	}
	removed := func(rev string, waves fleet.Waves) *fleet.Fleet { return withoutCanary(rev, "v2", waves) }
	for way, out := range map[string]func(string, fleet.Waves) *fleet.Fleet{"removed": removed, "relabelled": relabelled} {
		for state, canary := range map[string]func() *wavy{"on its way": onItsWay, "in its soak": inSoak} {
			for _, later := range []bool{false, true} {
				t.Run(fmt.Sprint(way, state, later), func(t *testing.T) {
					w := canary()
					if later {
						w.push(out("3", wavesOf()))
					}
					before := *w
					w.push(out("4", renamed))
					for _, d := range before.s.Rollout().Departed {
						if d.Stage != "canary" {
							t.Errorf("what was decided before is changed: %+v", d)
						}
					}
					for _, d := range w.s.Rollout().Departed {
						if d.Stage != "pilot" {
							t.Errorf("it left stage pilot: %+v", d)
						}
					}
					w.wantOthers(t, "it left", "v1")
					if st := w.s.Rollout().Stages; st[0].Name != "pilot" || st[0].State == fleet.StageDone {
						t.Errorf("stages: %+v", st)
					}
					w.rest("c0") // which passes over an orphan cannot
					w.now = w.now.Add(2 * time.Hour)
					w.decide(Input{})
					if w.decide(Input{}); state == "in its soak" || way == "relabelled" {
						w.wantOthers(t, "its soak is over", "v2")
					}
				})
			}
		}
	}
}

// TestStageOfAnotherClassIsNoOtherName: a stage that is renamed is not taken for one of a class that selects the same.
func TestStageOfAnotherClassIsNoOtherName(t *testing.T) {
	waves := wavesOf()
	waves.Classes = []fleet.ClassStages{{Class: keyOf("class"), Stages: []fleet.Stage{{Name: "edge", Select: labels.Everything(), AtOnce: 1}}}}
	w := provisioned(3)
	w.push(wavyFleet("2", "v2", 3, waves))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "prod is on its way", "v2 v2 v2")
	waves.Stages = slices.Clone(waves.Stages)
	waves.Stages[1].Name = "all"
	w.push(wavyFleet("3", "v2", 3, waves))
	for _, st := range w.s.Rollout().Standings[1:] {
		if st.Stage != "all" {
			t.Errorf("%s is in stage %s, want all", st.Cluster, st.Stage)
		}
	}
}

// TestStageThatIsRecorded: the last stage of a fleet with stages is one, and so is that of a class in a fleet with no
// others. Without any stages there is none.
func TestStageThatIsRecorded(t *testing.T) {
	class := keyOf("class")
	ofClass := fleet.Waves{Classes: []fleet.ClassStages{{Class: class, Stages: []fleet.Stage{{Name: "edge", Select: labels.Everything(), AtOnce: 3}}}}}
	for want, waves := range map[string]fleet.Waves{"rest": {Stages: wavesOf().Stages[:1]}, "edge": ofClass, "": frozenUntilJanuary()} {
		w := &wavy{now: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)}
		for _, version := range []string{"v1", "v2"} {
			f := wavyFleet(version, version, 2, waves)
			for i := range f.Clusters {
				f.Clusters[i].Topology = &fleet.Topology{Class: class}
			}
			w.push(f)
			w.rest("c0", "c1")
			w.now = w.now.Add(2 * time.Hour)
			w.decide(Input{})
		}
		if st := w.s.Rollout().Standings; len(st) != 2 || st[1].Stage != want {
			t.Errorf("%q: %+v", want, st)
		}
	}
}

// TestSoakOfADeparture: a newer commit replaces what waits for a canary that was whole when it was removed. Later
// stages wait for the rest of its soak, and no longer.
func TestSoakOfADeparture(t *testing.T) {
	w := inSoak()
	w.push(withoutCanary("3", "v2", wavesOf()))
	w.push(withoutCanary("4", "v3", wavesOf()))
	w.wantOthers(t, "it soaks", "v1")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.wantOthers(t, "it has soaked", "v3")
}

// TestRecreatedAfterDeparture: a canary that was removed on its way, is gone, and is put back is another cluster. Later
// stages wait until it is whole.
func TestRecreatedAfterDeparture(t *testing.T) {
	w := onItsWay()
	w.push(withoutCanary("3", "v2", wavesOf()))
	w.decide(Input{Gone: []fleet.Key{keyOf("c0")}})
	w.push(wavyFleet("4", "v2", 3, wavesOf()))
	w.wantOthers(t, "it is being made", "v1")
	w.rest("c0")
	w.wantOthers(t, "it is whole", "v2")
}

// TestDeparturesOfBeforeStay: a decision leaves what was decided before unchanged.
func TestDeparturesOfBeforeStay(t *testing.T) {
	w := lost(onItsWay())
	w.push(withoutCanary("3", "v2", wavesOf()))
	before := w.s
	for _, f := range []*fleet.Fleet{withoutCanary("4", "v3", wavesOf()), withoutCanary("5", "v1", wavesOf()), wavyFleet("6", "v2", 3, wavesOf())} {
		w.push(f)
		if d := before.Rollout().Departed; len(d) != 1 || d[0].Trouble == "" || d[0].Cluster != keyOf("c0") {
			t.Fatalf("after %s: %+v", f.Revision, d)
		}
		w.s = before
	}
}

// TestDepartedStageThatIsGone takes the canary's stage out of fleet.yaml, while an agent runs or between
// two: what it began holds back the first stage that there is. Without any stages it holds back nothing.
func TestDepartedStageThatIsGone(t *testing.T) {
	one := wavesOf()
	one.Stages = append([]fleet.Stage{{Name: "lab", Select: labels.SelectorFromSet(labels.Set{"ring": "lab"}), AtOnce: 1}}, one.Stages[1:]...)
	none := fleet.Waves{Freezes: []fleet.Freeze{{Select: labels.SelectorFromSet(labels.Set{"ring": "lab"}), From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)}}}
	for _, restarted := range []bool{false, true} {
		w := onItsWay()
		all := []*fleet.Fleet{wavyFleet("1", "v1", 3, wavesOf()), wavyFleet("2", "v2", 3, wavesOf()), withoutCanary("3", "v2", one)}
		w.push(withoutCanary("3", "v2", wavesOf()))
		if restarted {
			w.reborn(all)
		} else {
			w.push(all[2])
		}
		w.wantOthers(t, "its stage is gone", "v1")
		w.push(withoutCanary("4", "v2", none))
		w.wantOthers(t, "there are no stages", "v2")
		if got := w.s.Rollout().Departed; len(got) > 0 {
			t.Errorf("departed: %+v", got)
		}
	}
}

// TestDeparturesAfterAnOlderAgent: an agent that knows no departures, and not in which stage a change
// began, wrote the record. Nothing waits for ever.
func TestDeparturesAfterAnOlderAgent(t *testing.T) {
	w := onItsWay()
	relabelled := wavyFleet("3", "v2", 3, wavesOf())
	relabelled.Clusters[0].Labels["ring"], relabelled.Clusters[0].Digest = "prod", "relabelled"
	all := []*fleet.Fleet{wavyFleet("1", "v1", 3, wavesOf()), wavyFleet("2", "v2", 3, wavesOf()), relabelled}
	w.push(relabelled)
	w.older = true
	w.reborn(all)
	for range 3 {
		w.rest("c0", "c1", "c2")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
	}
	w.wantOthers(t, "all is whole", "v2")
	w = onItsWay()
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.older = true
	w.reborn(all[:2])
	if st := w.stage(t, "prod"); st.Changing != 2 {
		t.Errorf("they count where their labels say: %+v", w.s.Rollout().Stages)
	}
	w = onItsWay()
	w.push(withoutCanary("3", "v2", wavesOf()))
	w.older = true
	w.reborn([]*fleet.Fleet{all[0], all[1], withoutCanary("3", "v2", wavesOf())})
	w.decide(Input{})
	w.wantOthers(t, "nothing is known of the canary", "v2")
}

// TestReturnsFromDeparture puts a removed canary back: it counts by itself.
func TestReturnsFromDeparture(t *testing.T) {
	w := onItsWay()
	f := wavyFleet("3", "v2", 3, wavesOf())
	f.Clusters = f.Clusters[1:]
	w.push(f)
	if got := w.s.Rollout(); len(got.Departed) != 1 || !strings.Contains(got.Stages[0].Why, "cluster prod/c0 left it before its change was done (fairlead release prod/c0 --skip goes on without it)") {
		t.Errorf("it says %+v", got)
	}
	w.push(wavyFleet("4", "v2", 3, wavesOf()))
	if got := w.s.Rollout().Departed; len(got) > 0 {
		t.Errorf("departed: %+v", got)
	}
	w.wantOthers(t, "it is on its way", "v1")
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.wantOthers(t, "it is done", "v2")
}

// TestDepartureHoldsItsStage: of a stage that is halted, the failed cluster is removed. The others of
// the stage do not begin.
func TestDepartureHoldsItsStage(t *testing.T) {
	waves := wavesOf()
	waves.Stages[1].AtOnce = 1
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 4, waves))
	w.rest("c0", "c1", "c2", "c3")
	w.push(wavyFleet("2", "v2", 4, waves))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "one is on its way", "v2 v2 v1 v1")
	w.lose("c1")
	f := wavyFleet("3", "v2", 4, waves)
	f.Clusters = slices.Delete(f.Clusters, 1, 2)
	w.push(f)
	w.want(t, "it failed", "v2 v2 v1 v1")
	if st := w.stage(t, "prod"); st.State != fleet.StageHalted || !strings.Contains(st.Why, "prod/c1: its control plane is not available when it left the stage") {
		t.Errorf("the stage is %+v", st)
	}
}

// TestFailedInItsSoakUntilItRecovers: the end of the soak ends no failure that began in it, also for the
// next agent. One that begins later is none of the change.
func TestFailedInItsSoakUntilItRecovers(t *testing.T) {
	all := []*fleet.Fleet{wavyFleet("1", "v1", 3, wavesOf()), wavyFleet("2", "v2", 3, wavesOf())}
	for _, restarted := range []bool{false, true} {
		w := inSoak()
		w.now = w.now.Add(50 * time.Minute)
		w.lose("c0")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.lose("c0")
		if restarted {
			w.reborn(all)
		}
		w.wantOthers(t, "the canary failed", "v1")
		w.rest("c0")
		w.wantOthers(t, "the canary recovered", "v2")

		w = inSoak()
		w.now = w.now.Add(2 * time.Hour)
		w.lose("c0")
		if restarted {
			w.reborn(all)
		}
		w.wantOthers(t, "the canary was lost after its soak", "v2")
	}
}

// TestSkippedDeparture: a cluster that is skipped holds nothing back once it is removed either.
func TestSkippedDeparture(t *testing.T) {
	w := provisioned(5)
	w.push(wavyFleet("2", "v2", 5, wavesOf()))
	if a := w.ask(t, fleet.Request{Cluster: keyOf("c0"), Release: fleet.ReleaseSkip}); a.State != fleet.RequestDone {
		t.Fatalf("the answer is %+v", a)
	}
	w.want(t, "it is skipped", "v2 v2 v2 v1 v1")
	f := wavyFleet("3", "v2", 5, wavesOf())
	f.Clusters = f.Clusters[1:]
	w.push(f)
	if got := w.s.Rollout().Departed; len(got) > 0 {
		t.Errorf("departed: %+v", got)
	}
}

// TestLostDefinition: what a canary took is lost to history while its change is on its way, and the canary is in a
// later stage by now. Nothing but what waits can end its change, so it does not wait for that.
func TestLostDefinition(t *testing.T) {
	w := onItsWay()
	f := wavyFleet("3", "v2", 3, wavesOf())
	other(f, "prod")
	w.reborn([]*fleet.Fleet{wavyFleet("1", "v1", 3, wavesOf()), f})
	if got, _ := w.s.Target(keyOf("c0")); got.Definition != nil {
		t.Fatalf("it has %s before anything says that the older definition is lost", got.Definition.ControlPlane.Version)
	}
	for rev := range w.s.MissingDefinitions() {
		w.decide(Input{Older: []Revision{{Revision: rev, Refused: "history was rewritten"}}})
	}
	if got, _ := w.s.Target(keyOf("c0")); got.Definition == nil || got.Definition.ControlPlane.Version != "v3" {
		t.Errorf("it does not take what waits: %+v", w.s.Rollout())
	}
}
