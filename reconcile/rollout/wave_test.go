package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"pgregory.net/rapid"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/short"
)

// nightly is open for so long from each midnight on.
type nightly time.Duration

func (n nightly) At(t time.Time) (bool, time.Time) {
	day := t.Truncate(24 * time.Hour)
	if closes := day.Add(time.Duration(n)); t.Before(closes) {
		return true, closes
	}
	return false, day.Add(24 * time.Hour)
}

// wavesOf has a canary of one cluster that soaks an hour, and two at a time of the others.
func wavesOf() fleet.Waves {
	return fleet.Waves{Stages: []fleet.Stage{
		{Name: "canary", Select: labels.SelectorFromSet(labels.Set{"ring": "canary"}), AtOnce: 1, Soak: time.Hour},
		{Name: "prod", Select: labels.Everything(), AtOnce: 2, Deadline: 2 * time.Hour},
	}}
}

// wavyFleet has n clusters at a version; the first is the canary.
func wavyFleet(rev, version string, n int, w fleet.Waves) *fleet.Fleet {
	f := &fleet.Fleet{ID: "f", Revision: revision(rev), Config: fleet.Config{Waves: w}}
	for i := range n {
		c := clusterOf(fleet.Key{Namespace: "prod", Name: fmt.Sprint("c", i)}, rev, version)
		c.Labels = map[string]string{"ring": "prod"}
		if i == 0 {
			c.Labels["ring"] = "canary"
		}
		c.ControlPlane = fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: version, Template: fleet.TemplateHash("1-" + version)}
		f.Clusters = append(f.Clusters, c)
	}
	return f
}

type wavy struct {
	s     State
	now   time.Time
	older bool // the agent before the next one knew no departures
}

func (w *wavy) decide(in Input) Decision {
	in.Before, in.Now = w.s, w.now
	d := Decide(in)
	w.s = d.State
	return d
}

func (w *wavy) push(f *fleet.Fleet) {
	w.decide(Input{Newest: &Revision{Revision: f.Revision, Fleet: f}})
}

// rest has passes find the clusters whole at what they are held to.
func (w *wavy) rest(names ...string) {
	for _, name := range names {
		k := fleet.Key{Namespace: "prod", Name: name}
		t, _ := w.s.Target(k)
		w.decide(Input{Passes: []Pass{{Target: t, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}, AtRest: true}}})
	}
}

// held returns the versions of all clusters, in order.
func (w *wavy) held() string {
	var out []string
	for _, k := range w.s.Keys() {
		t, _ := w.s.Target(k)
		out = append(out, t.Definition.ControlPlane.Version)
	}
	return strings.Join(out, " ")
}

func provisioned(n int) *wavy {
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", n, wavesOf()))
	for i := range n {
		w.rest(fmt.Sprint("c", i))
	}
	return w
}

func (w *wavy) want(t *testing.T, what, held string) {
	t.Helper()
	if got := w.held(); got != held {
		t.Errorf("%s: held to %s, want %s; %+v", what, got, held, w.s.Rollout().Stages)
	}
}

func TestWavesGoThroughStages(t *testing.T) {
	w := provisioned(4)
	w.push(wavyFleet("2", "v2", 4, wavesOf()))
	w.want(t, "the canary is first", "v2 v1 v1 v1")
	w.now = w.now.Add(time.Hour)
	w.rest("c1", "c2", "c3")
	w.want(t, "others being whole at the old proves nothing", "v2 v1 v1 v1")
	w.rest("c0")
	w.want(t, "the canary soaks", "v2 v1 v1 v1")
	if at := w.s.WakeAt(w.now); !at.Equal(w.now.Add(time.Hour)) {
		t.Errorf("looked at again at %s", at)
	}
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "two at a time", "v2 v2 v2 v1")
	w.rest("c1")
	w.want(t, "the next", "v2 v2 v2 v2")
	w.rest("c2", "c3")
	if got := w.s.Rollout(); len(got.Waiting) > 0 || got.Stages[1].State != fleet.StageDone {
		t.Errorf("at the end: %+v", got)
	}
}

