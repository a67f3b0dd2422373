package escrow

import (
	"context"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// unlisted is a store that may not be listed, as the chart's rights have it.
type unlisted struct{ Source }

func (unlisted) ListSecrets(context.Context) ([]fleet.Key, error) {
	return nil, fleet.Errorf(fleet.Unauthorized, "list Secrets", "it may not")
}

// Without the right to list, what clusters name is kept, and what was in escrow before;
// what the store has no more is let go of in time, as it is with the right.
func TestNothingIsListed(t *testing.T) {
	private, public := identity(t)
	p, from, now := Folder(t.TempDir()), filled(t, eu1), time.Now()
	clock := func() time.Time { return now }
	other := fleet.Key{Namespace: "prod", Name: "other"}
	if err := from.SetSecret(t.Context(), other, value("other")); err != nil {
		t.Fatal(err)
	}
	entries := func(named ...fleet.Key) (out []string) {
		t.Helper()
		if behind, err := keeper(t, p, unlisted{from}, clock, public).Keep(t.Context(), []fleet.Key{eu1}, named); err != nil || len(behind) > 0 {
			t.Fatalf("behind with %v: %v", behind, err)
		}
		e, err := Open(t.Context(), p, private)
		if err != nil || len(e.Problems()) > 0 {
			t.Fatal(err, e.Problems())
		}
		for _, e := range e.Entries {
			out = append(out, e.Name)
		}
		return out
	}
	cluster, secret, second := "cluster prod/eu-1", "secret "+login.String(), "secret prod/other"
	for _, step := range []struct {
		what  string
		named []fleet.Key
		do    func() error
		want  []string
	}{
		{"one is named, and one that nobody has", []fleet.Key{login, {Namespace: "prod", Name: "nobody"}}, nil, []string{cluster, secret}},
		{"another one", []fleet.Key{other}, nil, []string{cluster, secret, second}},
		{"none", nil, nil, []string{cluster, secret, second}},
		{"one goes", nil, func() error { return from.DeleteSecret(t.Context(), other) }, []string{cluster, secret, second}},
		{"long after", nil, func() error { now = now.Add(2 * keepGone); return nil }, []string{cluster, secret}},
	} {
		if step.do != nil {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
		}
		if got := entries(step.named...); !slices.Equal(got, step.want) {
			t.Errorf("%s: in escrow are %q, want %q", step.what, got, step.want)
		}
	}
}

// walled is an unlisted store of which one namespace may not be read.
type walled struct {
	unlisted
	namespace string
}

func (w walled) FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error) {
	got, _ := w.unlisted.FilterSecrets(ctx, keys) // a store in memory
	return slices.DeleteFunc(got, func(k fleet.Key) bool { return k.Namespace == w.namespace }), fleet.Errorf(fleet.Unauthorized, "get Secret", "it may not")
}

// Whoever names a Secret that the agent may not read keeps no other out of escrow.
func TestOneNamespaceMayNotBeRead(t *testing.T) {
	private, public := identity(t)
	p, from, vault := Folder(t.TempDir()), filled(t, eu1), fleet.Key{Namespace: "vault", Name: "shared"}
	if err := from.SetSecret(t.Context(), vault, value("shared")); err != nil {
		t.Fatal(err)
	}
	named := []fleet.Key{vault}
	if _, err := keeper(t, p, unlisted{from}, nil, public).Keep(t.Context(), []fleet.Key{eu1}, named); err != nil {
		t.Fatal(err)
	}
	_, err := keeper(t, p, walled{unlisted{from}, "vault"}, nil, public).Keep(t.Context(), []fleet.Key{eu1}, append(named, login))
	if fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("%v, want the kind Unauthorized", err)
	}
	e, err := Open(t.Context(), p, private)
	if err != nil || len(e.Problems()) > 0 {
		t.Fatal(err, e.Problems())
	}
	for i, want := range []string{"cluster prod/eu-1", "secret " + login.String(), "secret vault/shared"} {
		if i >= len(e.Entries) || e.Entries[i].Name != want || e.Entries[i].Gone != "" {
			t.Fatalf("in escrow are %+v, want %s at %d, and nothing gone", e.Entries, want, i)
		}
	}
}

// unreadable is a store that cannot be read for one cluster.
type unreadable struct {
	Source
	cluster fleet.Key
}

func (u unreadable) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if c == u.cluster {
		return nil, fleet.Errorf(fleet.Unavailable, "get", "the store is away")
	}
	return u.Source.Get(ctx, c, name)
}

func TestFailures(t *testing.T) {
	private, public := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	from := filled(t, eu1, eu2)
	keep(t, keeper(t, p, from, nil, public), eu1)
	behind, err := keeper(t, p, unreadable{from, eu1}, nil, public).Keep(t.Context(), []fleet.Key{eu1, eu2}, nil)
	if err == nil || len(behind) != 1 || behind[0] != eu1 {
		t.Errorf("a cluster that cannot be read: behind with %v, %v", behind, err)
	}
	if e, err := Open(t.Context(), p, private); err != nil || len(e.Entries) != 3 || len(e.Problems()) > 0 || e.Entries[0].Gone != "" {
		t.Errorf("the other was brought in, and the one that cannot be read stays: %+v, %v", e, err)
	}
	b.err = fleet.Errorf(fleet.Unauthorized, "commit", "read-only token")
	if err := from.Replace(t.Context(), eu1, fleet.Kubeconfig, value("another")); err != nil {
		t.Fatal(err)
	}
	behind, err = keeper(t, p, from, nil, public).Keep(t.Context(), []fleet.Key{eu1, eu2}, nil)
	if fleet.KindOf(err) != fleet.Unauthorized || len(behind) != 1 || behind[0] != eu1 {
		t.Errorf("a place that takes nothing: behind with %v, %v; want the one that changed", behind, err)
	}
	b.err = nil
	k, err := NewKeeper(p, from, Options{Fleet: "other", Recipients: []string{public}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Keep(t.Context(), []fleet.Key{eu1}, nil); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("the escrow of another fleet: %v, want a conflict", err)
	}
	for _, recipients := range [][]string{nil, {"age1nonsense"}} {
		if _, err := NewKeeper(p, from, Options{Fleet: "edge", Recipients: recipients}); err == nil {
			t.Errorf("recipients %q are accepted", recipients)
		}
	}
}
