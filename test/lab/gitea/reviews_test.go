//go:build linux

package gitea_test

import (
	"net/http"
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

// TestApprovals: where a stage wants two people, two reviews on a real Gitea are enough, and one of them
// is not if its author wrote a part of it.
func TestApprovals(t *testing.T) {
	h := newHarbour(t, "{}\n  rollout:\n    stages:\n    - {name: all, select: {}, atOnce: 5, approval: true, approvals: 2, reviewers: [bob, dora]}")
	h.agent("g")
	h.settled()
	values := h.files["clusters/staging/eu-2/values.yaml"]
	upgrade := func(branch, version, author string) forge.PullRequest {
		p := h.propose(branch, false, map[string]string{"clusters/staging/eu-2/values.yaml": strings.Replace(values, "v1.33.5", version, 1)})
		if author != "" {
			var made struct{ Commit struct{ SHA string } }
			h.Call(http.MethodPost, h.repo+"/contents?sudo="+author, m{
				"branch": branch, "message": "change", "files": []m{{"operation": "create", "path": "NOTES", "content": ""}},
			}, &made)
			p.Head = made.Commit.SHA
		}
		h.says(p, forge.Success, "replace 2 machines")
		h.Review(t, p.Number, "bob", forgetest.Approve)
		h.Review(t, p.Number, "dora", forgetest.Approve)
		return h.merge(t, p)
	}
	upgrade("reviewed", "v1.34.1", "")
	h.eventually("is what two people reviewed made so", func() (string, bool) {
		out, _ := h.command("status")
		return out, strings.Contains(out, "2/2") && strings.Contains(out, "v1.34.1")
	})
	if out, _ := h.command("requests"); !strings.Contains(out, "bob and dora, reviewing pull request 1") {
		t.Errorf("they are not said to have approved:\n%s", out)
	}
	upgrade("written", "v1.35.0", "dora")
	h.eventually("does what one of them wrote wait", func() (string, bool) {
		out, _ := h.command("status")
		return out, strings.Contains(out, "reviews by 2 of bob, dora")
	})
	h.merge(t, h.planned("other", map[string]string{"README.md": "another poll\n"}))
	if out, _ := h.command("requests"); strings.Contains(out, "pull request 2") {
		t.Errorf("a review of an author counts:\n%s", out)
	}
}
