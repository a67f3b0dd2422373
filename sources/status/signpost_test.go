package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestSignposts: the default branch says where the status of each fleet is that names another one,
// beside what else it has. A damaged signpost says nothing of its fleet, and is written again.
func TestSignposts(t *testing.T) {
	b := &branch{}
	_, owner := begun(t, b, false)
	saysFleet(t, b, "f")
	post := func(id fleet.ID, name string) {
		t.Helper()
		if err := status.Signpost(t.Context(), b, id, name); err != nil {
			t.Fatal(err)
		}
	}
	want := func(posts map[fleet.ID]string) {
		t.Helper()
		_, tree, err := b.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l, err := status.Locate(tree)
		if err != nil || l.Owner != owner {
			t.Fatalf("it says %+v, %v", l, err)
		}
		if diff := cmp.Diff(posts, l.Signposts); diff != "" {
			t.Error(diff)
		}
	}
	want(map[fleet.ID]string{})
	post("eu", "eu/state")
	post("us", "us/state")
	commits := len(b.log)
	post("us", "us/state")
	if len(b.log) != commits {
		t.Error("a signpost that is right is written again")
	}
	want(map[fleet.ID]string{"eu": "eu/state", "us": "us/state"})
	put(t, b, "signposts/us.yaml", "<<<<<<< HEAD\n")
	put(t, b, "signposts/README.md", "branch: x\n")
	want(map[fleet.ID]string{"eu": "eu/state"})
	post("us", "us/second")
	want(map[fleet.ID]string{"eu": "eu/state", "us": "us/second"})

	// A move leaves the signposts of other fleets where they are.
	to := &branch{}
	if err := status.Move(t.Context(), b, to, "fleet/state"); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, to, "signposts/eu.yaml"); got != "" {
		t.Errorf("the new branch has the signpost\n%s", got)
	}
	if err := status.Move(t.Context(), to, b, "fairlead/status"); err != nil {
		t.Fatal(err)
	}
	want(map[fleet.ID]string{"eu": "eu/state", "us": "us/second"})
}

// TestPost: the signpost of a fleet that nobody owns is not taken from another process, and none is written beside an
// owner that was not seen.
func TestPost(t *testing.T) {
	b := &branch{}
	for _, step := range []struct {
		was, name string
		kind      fleet.ErrorKind
	}{{"", "a", ""}, {"", "a", ""}, {"", "b", fleet.Conflict}, {"b", "c", fleet.Conflict}, {"a", "b", ""}} {
		if err := status.Post(t.Context(), b, "f", step.was, step.name, fleet.Owner{}); (err != nil) != (step.kind != "") || err != nil && fleet.KindOf(err) != step.kind {
			t.Errorf("%s in place of %q: %v", step.name, step.was, err)
		}
	}
	if got := located(t, b).Signposts["f"]; got != "b" {
		t.Errorf("it leads to %q", got)
	}
	_, owner := begun(t, b, false)
	for seen, want := range map[fleet.Owner]fleet.ErrorKind{{}: fleet.Conflict, owner: ""} {
		if err := status.Post(t.Context(), b, "f", "b", "c", seen); (err != nil) != (want != "") || err != nil && fleet.KindOf(err) != want {
			t.Errorf("beside the owner, where %v was seen: %v", seen, err)
		}
	}
}
