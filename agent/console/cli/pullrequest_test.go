package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestPlanOfAPullRequest: the plan that is shown is of what the name means, also if a branch is called as a pull
// request, or as the whole name of another one, and the exit code is that of its verdict.
func TestPlanOfAPullRequest(t *testing.T) {
	s := wiring.Settings{Source: t.TempDir()}
	b, err := s.OpenBranch("")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
	if err != nil {
		t.Fatal(err)
	}
	change := []status.PlannedChange{{Change: "delete", Cluster: "prod/a", Machine: "m"}}
	plans := []status.Plan{
		{Number: 7, Verdict: "failure", Headline: "pull request 7", Changes: change},
		{Number: 8, Verdict: "success", Headline: "nothing of 8"},
		{Number: 12, Verdict: "success", Headline: "pull request 12", Changes: change},
		{Ref: "refs/heads/12", Verdict: "success", Headline: "branch 12"},
		{Ref: "refs/heads/refs/heads/x", Verdict: "success", Headline: "refs/heads/x, a branch"},
		{Ref: "refs/heads/x", Verdict: "merged", Headline: "branch x", Changes: change},
		{Ref: "refs/heads/done", Verdict: "done", Headline: "branch done", Changes: change},
		{Ref: "refs/heads/unseen", Verdict: "error", Headline: "branch unseen"},
	}
	for i := range plans {
		plans[i].Head, plans[i].Base, plans[i].Summary = "h", "b", plans[i].Headline
	}
	if err := status.NewPlans(b).Write(t.Context(), owner, plans, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		says string
		code int
	}{
		"7": {"pull request 7", 1}, "8": {"nothing of 8", 0}, "12": {"pull request 12", 2}, "refs/heads/12": {"branch 12", 0}, "x": {"branch x", 0}, "refs/heads/x": {"branch x", 0},
		"refs/heads/refs/heads/x": {"refs/heads/x, a branch", 0}, "done": {"branch done", 0}, "unseen": {"branch unseen", 1},
	} {
		for _, form := range []output.Format{output.FormatTable, output.FormatJSON, output.FormatYAML} {
			var out bytes.Buffer
			err := showPullRequest(t.Context(), &out, wholeOf(s), "", name, form)
			exit, code := (*exitError)(nil), 0
			if errors.As(err, &exit) {
				code = exit.code
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if code != want.code || !strings.Contains(out.String(), want.says) {
				t.Errorf("%s as %s exits with %d, want %d and %q:\n%s", name, form, code, want.code, want.says, out.String())
			}
		}
	}
	for _, name := range []string{"0", "13", "012", "", "heads/x"} {
		if err := showPullRequest(t.Context(), io.Discard, wholeOf(s), "", name, output.FormatTable); fleet.KindOf(err) != fleet.NotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
}
