package pullrequests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

var sample = []preview.Change{
	{Change: "create", Cluster: "prod/a", Pool: "md", Machine: "a-md-1", Reason: "the pool is to have 2 machines"},
	{Change: "replace", Cluster: "prod/a", Pool: "cp", Machine: "a-cp-0", By: "a-cp-1", Reason: "spec.version: v1.34.1 → v1.35.0"},
	{Change: "delete", Cluster: "prod/b", Pool: "md", Machine: "b-md-1", Reason: "the pool is to have 1 machine"},
	{Change: "delete cluster", Cluster: "prod/c", Reason: "fairlead.dev/delete says so"},
	{Change: "update in place", Cluster: "prod/d", Machine: "d-0", Reason: "labels"},
}

// TestText shows what people read.
func TestText(t *testing.T) {
	before := &preview.Plan{Changes: sample[4:], Orphans: []string{"prod/old"}}
	after := &preview.Plan{Orphans: []string{"prod/e", "prod/old"}, Changes: append([]preview.Change{
		{Change: document.LeaveCluster, Cluster: "prod/e", Reason: "it was removed from Git"},
		{Change: document.ShareSecrets, Reason: "spec.escrow.recipients: add age1x"},
	}, sample...)}
	before.Changes = append(before.Changes[:1:1], preview.Change{Change: "create", Cluster: "prod/f", Machine: "f-1", Waits: true, Reason: "it is one of 3"})
	p := status.Plan{Number: 12, Head: strings.Repeat("a", 40), Base: "main@sha1:b", Tree: "sha1:c", Look: "01234567", Verdict: "failure"}
	p = compared(p, before, after, false, "")
	p.Failures = failures(t.Context(), fleet.PlanPolicy{DeletedClusters: true, ReplacedControlPlanes: true, Machines: 2}, p, fleet.Fleet{},
		fleet.Fleet{Clusters: []fleet.Cluster{{Key: fleet.Key{Namespace: "prod", Name: "a"}, ControlPlane: fleet.Pool{Name: "cp"}}}})
	got := document.Markdown(p)
	file := filepath.Join("testdata", "plan.md")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// What others say is in code spans, or is HTML's text, whatever it is made of.
func TestNeutralised(t *testing.T) {
	evil := "`<img src=x onerror=alert(1)>` @everyone ![x](http://evil) | <!-- fairlead:plan:f --> \x1b[2J\n# big\n</summary></details>"
	p := compared(status.Plan{Number: 1, Head: evil, Base: evil, Tree: evil, Look: evil, Summary: evil, Fleet: fleet.ID(evil)}, &preview.Plan{}, &preview.Plan{
		Changes: []preview.Change{{Change: "delete" + evil, Cluster: evil, Pool: evil, Machine: evil, Reason: evil}, {Change: "create", Cluster: evil, Addon: evil, Reason: evil, By: evil}},
		Unseen:  []preview.Unseen{{Err: errors.New(evil)}}, Notes: []string{evil}, Orphans: []string{evil},
	}, false, evil)
	p.Problems, p.Failures = []string{evil}, []string{evil}
	p.Pending, p.Withdrawn = []status.PlanPart{{Cluster: evil, Changes: 1, Summary: evil}}, []status.PlanPart{{Cluster: evil, Changes: 1, Summary: evil}}
	accepted, merged := p, p
	accepted.Accepted = evil
	merged.Result = &status.PlanResult{Waits: []string{evil}, Differs: []string{evil}, AsMerged: []string{evil}}
	for _, text := range []string{document.Markdown(p), document.Markdown(accepted), document.Markdown(merged), document.Brief(p, 100, evil)} {
		out := withoutSpans(text)
		for i := strings.Index(out, "<code>"); i >= 0; i = strings.Index(out, "<code>") { // of HTML, which calls nobody
			out = out[:i] + out[strings.Index(out, "</code>")+len("</code>"):]
		}
		for _, tag := range []string{"<details>", "</details>", "<summary>", "</summary>"} {
			out = strings.ReplaceAll(out, tag, "")
		}
		if strings.ContainsAny(out, "<@\x1b") || strings.Contains(out, "\n# ") {
			t.Errorf("something is not neutralised: %q", out)
		}
	}
}

// A comment that is too long says how much changes in which cluster, the worst first, and
// where all of it is.
func TestShortForm(t *testing.T) {
	var changes []preview.Change
	for i := range 3000 {
		changes = append(changes, preview.Change{Change: "create", Cluster: fmt.Sprintf("prod/c%04d", i), Machine: "m", Reason: strings.Repeat("why ", 20)})
	}
	changes = append(changes, preview.Change{Change: "delete cluster", Cluster: "prod/lost", Reason: "it is to go"})
	p := compared(status.Plan{Number: 12, Head: "h", Base: "main", Tree: "t"}, &preview.Plan{}, &preview.Plan{Changes: changes}, false, "")
	p.Failures = []string{"it deletes cluster prod/lost"}
	got := comment("f", "fairlead/status", p)
	if len(got) > maxComment || !strings.HasPrefix(got, mark("f")) {
		t.Fatalf("%d bytes", len(got))
	}
	lost, first := strings.Index(got, "prod/lost"), strings.Index(got, "prod/c0000")
	if lost < 0 || first < lost || !strings.Contains(got, "plans/pull-requests/12.md") || !strings.Contains(got, "more clusters") || !strings.Contains(got, "it deletes cluster prod/lost") || !strings.HasSuffix(got, "changes.\n") {
		t.Errorf("%.600s … %s", got, got[len(got)-300:])
	}
	p.Changes = p.Changes[:1]
	if short := comment("f", "s", p); short != mark("f")+document.Markdown(p) {
		t.Errorf("%q", short)
	}
}

func TestSortedByLoss(t *testing.T) {
	p := compared(status.Plan{}, &preview.Plan{}, &preview.Plan{Changes: sample}, false, "")
	var kinds []string
	for _, c := range p.Changes {
		kinds = append(kinds, c.Change)
	}
	if want := []string{"delete cluster", "delete", "replace", "update in place", "create"}; !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
}
