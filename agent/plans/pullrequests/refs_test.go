package pullrequests

import (
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// TestRefs: without an API, a ref is planned in a file, is told what became of it there once
// it is merged, and its file goes with it.
func TestRefs(t *testing.T) {
	w := newWorld()
	is := w.fleets["base"]
	is.Config.PullRequests.Refs = []string{"refs/heads/proposals/*"}
	w.fleets["base"] = is
	w.follow(is)
	const name = "refs/heads/proposals/x"
	head := fleet.Revision{Ref: name, Digest: "sha1:" + forgetest.Hash(1)}
	w.named = []fleet.Revision{{Ref: "refs/heads/main", Digest: "sha1:" + forgetest.Hash(77)}, {Ref: "refs/heads/fairlead/status", Digest: "sha1:" + forgetest.Hash(78)}, head}
	after := is
	after.Clusters = []fleet.Cluster{{Key: fleet.Key{Namespace: "prod", Name: "a"}, Digest: "x", Fleet: "f", Delete: true}}
	w.merged[head.Hash()] = sources.Merged{Tree: tree{fstest.MapFS{}, "after"}, Digest: "sha1:t"}
	w.fleets["after"] = after
	q := w.start()
	q.p.Forge = nil
	says := func(verdict, want string, commits int) {
		t.Helper()
		q.Poll(t.Context())
		q.Poll(t.Context())
		p := w.refPlans[name]
		if len(w.refPlans) != 1 || len(w.plans) != 0 || p.Verdict != verdict || !strings.Contains(p.Text, want) || w.commits != commits {
			t.Errorf("after %d commits %+v, want %s: %s", w.commits, w.refPlans, verdict, want)
		}
	}
	says("success", "Head `"+head.Hash(), 1)
	if len(w.looked) != 1 {
		t.Errorf("looked at %q", w.looked)
	}
	w.merged[head.Hash()] = sources.Merged{Digest: "sha1:t", Contained: true}
	after.Revision.Digest = "sha1:" + forgetest.Hash(79)
	after.Revision.Ref = "main"
	after.Config = is.Config
	w.follow(after)
	says("merged", "merged, not done yet", 2)
	q = w.start() // another process goes on
	q.p.Forge = nil
	says("merged", "merged, not done yet", 2)
	w.named = nil
	q.Poll(t.Context())
	if len(w.refPlans) != 0 {
		t.Errorf("the ref is gone, and its plan stays: %+v", w.refPlans)
	}
	if w.Writes() != 0 {
		t.Errorf("%d writes to a forge that there is not", w.Writes())
	}
}
