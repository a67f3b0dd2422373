package pivot

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

func data(text string) fleet.SecretData {
	return fleet.SecretData{"value": fleet.NewSecret([]byte(text))}
}

// filled is a store with a cluster and a given Secret.
func filled(t *testing.T, text string) *secrets.Memory {
	t.Helper()
	s := secrets.NewMemory()
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		if _, err := s.Create(t.Context(), opsHome(), name, data(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetSecret(t.Context(), fleet.Key{Namespace: "ops", Name: "cloud"}, data(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

// arbiter takes one step of a succession.
type arbiter struct {
	sources.Arbiter
	took fleet.Succession
}

func (a *arbiter) Succeed(_ context.Context, _ fleet.Owner, _, to fleet.Succession) error {
	a.took = to
	return nil
}

func moving(from, to Store) (*Pivot, *arbiter) {
	a := &arbiter{}
	return New(Want{To: "home.ops.home", Home: opsHome()}, Parts{
		Arbiter: a, From: from, To: to,
		Clusters: func(context.Context) ([]fleet.Key, error) { return []fleet.Key{opsHome()}, nil },
	}), a
}

func granted() Seen {
	return Seen{Next: fleet.Succession{ID: "1", To: "home.ops.home", Step: fleet.StepGranted}}
}

func TestMove(t *testing.T) {
	from, to := filled(t, "a"), secrets.NewMemory()
	p, a := moving(from, to)
	if err := p.move(t.Context(), granted()); err != nil || a.took.Step != fleet.StepMoved {
		t.Fatalf("%v, at %q", err, a.took.Step)
	}
	for _, name := range append(fleet.Authorities(), fleet.Kubeconfig) {
		if d, err := to.Get(t.Context(), opsHome(), name); err != nil || !same(d, data("a")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := to.GetSecret(t.Context(), fleet.Key{Namespace: "ops", Name: "cloud"}); err != nil || !same(d, data("a")) {
		t.Errorf("the given one: %v", err)
	}
}

// Safety: another authority where one is to go is never written over, and nobody
// is told that the secrets are moved.
func TestMoveRefusesAnotherAuthority(t *testing.T) {
	from, to := filled(t, "a"), filled(t, "b")
	p, a := moving(from, to)
	err := p.move(t.Context(), granted())
	if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "ops/home-ca") || a.took.Step != "" {
		t.Errorf("%v, at %q", err, a.took.Step)
	}
	if d, _ := to.Get(t.Context(), opsHome(), fleet.ClusterCA); !same(d, data("b")) {
		t.Error("the other authority is gone")
	}
}

// forgetful is a store that answers and keeps nothing.
type forgetful struct{ *secrets.Memory }

func (forgetful) SetSecret(context.Context, fleet.Key, fleet.SecretData) error { return nil }

// Safety: what was written is read back, and only that counts.
func TestMoveReadsBack(t *testing.T) {
	p, a := moving(filled(t, "a"), forgetful{secrets.NewMemory()})
	if err := p.move(t.Context(), granted()); err == nil || a.took.Step != "" {
		t.Errorf("%v, at %q", err, a.took.Step)
	}
}

// Safety: nothing is removed here as long as one secret is not with the new
// owner; a kubeconfig may have been made anew.
func TestClean(t *testing.T) {
	from, to := filled(t, "a"), filled(t, "a")
	if err := to.Replace(t.Context(), opsHome(), fleet.Kubeconfig, data("renewed")); err != nil {
		t.Fatal(err)
	}
	if err := from.SetSecret(t.Context(), fleet.Key{Namespace: "ops", Name: "late"}, data("x")); err != nil {
		t.Fatal(err)
	}
	p, _ := moving(from, to)
	if err := p.clean(t.Context()); err == nil || !strings.Contains(err.Error(), "ops/late is not with the new owner") {
		t.Errorf("got %v", err)
	}
	if _, err := from.Get(t.Context(), opsHome(), fleet.ClusterCA); err != nil {
		t.Errorf("it removed something all the same: %v", err)
	}
	if err := from.DeleteSecret(t.Context(), fleet.Key{Namespace: "ops", Name: "late"}); err != nil {
		t.Fatal(err)
	}
	if err := p.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := parcels(t.Context(), from, []fleet.Key{opsHome()}); len(list) > 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}
