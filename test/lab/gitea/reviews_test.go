//go:build linux

package gitea_test

import (
	"strings"
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
)

// TestReviewApproves: on a real Gitea a change that was reviewed by who may waits for no other
// approval, and one that was reviewed by somebody else does.
func TestReviewApproves(t *testing.T) {
	h := newHarbour(t, "{}\n  rollout:\n    stages:\n    - {name: all, select: {}, atOnce: 5, approval: true, reviewers: [bob]}")
	h.agent("g")
	h.settled()
	values := h.files["clusters/staging/eu-2/values.yaml"]
	upgrade := func(branch, version, by string) forge.PullRequest {
		p := h.propose(branch, false, map[string]string{"clusters/staging/eu-2/values.yaml": strings.Replace(values, "v1.33.5", version, 1)})
		h.says(p, forge.Success, "replace 2 machines")
		h.Review(t, p.Number, by, forgetest.Approve)
		return h.merge(t, p)
	}
	upgrade("reviewed", "v1.34.1", "bob")
	h.eventually("is what was reviewed made so", func() (string, bool) {
		out, _ := h.command("status")
		return out, strings.Contains(out, "2/2") && strings.Contains(out, "v1.34.1")
	})
	if out, _ := h.command("requests"); !strings.Contains(out, "bob, reviewing pull request 1") {
		t.Errorf("nobody is said to have approved:\n%s", out)
	}
	upgrade("unreviewed", "v1.35.0", "dora")
	h.eventually("does the other one wait", func() (string, bool) {
		out, _ := h.command("status")
		return out, strings.Contains(out, "which a review by one of bob is")
	})
}