func TestHaltStopsNeitherFixNorRevert(t *testing.T) {
	halted := func() *wavy {
		w := provisioned(5)
		w.push(wavyFleet("2", "v2", 5, wavesOf()))
		w.rest("c0")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.want(t, "two are on their way", "v2 v2 v2 v1 v1")
		w.now = w.now.Add(2 * time.Hour)
		w.rest("c1")
		w.want(t, "one is not done in time", "v2 v2 v2 v1 v1")
		if got := w.s.Rollout().Stages[1]; got.State != fleet.StageHalted || !strings.Contains(got.Why, "prod/c2: it is not done after 2h0m0s") {
			t.Errorf("the stage is %+v", got)
		}
		return w
	}
	w := halted()
	w.push(wavyFleet("3", "v1", 5, wavesOf()))
	w.want(t, "what never came goes back without leave, and the canary by its turn", "v1 v2 v1 v1 v1")
	w = halted()
	w.push(wavyFleet("3", "v3", 5, wavesOf()))
	w.want(t, "the fix begins with the canary", "v3 v2 v2 v1 v1")
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "and the failed one is no obstacle", "v3 v3 v3 v1 v1")
}

func TestScaleAloneDoesNotWait(t *testing.T) {
	w := provisioned(3)
	f := wavyFleet("2", "v1", 3, wavesOf())
	for i := range f.Clusters {
		f.Clusters[i].ControlPlane.Replicas, f.Clusters[i].Digest = 3, "scaled"
	}
	w.push(f)
	if got := w.s.Rollout(); len(got.Waiting) > 0 {
		t.Errorf("waits: %+v", got.Waiting)
	}
}

// TestWavesProperties holds random histories against what waves promise: commits, passes that find
// clusters whole or lost, hours, suspensions, releases, and agents that start anew.
func TestWavesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waves := wavesOf()
		waves.Windows = []fleet.Window{{Name: "night", Select: labels.Everything(), Schedule: nightly(6 * time.Hour)}}
		waves.Freezes = []fleet.Freeze{{Select: labels.Everything(), From: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), Reason: "sales"}}
		w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
		const n = 6
		all := []*fleet.Fleet{wavyFleet("1", "v1", n, waves)}
		w.push(all[0])
		for i := range n {
			w.rest(fmt.Sprint("c", i))
		}
		for step := range rapid.IntRange(5, 60).Draw(t, "steps") {
			before := w.s
			asked := false
			switch rapid.IntRange(0, 11).Draw(t, "what") {
			case 0:
				f := wavyFleet(fmt.Sprint(step+2), fmt.Sprint("v", rapid.IntRange(1, 4).Draw(t, "version")), n, waves)
				all = append(all, f)
				w.push(f)
			case 1, 2:
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 10).Draw(t, "hours")) * time.Hour)
				w.decide(Input{})
			case 3:
				w.lose(fmt.Sprint("c", rapid.IntRange(0, n-1).Draw(t, "lost")))
			case 4:
				asked = true
				r := fleet.Request{
					Kind: fleet.RequestRelease, Cluster: keyOf(fmt.Sprint("c", rapid.IntRange(0, n-1).Draw(t, "released"))), By: "Ada", At: w.now.Add(time.Duration(step)),
					Release: rapid.SampledFrom([]fleet.ReleaseWay{fleet.ReleaseNow, fleet.ReleaseSkip}).Draw(t, "way"), Answer: fleet.Answer{State: fleet.RequestAccepted},
				}
				w.decide(Input{Requests: &Requests{List: []fleet.Request{r}}})
				w.decide(Input{Requests: &Requests{}})
			case 5:
				w.reborn(all)
				for _, k := range w.s.Keys() {
					old, _ := before.Target(k)
					if now, _ := w.s.Target(k); now.Definition == nil || now.Definition.Revision != old.Definition.Revision {
						t.Fatalf("ASuccessorGoesOn: %s was held to %s, and is to %v", k, old.Definition.Revision, now.Definition)
					}
				}
			default:
				w.rest(fmt.Sprint("c", rapid.IntRange(0, n-1).Draw(t, "cluster")))
			}
			w.promised(t, before, asked)
		}
		w.ends(t, n, all[len(all)-1])
	})
}

