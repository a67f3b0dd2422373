package status_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/status"
)

func folderBranch(t *testing.T) sources.Branch {
	t.Helper()
	f, err := dir.New(dir.Options{Path: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return f.Branch()
}

func TestPlans(t *testing.T) {
	b := folderBranch(t)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewPlans(b)
	one := status.Plan{
		Number: 1, Head: strings.Repeat("a", 40), Base: "main@sha1:b", Tree: "sha1:c", Look: "d", Verdict: "success", Summary: "create 1 machine",
		Changes:  []status.PlannedChange{{Change: "create", Cluster: "prod/a", Pool: "md", Machine: "a-1", Reason: "why: \"so\""}},
		Clusters: []fleet.Key{{Namespace: "prod", Name: "a"}}, Comment: "17", Fleet: "f", Headline: "create 1 machine",
		Failures: []string{"f"}, Accepted: "by Ada", Problems: []string{"p"}, Errors: []string{"e: \"x\""}, Remarks: []string{"r"},
		Pending: []status.PlanPart{{Cluster: "prod/b", Changes: 2, Summary: "create 2 machines"}}, Withdrawn: []status.PlanPart{{Changes: 1, Summary: "change 1 setting"}},
		Result: &status.PlanResult{Done: true, Waits: []string{"w"}, Differs: []string{"d"}, AsMerged: []string{"prod/a"}},
	}
	one.Omitted = 3
	for i, v := 0, reflect.ValueOf(one); i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Ref" && name != "Text" { // of refs, and not read back
			t.Errorf("the plan that is written has no %s", name)
		}
	}
	two := status.Plan{Number: 2, Head: "h", Base: "b", Verdict: "failure", Summary: "conflict", Text: "no\n"}
	if err := q.Write(t.Context(), owner, []status.Plan{two, one}, nil); err != nil {
		t.Fatal(err)
	}
	head, _, _ := b.Read(t.Context())
	if err := q.Write(t.Context(), owner, []status.Plan{one}, []status.Plan{{Number: 9}}); err != nil {
		t.Fatal(err)
	}
	if now, _, _ := b.Read(t.Context()); now != head {
		t.Error("what is as it was makes a commit")
	}
	got, err := q.List(t.Context())
	if _, tree, err := b.Read(t.Context()); err != nil {
		t.Error(err)
	} else if text, err := fs.ReadFile(tree, two.Path()); err != nil || string(text) != "no\n" {
		t.Errorf("people read %q, %v", text, err)
	}
	two.Text = "" // it is written, and not read back
	if d := cmp.Diff([]status.Plan{one, two}, got, cmpopts.EquateEmpty()); err != nil || d != "" {
		t.Error(err, d)
	}
	other := owner
	other.Epoch++
	if err := q.Write(t.Context(), other, nil, []status.Plan{one}); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("who does not own the fleet writes: %v", err)
	}
	ref := status.Plan{Ref: "refs/heads/proposals/x", Head: "h", Base: "b", Verdict: "success", Summary: "nothing to do", Text: "so\n"}
	if err := q.Write(t.Context(), owner, []status.Plan{ref}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err = q.List(t.Context()); err != nil || len(got) != 3 || got[2].Summary != "nothing to do" || got[2].Path() != "plans/refs/heads/proposals/x.md" {
		t.Errorf("%v, %v", got, err)
	}
	if err := q.Write(t.Context(), owner, nil, []status.Plan{one, ref}); err != nil {
		t.Fatal(err)
	}
	if got, err = q.List(t.Context()); err != nil || len(got) != 1 || got[0].Number != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, tree, err := b.Read(t.Context()); err != nil {
		t.Error(err)
	} else if _, err := status.Read(tree); err != nil {
		t.Errorf("the rest of the branch cannot be read beside them: %v", err)
	}
}

