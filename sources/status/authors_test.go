package status_test

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

// TestRequestOfAnEditor: a request that was committed in the editor of a forge says neither
// who asks nor when; its commit does, and the answer writes it down.
func TestRequestOfAnEditor(t *testing.T) {
	_, url := served(t, gitserver.Options{})
	agent := status.Watch(gitBranch(t, url))
	owner, err := status.NewArbiter(agent).Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r, err := git.New(git.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	forge, err := r.Branch("fairlead/status", git.BranchOptions{Name: "Ada", Email: "ada@example.com", Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	write := func(b sources.Branch, file, text string) {
		t.Helper()
		head, _, err := b.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{file: []byte(text)}, Message: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	write(forge, "requests/prod/eu-1/suspend.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: Request\nwish: suspend\ncluster: prod/eu-1\nreason: slow\nby:\nat:\n")
	write(agent, "fleet.yaml", "a commit that came after it")

	q := status.NewRequests(status.Guarded(agent, nil))
	list, err := q.List(t.Context())
	if err != nil || len(list) != 1 || list[0].By != "Ada <ada@example.com>" || !list[0].At.Equal(at) {
		t.Fatalf("there is %+v, %v", list, err)
	}
	if err := q.Answer(t.Context(), owner, []fleet.Request{answered(list[0], fleet.RequestAccepted, "")}, nil); err != nil {
		t.Fatal(err)
	}
	// Whoever cannot ask for the past reads it in the file from then on.
	_, tree, err := gitBranch(t, url).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := status.Read(tree)
	if got := fmt.Sprint(s.Requests); len(s.Requests) != 1 || s.Requests[0].By != "Ada <ada@example.com>" || s.Requests[0].Answer.State != fleet.RequestAccepted {
		t.Errorf("the branch says %s", got)
	}
}
