package pullrequests

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// plannedAs has the agent plan a pull request that makes the fleet after, and returns the status of its
// head and its comment.
func (w *world) plannedAs(t *testing.T, after fleet.Fleet) (forge.Status, string) {
	t.Helper()
	p := w.propose(1, after)
	w.start().Poll(t.Context())
	s, _ := w.Of(p.Head)
	return s, strings.Join(w.own(1), "\n")
}

// TestPlannedOntoARefusedBase: while the newest revision is refused, the first line of a plan says that
// a merge brings more.
func TestPlannedOntoARefusedBase(t *testing.T) {
	newest := fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(90)}
	for name, seen := range map[string]rollout.Revision{
		"is refused":        {Revision: newest, Refused: "fleet.yaml: a typing error"},
		"cannot be got yet": {Revision: newest, Unavailable: "no answer"},
	} {
		w := newWorld()
		w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &seen}).State
		s, text := w.plannedAs(t, w.fleets["base"])
		_, text, _ = strings.Cut(text, "\n") // the mark
		first, _, _ := strings.Cut(text, "\n")
		if !strings.Contains(first, name) || !strings.Contains(s.Text, name) {
			t.Errorf("the newest revision %s, and the first line is %q, the status %q", name, first, s.Text)
		}
	}
}

// TestANewerBaseIsPlannedAgain: a plan says so as well once the base is refused after it was made.
func TestANewerBaseIsPlannedAgain(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	q := w.start()
	q.Poll(t.Context())
	newest := fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(90)}
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &rollout.Revision{Revision: newest, Refused: "a typing error"}}).State
	q.Poll(t.Context())
	if s, _ := w.Of(p.Head); !strings.Contains(s.Text, "is refused") {
		t.Errorf("the status is %q", s.Text)
	}
}

// TestFleetYAMLIsPlanned: what a pull request changes of fleet.yaml alone is in its plan, what ends a
// promise is in the headline, and the policy knows it.
func TestFleetYAMLIsPlanned(t *testing.T) {
	w := newWorld()
	is := w.fleets["base"]
	is.Config.PullRequests.Fail.EndedPromises = true
	w.fleets["base"] = is
	is.Revision.Digest = "sha1:" + forgetest.Hash(78)
	w.follow(is)
	is.Config.Escrow.Recipients = []string{"age1mallory"}
	is.Config.PullRequests.Fail.DeletedClusters = false
	s, text := w.plannedAs(t, is)
	if s.Verdict != forge.Failure || !strings.Contains(s.Text, "it ends a promise: share secrets") {
		t.Errorf("the status is %+v", s)
	}
	for _, want := range []string{"### Fairlead plan: `share secrets by 1 change, weaken the policy by 1 change`", "spec.escrow.recipients: add age1mallory", "spec.pullRequests.fail.deletedClusters: true → false"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q:\n%s", want, text)
		}
	}
}

// frozen is a fleet whose cluster waits for the end of a freeze with what is newest.
func frozen(t *testing.T) (w *world, newest fleet.Fleet) {
	t.Helper()
	w = newWorld()
	newest = w.fleets["base"]
	newest.Config.Waves.Freezes = []fleet.Freeze{{Select: labels.Everything(), From: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour), Reason: "sales"}}
	k := fleet.Key{Namespace: "prod", Name: "a"}
	define := func(digest string) {
		newest.Revision.Digest = "sha1:" + forgetest.Hash(len(digest))
		newest.Clusters = []fleet.Cluster{{
			Key: k, Overlay: "clusters/prod/a", Digest: digest, ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1." + digest, Template: fleet.TemplateHash(digest)},
		}}
		w.follow(newest)
	}
	define("34")
	held, _ := w.state.Target(k)
	r := fleet.Report{Cluster: k, Overlay: "clusters/prod/a", Phase: fleet.PhaseProvisioned, Revision: newest.Revision, Digest: "34"}
	w.reports[k] = r
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Passes: []rollout.Pass{{Target: held, Report: r, AtRest: true}}}).State
	define("35 ")
	if now, _ := w.state.Target(k); now.Next == nil {
		t.Fatal("nothing waits")
	}
	w.recorded.Fleet.Fleet, w.recorded.Clusters = "f", []status.Cluster{{Report: r}}
	w.recorded.Fleet.Rollout = w.state.Rollout()
	base := newest
	base.Revision = w.state.Revision()
	w.fleets["base"] = base
	return w, newest
}

// TestTurnsThatComeArePlanned: a pull request that takes a freeze away brings what waits for its end,
// and one that has nothing to do with it does not.
func TestTurnsThatComeArePlanned(t *testing.T) {
	w, newest := frozen(t)
	thawed := newest
	thawed.Config.Waves.Freezes = nil
	_, text := w.plannedAs(t, thawed)
	headline, _, _ := strings.Cut(text[strings.Index(text, "###"):], "\n")
	if !strings.Contains(headline, "loosen the rollout by 1 change, create") {
		t.Errorf("the plan of a thaw says\n%s", text)
	}
	w, newest = frozen(t)
	_, text = w.plannedAs(t, newest)
	if !strings.Contains(text, "### Fairlead plan: `nothing to do`") {
		t.Errorf("the plan of nothing says\n%s", text)
	}
}

// TestLeavingGitIsPlanned: a cluster that vanishes from Git without being pruned is a change, and the
// policy for deleted clusters knows it.
func TestLeavingGitIsPlanned(t *testing.T) {
	for name, change := range map[string]func(f *fleet.Fleet){
		"abandon cluster prod/a":     func(f *fleet.Fleet) { f.Clusters[0].Abandon, f.Clusters[0].Digest = true, "given up" },
		"leave cluster alone prod/a": func(f *fleet.Fleet) { f.Clusters = nil },
	} {
		w, newest := frozen(t)
		newest.Clusters = append([]fleet.Cluster(nil), newest.Clusters...)
		change(&newest)
		s, text := w.plannedAs(t, newest)
		kind, _, _ := strings.Cut(name, " prod")
		if s.Verdict != forge.Failure || !strings.Contains(s.Text, "it stops managing cluster prod/a") || !strings.Contains(text, "**"+kind+"**") {
			t.Errorf("%s: %+v\n%s", name, s, text)
		}
	}
}