// promised holds what became of before against what waves promise.
func (w *wavy) promised(t *rapid.T, before State, asked bool) {
	limits := map[string]int{"canary": 1, "prod": 2}
	moving, began := map[string]int{}, map[string]int{}
	for _, k := range w.s.Keys() {
		old, now := before.clusters.of(k), w.s.clusters.of(k)
		stage := "prod"
		if k.Name == "c0" {
			stage = "canary"
		}
		if now.wave.moving() && now.activeRelease().Way == "" {
			moving[stage]++
		}
		if old.definition == nil || now.wave.digest == old.wave.digest || asked {
			continue
		}
		if old.wave.moving() && old.wave.arrived == now.wave.digest {
			continue // it goes back
		}
		began[stage]++
		if w.now.Hour() >= 6 || w.now.Day() == 28 {
			t.Fatalf("NoneBeginsOutsideItsWindow: %s at %s", k, w.now)
		}
	}
	for _, s := range w.s.Rollout().Stages {
		if limit := limits[s.Name]; limit > 0 && began[s.Name] > 0 && moving[s.Name] > limit {
			t.Fatalf("NeverMoreAtOnce: %d of %+v", moving[s.Name], s)
		}
		if s.State == fleet.StageHalted && began[s.Name] > 0 {
			t.Fatalf("HaltedBeforeTheNext: %+v", s)
		}
	}
}

// lose has a pass find the control plane of a cluster lost.
func (w *wavy) lose(name string) {
	k := keyOf(name)
	t, _ := w.s.Target(k)
	w.decide(Input{Passes: []Pass{{Target: t, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseWorkers, Conditions: lostConditions()}}}})
}

func lostConditions() []fleet.Condition {
	return []fleet.Condition{{Type: "ControlPlaneAvailable", Status: fleet.False}, {Type: "Available", Status: fleet.False}}
}

// reborn has another agent go on, that finds the older definitions of all that were pushed.
func (w *wavy) reborn(all []*fleet.Fleet) {
	newest := all[len(all)-1]
	r := Record{Fleet: "f", Applied: newest.Revision, Rollout: w.s.Rollout()}
	if w.older {
		r.Rollout.Departed = nil
		for i := range r.Rollout.Standings {
			st := &r.Rollout.Standings[i]
			st.Stage, st.Troubled = "", time.Time{}
		}
	}
	for _, k := range w.s.Keys() {
		t, _ := w.s.Target(k)
		report := fleet.Report{
			Cluster: k, Phase: fleet.PhaseProvisioned, Overlay: t.Definition.Overlay, Digest: t.Definition.Digest, Revision: t.Definition.Revision,
		}
		if w.s.clusters.of(k).wave.trouble.any != "" {
			report.Conditions = lostConditions()
		}
		r.Reports = append(r.Reports, report)
	}
	w.s = Recorded(r)
	w.decide(Input{Newest: &Revision{Revision: newest.Revision, Fleet: newest}})
	for rev := range w.s.MissingDefinitions() {
		for _, f := range all {
			if f.Revision == rev {
				w.decide(Input{Older: []Revision{{Revision: rev, Fleet: f}}})
			}
		}
	}
}

// ends has nights pass in which nothing goes wrong.
func (w *wavy) ends(t *rapid.T, n int, newest *fleet.Fleet) {
	for range 30 {
		w.now = w.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		w.decide(Input{})
		for range 4 {
			for i := range n {
				w.rest(fmt.Sprint("c", i))
			}
			w.now = w.now.Add(time.Hour)
			w.decide(Input{})
		}
	}
	for _, k := range w.s.Keys() {
		if got, _ := w.s.Target(k); got.Definition.ControlPlane.Version != newest.Clusters[0].ControlPlane.Version && w.s.clusters.of(k).activeRelease().Way != fleet.ReleaseSkip {
			t.Fatalf("AllEnds: %s is held to %s: %s; %+v", k, got.Definition.ControlPlane.Version, got.Wait, w.s.Rollout().Stages)
		}
	}
}

