package rollout

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// What goes in stages is done with the last of them.
func TestStagedRotation(t *testing.T) {
	r := fleet.Request{Kind: fleet.RequestRotate, Cluster: keyA, What: fleet.RotateEtcdCA, Answer: fleet.Answer{State: fleet.RequestAccepted}}
	wish := map[fleet.Rotation]string{fleet.RotateEtcdCA: "@1"}
	mark := fleet.TrustChecksum([]byte("@1"))
	for _, c := range []struct {
		reason string
		now    fleet.RotationState
		want   bool
	}{
		{"not begun", fleet.RotationState{}, false},
		{"first stage", fleet.RotationState{Wish: mark, Stage: fleet.RotationTrust}, false},
		{"last stage", fleet.RotationState{Wish: mark, Stage: fleet.RotationDone}, true},
		{"of an older wish", fleet.RotationState{Wish: "older", Stage: fleet.RotationDone}, false},
	} {
		h := lastPass{[]fleet.Request{r}, wish, map[fleet.SecretName]fleet.RotationState{fleet.EtcdCA: c.now}}
		if got := h.rotated(r.What); got != c.want {
			t.Errorf("%s: it is done: %v, want %v", c.reason, got, c.want)
		}
	}
}

// A pass that did not know of a request does not fulfil it.
func TestOnlyPassesThatKnewFulfil(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := fleet.Request{Kind: fleet.RequestReconcile, Cluster: keyA, At: now, Answer: fleet.Answer{State: fleet.RequestAccepted, At: now}}
	asked := Input{Now: now, Requests: &Requests{List: []fleet.Request{r}}}
	before := follow(State{}, fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))).State
	early, _ := before.Target(keyA)
	asked.Before = before
	before = Decide(asked).State
	late, _ := before.Target(keyA)
	for name, c := range map[string]struct {
		of   Target
		want int
	}{"before it": {early, 0}, "with it": {late, 1}} {
		t.Run(name, func(t *testing.T) {
			p := Pass{Target: c.of, Report: fleet.Report{Cluster: keyA, Phase: fleet.PhaseProvisioned}}
			d := Decide(Input{Before: before, Now: now, Passes: []Pass{p}})
			if d.AnswersDue != (c.want > 0) {
				t.Errorf("an answer is due: %v", d.AnswersDue)
			}
			again := asked
			again.Before = d.State
			if got := Decide(again).Answers; len(got) != c.want {
				t.Errorf("answers are %+v, want %d", got, c.want)
			}
		})
	}
}

// Before the first revision nobody knows what Git has: a cluster that is to be abandoned
// may be in Git still, and would come back without what was asked of it.
func TestNothingIsForgottenBeforeTheFirstRevision(t *testing.T) {
	r := fleet.Request{Kind: fleet.RequestAbandon, Cluster: keyA, Answer: fleet.Answer{State: fleet.RequestAccepted}}
	record := Recorded(Record{Reports: []fleet.Report{{Cluster: keyA, Phase: fleet.PhaseDeleting}}})
	d := Decide(Input{Before: record, Requests: &Requests{List: []fleet.Request{r}}})
	if len(d.Forgotten) > 0 || !d.State.Has(keyA) {
		t.Errorf("it is forgotten: %+v", d.Forgotten)
	}
	f := fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x"))
	d = Decide(Input{Before: follow(d.State, f).State, Requests: &Requests{List: []fleet.Request{r}}})
	if len(d.Forgotten) != 1 || !d.AnswersDue {
		t.Errorf("once Git does not have it, it is not forgotten: %+v", d.Forgotten)
	}
}

// Some infrastructures give the next machine of a host the provider id of the one before: that one is gone, and what was
// asked of it is not asked of the next.
func TestRequestMeansOneMachine(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, kind := range []fleet.RequestKind{fleet.RequestReplace, fleet.RequestRemediate} {
		r := fleet.Request{Kind: kind, Cluster: keyA, Machine: "one", ProviderID: "maas:///a/x", At: now, Answer: fleet.Answer{State: fleet.RequestAccepted, At: now}}
		asked := Input{Now: now, Requests: &Requests{List: []fleet.Request{r}}}
		asked.Before = follow(State{}, fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))).State
		state := Decide(asked).State
		of, _ := state.Target(keyA)
		for name, want := range map[fleet.MachineName]int{"one": 0, "two": 1} {
			report := fleet.Report{Cluster: keyA, Phase: fleet.PhaseProvisioned, Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: name, ProviderID: r.ProviderID}}}}
			again := asked
			again.Reports = map[fleet.Key]fleet.Report{keyA: report}
			again.Before = Decide(Input{Before: state, Now: now, Passes: []Pass{{Target: of, Report: report}}}).State
			if got := Decide(again).Answers; len(got) != want {
				t.Errorf("%s while the host has machine %s: answers are %+v, want %d", kind, name, got, want)
			}
		}
	}
}
