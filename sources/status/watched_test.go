package status_test

import (
	"errors"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A branch that was put back is told all of again, though nothing changed since:
// what a poll of the owner reads is enough to notice.
func TestBranchIsPutBack(t *testing.T) {
	b := &branch{}
	w := status.Watch(b)
	a := status.NewArbiter(w)
	owner := []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Owner\nagent: home\nepoch: 1\n")
	if _, err := w.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"owner.yaml": owner}}); err != nil {
		t.Fatal(err)
	}
	writer := status.NewWriter(w, status.Options{Owner: fleet.Owner{Agent: "home", Epoch: 1}, Now: clock})
	put := func() {
		t.Helper()
		writer.Put(report(fleet.PhaseProvisioned))
		if _, err := writer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	writer.PutFleet(sources.FleetStatus{Fleet: "edge", Revision: fleet.Revision{Ref: "main", Digest: "sha1:5b3c7e0a1f2d4c6b8a9e0f1d2c3b4a5968778695"}})
	put()
	cluster, summary := b.file(t, "clusters/prod/eu-1.yaml"), b.file(t, "fleet.yaml")
	commits := len(b.log)
	put()
	if len(b.log) != commits {
		t.Fatal("what did not change was written")
	}
	b.log = b.log[:1]
	put()
	if len(b.log) != 1 {
		t.Fatal("nobody looked, and the writer knew")
	}
	if _, err := a.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	put()
	if b.file(t, "clusters/prod/eu-1.yaml") != cluster || b.file(t, "fleet.yaml") != summary {
		t.Errorf("the branch tells something else than before it was put back:\n%s", b.file(t, "fleet.yaml"))
	}
}

// TestReplacedBranchIsWrittenAgain: files of a branch that somebody put something else in the place of
// are written again, however often that was read.
func TestReplacedBranchIsWrittenAgain(t *testing.T) {
	const request = "requests/prod/eu-1/suspend.yaml"
	b := &branch{}
	w := status.Watch(b)
	a, owner := begun(t, w, false)
	put(t, b, request, "by a person")
	if _, err := a.Owner(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, b, request, "")
	put(t, b, ownerPath, "")
	put(t, b, "README.md", "something else")
	for range 2 {
		if _, err := a.Owner(t.Context()); !errors.Is(err, status.ErrDistrusted) {
			t.Fatalf("a branch without an owner is %v", err)
		}
	}
	if err := a.Restore(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, b, request); got != "by a person" {
		t.Errorf("the request is %q", got)
	}
}

// TestWrote: a commit that was made through a branch is told from those of others.
func TestWrote(t *testing.T) {
	w := status.Watch(&branch{})
	head, err := w.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Wrote(head.Hash()) || w.Wrote("another") || w.Wrote("") {
		t.Error("it does not know its own commits")
	}
}
