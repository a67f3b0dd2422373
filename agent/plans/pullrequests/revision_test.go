package pullrequests

import (
	"strings"
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// A pushed commit is told how far it is, once for each thing there is to say, and only where
// fleet.yaml asks for it.
func TestRevisionStatus(t *testing.T) {
	w := newWorld()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	push := func(n int, revisions bool) string {
		is := w.fleets["base"]
		is.Revision = fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(n)}
		is.Clusters = []fleet.Cluster{{Key: k, Digest: forgetest.Hash(n), Fleet: "f", Revision: is.Revision}}
		is.Config.PullRequests.Revisions = revisions
		w.follow(is)
		return forgetest.Hash(n)
	}
	passed := func(r fleet.Report) {
		w.reports[k] = r
		target, _ := w.state.Target(k)
		w.state = rollout.Decide(rollout.Input{Before: w.state, Passes: []rollout.Pass{{Target: target, Report: r, AtRest: r.Failure == ""}}}).State
	}
	q := w.start()
	says := func(what, commit string, verdict forge.Verdict, text string, times int) {
		t.Helper()
		q.Poll(t.Context())
		q.Poll(t.Context())
		if s, n := w.Of(commit); s.Verdict != verdict || !strings.Contains(s.Text, text) || n != times || n > 0 && s.Name != "fairlead/revision" {
			t.Errorf("%s: %d times %+v, want %d, %s: %s", what, n, s, times, verdict, text)
		}
	}
	says("nobody asks for it", push(1, false), "", "", 0)
	one := push(2, true)
	says("it was pushed", one, forge.Pending, "not all clusters", 1)
	passed(fleet.Report{Cluster: k, Failure: "no quota"})
	says("it fails", one, forge.Pending, "prod/a fails, trying again: no quota", 2)
	passed(fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned})
	says("it is done", one, forge.Success, "all clusters are up to date", 3)
	two := push(3, true)
	says("another one", two, forge.Pending, "not all clusters", 1)
	bad := fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(4)}
	w.state = rollout.Decide(rollout.Input{Before: w.state, Newest: &rollout.Revision{Revision: bad, Refused: "it is nonsense"}}).State
	says("it is refused", bad.Hash(), forge.Failure, "it is nonsense", 1)
	says("what it took the place of", two, forge.Error, "another commit followed before", 2)
	says("what was done stays so", one, forge.Success, "", 3)
	w.lost = true
	says("by an agent that lost the fleet", push(5, true), "", "", 0)
}