// TestThousand takes a class that changes through five stages of 1,000 clusters: a cluster fails, the
// stage is halted, the failed one is skipped, and all ends. Passes are those of clusters that come to be whole at once.
func TestThousand(t *testing.T) {
	n, sizes := 1000, []int{1, 9, 90, 300, 600}
	if short.Form(t) {
		n, sizes = 200, []int{1, 9, 50, 60, 80}
	}
	var waves fleet.Waves
	for i, atOnce := range []int{1, 3, 10, 30, 60} {
		waves.Stages = append(waves.Stages, fleet.Stage{
			Name: fmt.Sprint("stage-", i), Select: labels.SelectorFromSet(labels.Set{"stage": fmt.Sprint(i)}), AtOnce: atOnce, Deadline: time.Hour, Soak: time.Minute,
		})
	}
	of := func(rev, version string) *fleet.Fleet {
		f := wavyFleet(rev, version, n, waves)
		stage, left := 0, sizes[0]
		for i := range f.Clusters {
			if left == 0 {
				stage++
				left = sizes[stage]
			}
			left--
			f.Clusters[i].Key.Name = fmt.Sprintf("c%04d", i)
			f.Clusters[i].Labels = map[string]string{"stage": fmt.Sprint(stage)}
		}
		return f
	}
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(of("1", "v1"))
	for _, k := range w.s.Keys() {
		w.rest(k.Name)
	}
	decisions := 0
	began := time.Now()
	w.push(of("2", "v2"))
	const bad = "c0042"
	halted := false
	for range 5000 {
		decisions++
		w.now = w.now.Add(time.Minute)
		w.decide(Input{})
		busy := false
		for _, k := range w.s.Keys() {
			if c := w.s.clusters.of(k); c.wave.moving() && k.Name != bad {
				w.rest(k.Name)
				decisions++
				busy = true
			}
		}
		for i, s := range w.s.Rollout().Stages {
			if i < len(waves.Stages) && s.Changing > waves.Stages[i].AtOnce {
				t.Fatalf("too many at once: %+v", s)
			}
		}
		if st := w.stage(t, "stage-2"); st.State == fleet.StageHalted && !halted {
			halted = true
			if w.s.clusters.of(keyOf("c0150")).next == nil {
				t.Errorf("stage-3 began")
			}
			if a := w.ask(t, fleet.Request{Cluster: keyOf(bad), Release: fleet.ReleaseSkip}); a.State != fleet.RequestDone {
				t.Fatalf("the answer is %+v", a)
			}
		}
		if st := w.stage(t, "stage-4"); st.State == fleet.StageDone && !busy {
			break
		}
	}
	for _, k := range w.s.Keys() {
		if c := w.s.clusters.of(k); c.next != nil || c.wave.moving() && k.Name != bad {
			t.Fatalf("%s is not done: %+v", k, w.s.Rollout().Stages)
		}
	}
	if !halted {
		t.Errorf("nothing was halted")
	}
	t.Logf("%d decisions, %s each", decisions, time.Since(began)/time.Duration(decisions))
}

// ask has a request accepted, as a poll does, and returns the answer that the next poll writes.
func (w *wavy) ask(t *testing.T, r fleet.Request) fleet.Answer {
	t.Helper()
	if r.Kind, r.At = fleet.RequestRelease, w.now; r.By == "" {
		r.By = "Ada"
	}
	q := Requests{List: []fleet.Request{r}}
	for range 3 {
		d := Decide(Input{Before: w.s, Now: w.now, Requests: &q}) // what is to be answered
		if len(d.Answers) == 0 {
			break
		}
		if q.List = d.Answers; q.List[0].Answer.State != fleet.RequestAccepted {
			break
		}
		w.decide(Input{Requests: &q})
	}
	w.decide(Input{Requests: &q})
	return q.List[0].Answer
}

