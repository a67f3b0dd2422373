package git_test

import (
	"errors"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

// TestOnlyBranchIsDeleted: a repository that had the status branch alone has no ref after the branch
// was deleted. The owner writes the branch again when that has lasted, and not before: the server
// may be restoring the repository.
func TestOnlyBranchIsDeleted(t *testing.T) {
	const request = "requests/prod/eu-1/suspend.yaml"
	p := newPlace(t, gitserver.Options{})
	now := clock()
	b, err := open(t, git.Options{URL: p.url}).Branch("fairlead/status", git.BranchOptions{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	w := status.Watch(b)
	a := status.NewArbiter(w)
	owner, err := a.Claim(t.Context(), "a", "here")
	if err == nil {
		owner, _, err = a.Begin(t.Context(), owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	head, _, err := w.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{request: []byte("by a person")}, Message: "suspend"}); err != nil {
		t.Fatal(err)
	}
	tip := p.git("rev-parse", "refs/heads/fairlead/status")
	reads := func(after time.Duration, gone bool) {
		t.Helper()
		now = now.Add(after)
		_, err := a.Owner(t.Context())
		if errors.Is(err, status.ErrDistrusted) != gone || fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("after another %s the owner is read with %v", after, err)
		}
	}
	p.git("update-ref", "-d", "refs/heads/fairlead/status")
	reads(0, false)
	reads(14*time.Minute, false)
	p.git("update-ref", "refs/heads/fairlead/status", tip)
	if now, err := a.Owner(t.Context()); err != nil || now != owner {
		t.Errorf("a repository that was restored says %+v, %v", now, err)
	}
	p.git("update-ref", "-d", "refs/heads/fairlead/status")
	reads(4*time.Minute, false)
	reads(14*time.Minute, false)
	reads(time.Minute, true)
	if err := a.Restore(t.Context(), owner); err != nil {
		t.Fatalf("the owner does not write it again: %v", err)
	}
	if got := p.git("show", "fairlead/status:"+request); got != "by a person" {
		t.Errorf("the request is %q", got)
	}
}