func TestApprovals(t *testing.T) {
	b := folderBranch(t)
	q := status.NewApprovals(b)
	good := fleet.Approval{PullRequest: 3, Kind: fleet.ApproveChanges, Head: strings.Repeat("a", 40), Reason: "known", By: "Ada <a@b>", At: time.Unix(1, 0).UTC()}
	for name, spoil := range map[string]func(*fleet.Approval){
		"no pull request": func(a *fleet.Approval) { a.PullRequest = 0 },
		"no kind":         func(a *fleet.Approval) { a.Kind = "all" },
		"a short hash":    func(a *fleet.Approval) { a.Head = "abcdef" },
		"a path":          func(a *fleet.Approval) { a.Head = strings.Repeat("../", 13) + "x" },
		"nobody":          func(a *fleet.Approval) { a.By = "" },
	} {
		bad := good
		spoil(&bad)
		if err := q.Approve(t.Context(), bad); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := q.Approve(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	got, err := q.List(t.Context())
	if d := cmp.Diff([]fleet.Approval{good}, got); err != nil || d != "" {
		t.Error(err, d)
	}
	q.Sign = func(content []byte) (string, error) { return "signed " + string(content[:18]), nil }
	q.Verify = func(content []byte, signature string) (string, error) {
		if signature != "signed "+string(content[:18]) {
			return "", errors.New("nobody signed it")
		}
		return "ada", nil
	}
	if got, err = q.List(t.Context()); err != nil || got[0].Distrusted != "nobody signed it" {
		t.Errorf("%v, %v", got, err)
	}
	if err := q.Approve(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if got, err = q.List(t.Context()); err != nil || got[0].Distrusted != "" || !strings.HasPrefix(got[0].Signature, "signed fairlead-approval\n") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestApprovedForAnother: an approval in the name of somebody whose key is known has to be signed by that key.
func TestApprovedForAnother(t *testing.T) {
	approval := func(by string) fleet.Approval {
		return fleet.Approval{PullRequest: 3, Kind: fleet.ApproveChanges, Head: strings.Repeat("a", 40), By: by, At: time.Unix(1, 0).UTC()}
	}
	for name, c := range map[string]struct {
		by, key, want string
		people        error
		kind          fleet.ErrorKind
	}{
		"her own":           {"Ada <ada@example.com>", "ada@example.com", "", nil, fleet.Unknown},
		"a computer's name": {"Eve <eve@example.com>", "eve@laptop", "", nil, fleet.Unknown},
		"somebody else's":   {"Ada <Ada@example.com>", "eve@laptop", "it says that it is by ada@example.com, and was signed by eve@laptop", nil, fleet.Unknown},
		"keys are missing":  {"Ada <ada@example.com>", "ada@example.com", "", fleet.Errorf(fleet.Unauthorized, "read keys", "no"), fleet.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			q := status.NewApprovals(folderBranch(t))
			q.Sign = func([]byte) (string, error) { return c.key, nil }
			q.Verify = func(_ []byte, signature string) (string, error) { return signature, nil }
			q.People = func(by, signature string) ([]string, bool, error) {
				return []string{signature}, by == "ada@example.com" && signature != by, c.people
			}
			if err := q.Approve(t.Context(), approval(c.by)); err != nil {
				t.Fatal(err)
			}
			got, err := q.List(t.Context())
			if fleet.KindOf(err) != c.kind || err == nil && (len(got) != 1 || got[0].Distrusted != c.want) {
				t.Errorf("%+v, %v, want %q", got, err, c.want)
			}
		})
	}
}

// The plan of a large fleet can be read again, however much it changes.
func TestLargePlan(t *testing.T) {
	b := folderBranch(t)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewPlans(b)
	p := status.Plan{Number: 1, Head: "h", Base: "b", Tree: "t", Verdict: "success", Summary: "replace 26000 machines", Text: "### plan\n"}
	for i := range 26_000 {
		name := fmt.Sprintf("edge-%05d", i)
		p.Changes = append(p.Changes, status.PlannedChange{
			Change: "replace", Cluster: "prod/" + name, Pool: "md-0", Machine: name + "-a", By: name + "-b", Addon: "x", Host: "x", Waits: true, Reason: strings.Repeat("outdated: ", 40),
		})
		p.Clusters = append(p.Clusters, fleet.Key{Namespace: "prod", Name: name})
	}
	if err := q.Write(t.Context(), owner, []status.Plan{p}, nil); err != nil {
		t.Fatal(err)
	}
	got, err := q.List(t.Context())
	if err != nil || len(got) != 1 || len(got[0].Changes)+got[0].Omitted != 26_000 || len(got[0].Changes) > 20_000 || len(got[0].Clusters) != 26_000 {
		t.Fatalf("%d plans are read of one: %v", len(got), err)
	}
	if n := len(got[0].Changes[0].Reason); n < 290 || n > 310 {
		t.Errorf("a reason of 400 bytes has %d", n)
	}
	bounded := p.Bounded()
	bounded.Text = ""
	if d := cmp.Diff(bounded, got[0]); d != "" {
		t.Errorf("it is read back as another one: %.600s", d)
	}
}

// TestRefsInEachOthersWay: refs of which one is called as the file of another, or as what stands for that, all
// have their plans.
func TestRefsInEachOthersWay(t *testing.T) {
	b := folderBranch(t)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewPlans(b)
	refs := []string{
		"refs/heads/proposals/x.md/y", "refs/heads/proposals/x", "refs/heads/proposals/x.yaml/y", "refs/heads/proposals/x%2Emd/y",
		"refs/heads/proposals/x%252Emd/y", "refs/heads/proposals/x.md.yaml/z.md",
	}
	paths := map[string]bool{}
	for _, ref := range refs {
		p := status.Plan{Ref: ref, Head: "h", Base: "b", Verdict: "success", Summary: ref}
		paths[p.Path()] = true
		if err := q.Write(t.Context(), owner, []status.Plan{p}, nil); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
	got, err := q.List(t.Context())
	if len(got) != len(refs) || len(paths) != len(refs) || err != nil {
		t.Errorf("%d plans at %d paths: %v", len(got), len(paths), err)
	}
	for _, p := range got {
		if p.Summary != p.Ref {
			t.Errorf("%s has the plan of %q", p.Ref, p.Summary)
		}
	}
	if p := (status.Plan{Ref: "refs/heads/proposals/a.md"}).Path(); p != "plans/refs/heads/proposals/a.md.md" {
		t.Errorf("a ref that is in the way of no other one has its plan at %s", p)
	}
}

// TestPlansAreReadOnce: a plan whose file is as it was is not read again, and one that says something else is.
func TestPlansAreReadOnce(t *testing.T) {
	b := folderBranch(t)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "me", "here")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewPlans(b)
	p := status.Plan{Number: 1, Head: "h", Base: "b", Verdict: "success", Changes: []status.PlannedChange{{Change: "create"}}, Text: "one\n"}
	list := func(summary string) *status.PlannedChange {
		t.Helper()
		p.Summary = summary
		if err := q.Write(t.Context(), owner, []status.Plan{p}, nil); err != nil {
			t.Fatal(err)
		}
		got, err := q.List(t.Context())
		if err != nil || len(got) != 1 || got[0].Summary != summary {
			t.Fatalf("%+v, %v", got, err)
		}
		return &got[0].Changes[0]
	}
	first := list("one")
	if list("one") != first {
		t.Error("it was read again")
	}
	if list("two") == first {
		t.Error("the other plan was not read")
	}
}