func (w *wavy) stage(t *testing.T, name string) fleet.StageStatus {
	t.Helper()
	for _, s := range w.s.Rollout().Stages {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no stage %s: %+v", name, w.s.Rollout().Stages)
	return fleet.StageStatus{}
}

func keyOf(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }

func TestApproval(t *testing.T) {
	waves := wavesOf()
	waves.Stages[1].Approval = true
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 4, waves))
	w.rest("c0", "c1", "c2", "c3")
	w.push(wavyFleet("2", "v2", 4, waves))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "nobody approved", "v2 v1 v1 v1")
	st := w.stage(t, "prod")
	if st.State != fleet.StageApproval {
		t.Fatalf("the stage is %+v", st)
	}
	if a := w.ask(t, fleet.Request{Stage: "prod", Release: fleet.ReleaseApprove, Of: "other"}); a.State != fleet.RequestRefused || !strings.Contains(a.Message, "something else waits") {
		t.Errorf("an approval of something else: %+v", a)
	}
	if a := w.ask(t, fleet.Request{Stage: "prod", Release: fleet.ReleaseApprove}); a.State != fleet.RequestRefused {
		t.Errorf("an approval of whatever waits: %+v", a)
	}
	if a := w.ask(t, fleet.Request{Stage: "prod", Release: fleet.ReleaseApprove, Of: st.Digest}); a.State != fleet.RequestDone || a.Message != "what waits in 3 clusters is approved" {
		t.Errorf("the approval: %+v", a)
	}
	w.want(t, "two at a time", "v2 v2 v2 v1")
	w.rest("c1")
	w.want(t, "one approval is for all that waited", "v2 v2 v2 v2")
	w.rest("c2", "c3")
	w.push(wavyFleet("3", "v3", 4, waves))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.want(t, "and for nothing later", "v3 v2 v2 v2")
}

// Half a stage was approved and changed when a successor reads what the status branch says.
func TestApprovalOutlivesTheAgent(t *testing.T) {
	waves := wavesOf()
	waves.Stages[1].Approval = true
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(wavyFleet("1", "v1", 4, waves))
	w.rest("c0", "c1", "c2", "c3")
	w.push(wavyFleet("2", "v2", 4, waves))
	w.rest("c0")
	w.now = w.now.Add(time.Hour)
	w.decide(Input{})
	w.ask(t, fleet.Request{Stage: "prod", Release: fleet.ReleaseApprove, Of: w.stage(t, "prod").Digest})
	w.restart(wavyFleet("1", "v1", 4, waves), wavyFleet("2", "v2", 4, waves))
	w.want(t, "as it was", "v2 v2 v2 v1")
	w.rest("c1")
	w.want(t, "and it goes on", "v2 v2 v2 v2")
}

// restart has another agent go on from what the status branch says. Older definitions are those
// of the first revision.
func (w *wavy) restart(older, newest *fleet.Fleet) {
	r := Record{Fleet: "f", Applied: newest.Revision, Rollout: w.s.Rollout()}
	if w.older {
		r.Rollout.Departed = nil
		for i := range r.Rollout.Standings {
			st := &r.Rollout.Standings[i]
			st.Stage, st.Troubled = "", time.Time{}
		}
	}
	for _, k := range w.s.Keys() {
		t, _ := w.s.Target(k)
		r.Reports = append(r.Reports, fleet.Report{
			Cluster: k, Phase: fleet.PhaseProvisioned, Overlay: t.Definition.Overlay, Digest: t.Definition.Digest, Revision: t.Definition.Revision,
		})
	}
	w.s = Recorded(r)
	w.decide(Input{Newest: &Revision{Revision: newest.Revision, Fleet: newest}})
	w.decide(Input{Older: []Revision{{Revision: older.Revision, Fleet: older}}})
}

