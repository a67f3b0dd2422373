package pullrequests

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A merged pull request hears of what it waits for, and in the end whether it became what was
// planned; then nothing of it stays.
func TestOutcome(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "a"}
	made := fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: "a-1"}}}}
	for name, c := range map[string]struct {
		report    *fleet.Report
		contained bool
		tree      string
		refused   string
		state     forge.State
		want      string
		stays     bool
	}{
		"as planned":           {&made, true, "sha1:t", "", forge.Merged, "done as planned", false},
		"another merge":        {&made, true, "sha1:u", "", forge.Merged, "the merge differs from the last plan", false},
		"not followed yet":     {&made, false, "sha1:t", "", forge.Merged, "the agent does not follow the merge yet", true},
		"refused":              {&made, true, "sha1:t", "it is nonsense", forge.Merged, "it is nonsense", true},
		"not seen yet":         {nil, true, "sha1:t", "", forge.Merged, "it is on its way", true},
		"failed":               {&fleet.Report{Cluster: k, Failure: "no quota"}, true, "sha1:t", "", forge.Merged, "failed: no quota", true},
		"a machine less":       {&fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}, true, "sha1:t", "", forge.Merged, "machine a-1 was to be created, and is not there", false},
		"closed":               {&made, true, "", "", forge.Closed, "", false},
		"open, in an old list": {&made, true, "", "", forge.Open, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			f := w.fleets["base"]
			f.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f", Revision: base}}
			w.follow(f)
			if c.report != nil {
				w.reports[k] = *c.report
				target, _ := w.state.Target(k)
				w.state = rollout.Decide(rollout.Input{Before: w.state, Passes: []rollout.Pass{{Target: target, Report: *c.report, AtRest: true}}}).State
			}
			if c.refused != "" {
				w.state = rollout.Decide(rollout.Input{Before: w.state, Newest: &rollout.Revision{
					Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(78)}, Refused: c.refused,
				}}).State
			}
			p := forge.PullRequest{Number: 1, State: c.state, Head: forgetest.Hash(1), Base: "other", Result: forgetest.Hash(50)}
			w.Put(p)
			w.merged[p.Result] = sources.Merged{Digest: c.tree, Contained: c.contained}
			w.plans[1] = status.Plan{
				Number: 1, Head: p.Head, Tree: "sha1:t", Clusters: []fleet.Key{k}, Summary: "create 1 machine",
				Changes: []status.PlannedChange{{Change: "create", Cluster: k.String(), Machine: "a-1"}},
			}
			q := w.start()
			if c.state == forge.Open {
				q.p.Forge = old{w.World}
			}
			for range 3 {
				q.Poll(t.Context())
			}
			if got := strings.Join(w.own(1), "\n----\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Count(got, "----") > 0 {
				t.Errorf("it says\n%s\nwant %q", got, c.want)
			}
			if _, stays := w.plans[1]; stays != c.stays {
				t.Errorf("the plan stays: %v", stays)
			}
		})
	}
}

// old is a forge whose list of open pull requests does not show one yet.
type old struct{ *forgetest.World }

// Open implements forge.Forge.
func (old) Open(context.Context) ([]forge.PullRequest, error) { return nil, nil }

// TestMergedOntoANewerBase: a plan that says the same onto a newer base is compared with the merge onto that base,
// by the next process, too.
func TestMergedOntoANewerBase(t *testing.T) {
	w := newWorld()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	merged := w.fleets["base"]
	merged.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f", Overlay: "clusters/a"}}
	p := w.propose(1, merged)
	q := w.start()
	w.settled(t, q)
	w.push(78)
	newer := w.merged[p.Head]
	newer.Digest = "sha1:newer"
	w.merged[p.Head] = newer
	w.settled(t, q)
	if old := w.plans[1]; old.Tree == newer.Digest || q.known["pull request 1"].plan.Tree != newer.Digest {
		t.Fatalf("the plan on the branch is of %s, and the last one of %s", old.Tree, q.known["pull request 1"].plan.Tree)
	}
	p.State, p.Result = forge.Merged, forgetest.Hash(50)
	w.Put(p)
	w.merged[p.Result] = sources.Merged{Digest: newer.Digest, Contained: true}
	merged.Revision.Digest = "sha1:" + p.Result
	w.follow(merged)
	w.settled(t, q) // the cluster is on its way
	q = w.start()
	w.settled(t, q)
	if got := strings.Join(w.own(1), "\n"); !strings.Contains(got, "merged, not done yet") || strings.Contains(got, "differs") {
		t.Errorf("it says\n%s", got)
	}
}
