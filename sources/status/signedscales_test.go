package status_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestSignedScales: a number counts as a key signed it.
func TestSignedScales(t *testing.T) {
	b := &branch{}
	a := arbiterOf(b, "a")
	owner, err := a.Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewScales(b)
	q.Sign, q.Verify, q.Owner = key("a").sign, verify, a.In
	s := fleet.Scale{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Pool: "md", Replicas: 3, Reason: "asked", At: time.Unix(1e9, 0)}
	if err := q.Decide(t.Context(), owner, []fleet.Scale{s}, nil); err != nil {
		t.Fatal(err)
	}
	one := func(want string) {
		t.Helper()
		list, err := q.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Distrusted != want {
			t.Errorf("got %+v, %v", list, err)
		}
	}
	one("")
	const path = "scales/prod/eu-1/md.yaml"
	put(t, b, path, strings.Replace(contentOf(t, b, path), "replicas: 3", "replicas: 30", 1))
	one("it is not signed")
	if err := q.Decide(t.Context(), owner, []fleet.Scale{s}, nil); err != nil {
		t.Fatal(err)
	}
	one("")
	// What looks as it should and is not signed is written again.
	put(t, b, path, "apiVersion: fairlead.dev/v1alpha1\nkind: Scale\ncluster: prod/eu-1\npool: md\nreplicas: 3\nreason: asked\n")
	one("it is not signed")
	if err := q.Decide(t.Context(), owner, []fleet.Scale{s}, nil); err != nil {
		t.Fatal(err)
	}
	one("")
}

// TestSignedWithoutTime: a number that a key signed without saying when is as good as any
// older one, and counts for nothing.
func TestSignedWithoutTime(t *testing.T) {
	b := &branch{}
	a := arbiterOf(b, "a")
	owner, err := a.Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewScales(b)
	q.Sign, q.Verify, q.Owner = key("a").sign, verify, a.In
	s := fleet.Scale{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Pool: "md", Replicas: 3}
	if err := q.Decide(t.Context(), owner, []fleet.Scale{s}, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := q.List(t.Context()); err != nil || len(list) != 1 || !strings.Contains(list[0].Distrusted, "at is missing") {
		t.Errorf("got %+v, %v", list, err)
	}
}