func TestReleases(t *testing.T) {
	halted := func() *wavy {
		w := provisioned(6)
		w.push(wavyFleet("2", "v2", 6, wavesOf()))
		w.rest("c0")
		w.now = w.now.Add(time.Hour)
		w.decide(Input{})
		w.now = w.now.Add(2 * time.Hour)
		w.rest("c1")
		w.want(t, "c2 is late", "v2 v2 v2 v1 v1 v1")
		if st := w.stage(t, "prod"); st.State != fleet.StageHalted {
			t.Fatalf("the stage is %+v", st)
		}
		return w
	}
	cases := map[string]struct {
		ask       fleet.Request
		held      string
		state     fleet.StageState
		answer    string
		wantState fleet.RequestState
	}{
		"one now": {
			fleet.Request{Cluster: keyOf("c5"), Release: fleet.ReleaseNow},
			"v2 v2 v2 v1 v1 v2", fleet.StageHalted,
			"what waits in 1 cluster comes now", fleet.RequestDone,
		},
		"all now": {fleet.Request{Stage: "prod", Release: fleet.ReleaseNow}, "v2 v2 v2 v2 v1 v1", fleet.StageHalted, // still two at a time
			"what waits in 3 clusters comes now", fleet.RequestDone},
		"skip the failed": {
			fleet.Request{Cluster: keyOf("c2"), Release: fleet.ReleaseSkip},
			"v2 v2 v2 v2 v2 v1", fleet.StageChanging,
			"others do not wait for 1 cluster, until their definition changes", fleet.RequestDone,
		},
		"skip the stage": {
			fleet.Request{Stage: "prod", Release: fleet.ReleaseSkip},
			"v2 v2 v2 v1 v1 v1", fleet.StageDone,
			"others do not wait for 4 clusters, until their definition changes", fleet.RequestDone,
		},
		"nothing waits": {
			fleet.Request{Cluster: keyOf("c1"), Release: fleet.ReleaseNow},
			"v2 v2 v2 v1 v1 v1", fleet.StageHalted,
			"nothing waits for its turn in the cluster", fleet.RequestRefused,
		},
		"no cluster": {
			fleet.Request{Cluster: keyOf("x"), Release: fleet.ReleaseNow},
			"v2 v2 v2 v1 v1 v1", fleet.StageHalted,
			"the fleet has no cluster prod/x: fairlead status lists them", fleet.RequestRefused,
		},
		"no stage": {
			fleet.Request{Stage: "x", Release: fleet.ReleaseNow},
			"v2 v2 v2 v1 v1 v1", fleet.StageHalted,
			"the fleet has no stage x that has clusters: fairlead status lists them", fleet.RequestRefused,
		},
		"done stage": {
			fleet.Request{Stage: "canary", Release: fleet.ReleaseNow},
			"v2 v2 v2 v1 v1 v1", fleet.StageHalted,
			"nothing waits in stage canary", fleet.RequestRefused,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := halted()
			a := w.ask(t, c.ask)
			if a.State != c.wantState || a.Message != c.answer {
				t.Errorf("the answer is %+v", a)
			}
			w.want(t, name, c.held)
			if st := w.stage(t, "prod"); st.State != c.state {
				t.Errorf("the stage is %+v", st)
			}
		})
	}
}

// What is skipped is so until something else is wanted.
func TestSkippedUntilSomethingElse(t *testing.T) {
	w := provisioned(4)
	w.push(wavyFleet("2", "v2", 4, wavesOf()))
	w.ask(t, fleet.Request{Cluster: keyOf("c0"), Release: fleet.ReleaseSkip})
	w.want(t, "nobody waits for the canary", "v2 v2 v2 v1")
	w.rest("c1", "c2", "c3")
	w.push(wavyFleet("3", "v3", 4, wavesOf()))
	w.want(t, "the canary is first again", "v3 v2 v2 v2")
}

func TestWhatDoesNotWait(t *testing.T) {
	w := provisioned(3)
	f := wavyFleet("2", "v2", 3, wavesOf())
	for i := range f.Clusters {
		c := &f.Clusters[i]
		c.Suspension, c.Protect = &fleet.Suspension{Reason: "x"}, true
		c.ControlPlane.Replicas = 3
	}
	f.Clusters[0].Suspension = nil
	w.push(f)
	w.want(t, "c1 waits", "v2 v1 v1")
	held, _ := w.s.Target(keyOf("c1"))
	switch c := held.Cluster; {
	case c.Suspension == nil || !c.Protect:
		t.Errorf("a suspension waits for its turn: %+v", c)
	case c.ControlPlane.Version != "v1" || c.ControlPlane.Replicas != 3:
		t.Errorf("the pool is at %s with %d machines", c.ControlPlane.Version, c.ControlPlane.Replicas)
	}
	g := wavyFleet("3", "v2", 3, wavesOf())
	for i := range g.Clusters {
		g.Clusters[i].ControlPlane.Replicas, g.Clusters[i].Digest = 1, "small"
	}
	w.push(g)
	if held, _ := w.s.Target(keyOf("c1")); held.Cluster.Suspension != nil {
		t.Errorf("it stays suspended")
	}
}

