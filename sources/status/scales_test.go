package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

func scale(pool string, n int, remove ...fleet.ProviderID) fleet.Scale {
	return fleet.Scale{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Pool: fleet.PoolName(pool), Replicas: n, Remove: remove, Reason: "because"}
}

func TestScales(t *testing.T) {
	bare, url := served(t, gitserver.Options{})
	b := gitBranch(t, url)
	arbiter := status.NewArbiter(b)
	owner, err := arbiter.Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewScales(b)
	want := func(list ...fleet.Scale) {
		t.Helper()
		got, err := q.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	decide := func(list, gone []fleet.Scale) {
		t.Helper()
		if err := q.Decide(t.Context(), owner, list, gone); err != nil {
			t.Fatal(err)
		}
	}
	subject := func() string { return run(t, "-C", bare, "log", "-1", "--format=%s", "fairlead/status") }

	want()
	decide([]fleet.Scale{scale("md-1", 3), scale("md-0", 5, "sim://1", "sim://2")}, nil)
	want(scale("md-0", 5, "sim://1", "sim://2"), scale("md-1", 3))
	if got := subject(); got != "2 numbers of machines" {
		t.Errorf("the commit says %q", got)
	}
	head := run(t, "-C", bare, "rev-parse", "fairlead/status")
	decide([]fleet.Scale{scale("md-1", 3)}, []fleet.Scale{scale("md-2", 1)})
	if got := run(t, "-C", bare, "rev-parse", "fairlead/status"); got != head {
		t.Error("a decision that changes nothing made a commit")
	}
	decide([]fleet.Scale{scale("md-0", 4)}, nil)
	if got := subject(); got != "prod/md-0: 4 replicas, because" {
		t.Errorf("the commit says %q", got)
	}
	decide(nil, []fleet.Scale{scale("md-1", 9)})
	want(scale("md-0", 4))

	// Status has them too, which a plan reads.
	_, tree, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := status.Read(tree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]fleet.Scale{scale("md-0", 4)}, s.Scales); diff != "" {
		t.Error(diff)
	}

	// A file that nobody can read is told of, and written again.
	rev, _, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"rubbish: [", "apiVersion: fairlead.dev/v1alpha1\nkind: Scale\ncluster: prod/eu-1\npool: md-0\nreplicas: 10001\n", "apiVersion: fairlead.dev/v1alpha1\nkind: Scale\ncluster: prod/eu-1\npool: md-0\nreplicas: -1\n", "apiVersion: fairlead.dev/v1alpha1\nkind: Scale\ncluster: prod/eu-1\npool: md-9\nreplicas: 1\n"} {
		if rev, err = b.Commit(t.Context(), rev, sources.Commit{Edits: map[string][]byte{"scales/prod/eu-1/md-0.yaml": []byte(text)}, Message: "by hand"}); err != nil {
			t.Fatal(err)
		}
		if got, err := q.List(t.Context()); fleet.KindOf(err) != fleet.Invalid || len(got) != 0 {
			t.Errorf("%q gave %v, %v", text, got, err)
		}
	}
	decide([]fleet.Scale{scale("md-0", 4)}, nil)
	want(scale("md-0", 4))

	// Who does not own the fleet decides nothing.
	if _, err := arbiter.HandOver(t.Context(), owner, "b", ""); err != nil {
		t.Fatal(err)
	}
	if err := q.Decide(t.Context(), owner, []fleet.Scale{scale("md-0", 9)}, nil); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("a deposed owner gets %v", err)
	}
	want(scale("md-0", 4))
}