// One that vanished and comes back with something new waits as the others do.
func TestComesBackByTurn(t *testing.T) {
	w := provisioned(4)
	w.push(wavyFleet("2", "v1", 1, wavesOf()))
	w.push(wavyFleet("3", "v2", 4, wavesOf()))
	w.want(t, "the canary is first", "v2 v1 v1 v1")
}

func TestStagesGo(t *testing.T) {
	w := provisioned(3)
	w.push(wavyFleet("2", "v2", 3, wavesOf()))
	w.want(t, "the canary is first", "v2 v1 v1")
	f := wavyFleet("3", "v2", 3, fleet.Waves{})
	f.Clusters, f.Problems = f.Clusters[:2], []fleet.Problem{{Cluster: keyOf("c2"), Message: "broken"}}
	w.push(f)
	w.want(t, "nothing waits without stages, also where the newest is broken", "v2 v2 v2")
}

func TestStagesOfAClass(t *testing.T) {
	waves := wavesOf()
	class := fleet.Key{Namespace: "classes", Name: "edge"}
	waves.Classes = []fleet.ClassStages{{Class: class, Stages: []fleet.Stage{
		{Name: "edge-1", Select: labels.SelectorFromSet(labels.Set{"ring": "canary"}), AtOnce: 1}, {Name: "edge-all", Select: labels.Everything()},
	}}}
	of := func(rev, version string) *fleet.Fleet {
		f := wavyFleet(rev, version, 4, waves)
		for i := range f.Clusters {
			if i >= 2 {
				f.Clusters[i].Topology = &fleet.Topology{Class: class}
			}
		}
		f.Clusters[2].Labels = map[string]string{"ring": "canary"}
		return f
	}
	w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
	w.push(of("1", "v1"))
	w.rest("c0", "c1", "c2", "c3")
	w.push(of("2", "v2"))
	w.want(t, "each class has its own first", "v2 v1 v2 v1")
	w.rest("c2")
	w.want(t, "and waits for none of the others", "v2 v1 v2 v2")
	if st := w.stage(t, "edge-all"); st.Clusters != 1 {
		t.Errorf("it is %+v", st)
	}
}

func TestFreezeAndDrain(t *testing.T) {
	day := func(d, h int) time.Time { return time.Date(2026, 11, d, h, 0, 0, 0, time.UTC) }
	waves := fleet.Waves{
		Windows: []fleet.Window{{Name: "night", Select: labels.Everything(), Schedule: nightly(6 * time.Hour)}},
		Freezes: []fleet.Freeze{{Select: labels.Everything(), From: day(26, 0), Until: day(28, 3), Reason: "sales"}},
	}
	cases := map[string]struct {
		now   time.Time
		drain int // seconds
		why   string
		until time.Time
	}{
		"open":         {now: day(25, 1)},
		"closed":       {now: day(25, 7), why: "its window is closed: night", until: day(26, 0)},
		"frozen":       {now: day(26, 1), why: "it is frozen: sales", until: day(28, 3)},
		"after":        {now: day(28, 3)},
		"drain fits":   {now: day(25, 4), drain: 7200},
		"drain is cut": {now: day(25, 5), drain: 7200, why: "a drain may take 2h0m0s, longer than changes may begin", until: day(25, 6)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			of := func(rev, version string) *fleet.Fleet {
				f := wavyFleet(rev, version, 1, waves)
				f.Clusters[0].ControlPlane.NodeDrainTimeoutSeconds = c.drain
				return f
			}
			w := &wavy{now: c.now}
			w.push(of("1", "v1"))
			w.rest("c0")
			w.push(of("2", "v2"))
			got, waits := w.s.Target(keyOf("c0"))
			if !waits || got.Wait.Why != c.why || !got.Wait.Until.Equal(c.until) {
				t.Errorf("it waits: %q until %s", got.Wait.Why, got.Wait.Until)
			}
			if at := w.s.WakeAt(c.now); c.why != "" && (at.IsZero() || at.After(c.until)) {
				t.Errorf("it is looked at again at %s", at)
			}
		})
	}
}

// reviewed has the second stage wait for an approval, which a review of these is.
func reviewed(by ...string) fleet.Waves {
	waves := wavesOf()
	waves.Stages[1].Approval, waves.Stages[1].Reviewers = true, by
	return waves
}

// TestReviewable: what waits is a review's to approve of where one step of Git brought it, of what
// nothing else waited.
func TestReviewable(t *testing.T) {
	ada := reviewed("ada")
	push := func(rev, version string, waves fleet.Waves) func(*wavy) {
		return func(w *wavy) { w.push(wavyFleet(rev, version, 3, waves)) }
	}
	approve := func(w *wavy) {
		w.ask(t, fleet.Request{Stage: "prod", Release: fleet.ReleaseApprove, Of: w.stage(t, "prod").Digest})
	}
	two := fleet.WaveOrigin{From: revision("1"), To: revision("2")}
	for name, c := range map[string]struct {
		steps []func(*wavy)
		want  []fleet.WaveOrigin
	}{
		"one step":                   {[]func(*wavy){push("2", "v2", ada)}, []fleet.WaveOrigin{two}},
		"nothing waits":              {[]func(*wavy){push("2", "v1", ada)}, nil},
		"nobody is named":            {[]func(*wavy){push("2", "v2", reviewed())}, nil},
		"it names who may approve":   {[]func(*wavy){push("2", "v2", reviewed("ada", "mallory"))}, nil},
		"it says how many approve":   {[]func(*wavy){push("2", "v2", func() fleet.Waves { w := reviewed("ada"); w.Stages[1].Approvals = 1; return w }())}, nil},
		"the same once more":         {[]func(*wavy){push("2", "v2", ada), push("3", "v2", ada)}, []fleet.WaveOrigin{two}},
		"on top of what waits":       {[]func(*wavy){push("2", "v2", ada), push("3", "v3", ada)}, nil},
		"and the same again":         {[]func(*wavy){push("2", "v2", ada), push("3", "v3", ada), push("4", "v3", ada)}, nil},
		"and back":                   {[]func(*wavy){push("2", "v2", ada), push("3", "v3", ada), push("4", "v2", ada)}, nil},
		"on top of what is approved": {[]func(*wavy){push("2", "v2", ada), approve, push("3", "v3", ada)}, []fleet.WaveOrigin{{From: revision("2"), To: revision("3")}}},
		"it is approved":             {[]func(*wavy){push("2", "v2", ada), approve}, nil},
		"on top of what is broken": {[]func(*wavy){
			func(w *wavy) {
				f := wavyFleet("2", "v1", 3, ada)
				f.Clusters = f.Clusters[:2]
				f.Problems = []fleet.Problem{{Cluster: keyOf("c2"), Message: "it is broken"}}
				w.push(f)
			},
			push("3", "v3", ada),
		}, nil},
		"it had vanished": {[]func(*wavy){
			func(w *wavy) {
				f := wavyFleet("2", "v1", 3, ada)
				f.Clusters = f.Clusters[:2]
				w.push(f)
			},
			push("3", "v3", ada),
		}, nil},
		"the same revision, rendered to something else": {[]func(*wavy){push("1", "v2", ada)}, nil},
		"another agent goes on": {[]func(*wavy){push("2", "v2", ada), func(w *wavy) {
			w.restart(wavyFleet("1", "v1", 3, ada), wavyFleet("2", "v2", 3, ada))
		}}, []fleet.WaveOrigin{two}},
		"while no agent was there": {[]func(*wavy){func(w *wavy) {
			w.restart(wavyFleet("1", "v1", 3, ada), wavyFleet("2", "v2", 3, ada))
		}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wavy{now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
			w.push(wavyFleet("1", "v1", 3, ada))
			w.rest("c0", "c1", "c2")
			for _, step := range c.steps {
				step(w)
			}
			var got []fleet.WaveOrigin
			for _, r := range w.s.Reviewable() {
				if got = r.Origins; r.Stage != "prod" || r.Of != w.stage(t, "prod").Digest || r.Of == "" || len(r.Reviewers) == 0 {
					t.Errorf("it is %+v", r)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			w.rest("c0")
			w.now = w.now.Add(time.Hour)
			w.decide(Input{})
			if says := strings.HasSuffix(w.stage(t, "prod").Why, "the approval of a person, which a review by one of ada is"); says != (c.want != nil) {
				t.Errorf("it waits for %q", w.stage(t, "prod").Why)
			}
		})
	}
}
