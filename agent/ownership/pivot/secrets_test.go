package pivot

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

func data(text string) fleet.SecretData {
	return fleet.SecretData{"value": fleet.NewSecret([]byte(text))}
}

// filled is a store with the secrets of a cluster, and a Secret that a person gave.
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

// arbiter accepts one step of a succession.
type arbiter struct {
	sources.Arbiter
	took fleet.Succession
}

func (a *arbiter) Succession(context.Context) (fleet.Owner, fleet.Succession, error) {
	return fleet.Owner{Agent: "laptop", Epoch: 1}, a.took, nil
}

func (a *arbiter) Succeed(_ context.Context, _ fleet.Owner, _, to fleet.Succession) error {
	a.took = to
	return nil
}

func moving(from, to secrets.Store) (*Pivot, *arbiter) {
	a := &arbiter{}
	return New(Destination{To: "home.ops.home", Home: opsHome()}, Parts{
		Arbiter: a, From: from, To: to,
		Clusters: func(context.Context) ([]fleet.Key, error) { return []fleet.Key{opsHome()}, nil },
	}), a
}

func granted() Observed {
	return Observed{Next: fleet.Succession{ID: "1", To: "home.ops.home", Step: fleet.StepGranted}}
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

// Safety: an authority is never replaced by another one, and then the secrets are not
// reported as moved.
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

// forgetful is a store that accepts everything and keeps nothing.
type forgetful struct{ *secrets.Memory }

func (forgetful) SetSecret(context.Context, fleet.Key, fleet.SecretData) error { return nil }

// Safety: only a secret that can be read back counts as moved.
func TestMoveReadsBack(t *testing.T) {
	p, a := moving(filled(t, "a"), forgetful{secrets.NewMemory()})
	if err := p.move(t.Context(), granted()); err == nil || a.took.Step != "" {
		t.Errorf("%v, at %q", err, a.took.Step)
	}
}

// Safety: nothing is removed here while the new owner lacks one secret. A kubeconfig may
// differ.
func TestClean(t *testing.T) {
	from, to := filled(t, "a"), filled(t, "a")
	if err := to.Replace(t.Context(), opsHome(), fleet.Kubeconfig, data("renewed")); err != nil {
		t.Fatal(err)
	}
	if err := from.SetSecret(t.Context(), fleet.Key{Namespace: "ops", Name: "late"}, data("x")); err != nil {
		t.Fatal(err)
	}
	p, _ := moving(from, to)
	if err := p.clean(t.Context()); err == nil || !strings.Contains(err.Error(), "ops/late differs from the copy of the new owner") {
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
	if list, err := listSecrets(t.Context(), from, []fleet.Key{opsHome()}); len(list) > 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

// brought is a store with an authority that people brought, and that stays.
type brought struct{ *secrets.Memory }

func (b brought) Kept(context.Context, fleet.Key) ([]fleet.SecretName, error) {
	return []fleet.SecretName{fleet.ClusterCA}, nil
}

func (b brought) Delete(ctx context.Context, c fleet.Key) error {
	ca, err := b.Get(ctx, c, fleet.ClusterCA)
	if err == nil {
		err = b.Memory.Delete(ctx, c)
	}
	if err == nil {
		_, err = b.Create(ctx, c, fleet.ClusterCA, ca)
	}
	return err
}

// A secret that people brought stays, and does not keep the pivot from its end.
func TestCleanLeavesWhatPeopleBrought(t *testing.T) {
	from, to := brought{filled(t, "a")}, filled(t, "a")
	p, _ := moving(from, to)
	if err := p.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := leftover(t.Context(), from, to, []fleet.Key{opsHome()})
	if err != nil || len(left) > 0 {
		t.Errorf("to be removed still: %v, %v", left, err)
	}
	if _, err := from.Get(t.Context(), opsHome(), fleet.ClusterCA); err != nil {
		t.Errorf("what people brought: %v", err)
	}
	if _, err := from.Get(t.Context(), opsHome(), fleet.EtcdCA); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("what they did not bring: %v", err)
	}
}

// The secrets that people gave for an external etcd move with the cluster.
func TestMoveTakesWhatIsForAnExternalEtcd(t *testing.T) {
	from, to := filled(t, "a"), secrets.NewMemory()
	if _, err := from.Create(t.Context(), opsHome(), fleet.EtcdClient, data("client")); err != nil {
		t.Fatal(err)
	}
	p, _ := moving(from, to)
	if err := p.move(t.Context(), granted()); err != nil {
		t.Fatal(err)
	}
	if d, err := to.Get(t.Context(), opsHome(), fleet.EtcdClient); err != nil || !same(d, data("client")) {
		t.Errorf("it is %v", err)
	}
}

// Safety: undo removes copies from a home only. A secret that differs from the one here
// stays there.
func TestUndoLeavesWhatIsNoCopy(t *testing.T) {
	here, there := filled(t, "a"), filled(t, "b")
	login := fleet.Key{Namespace: "ops", Name: "login"}
	for _, s := range []*secrets.Memory{here, there} {
		if err := s.SetSecret(t.Context(), login, data("same")); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := moving(here, nil)
	if err := p.removeCopies(t.Context(), there, []fleet.Key{opsHome()}); err != nil {
		t.Fatal(err)
	}
	if _, err := there.Get(t.Context(), opsHome(), fleet.ClusterCA); err != nil {
		t.Errorf("the authority of another: %v", err)
	}
	if _, err := there.GetSecret(t.Context(), fleet.Key{Namespace: "ops", Name: "cloud"}); err != nil {
		t.Errorf("a given one that differs: %v", err)
	}
	if _, err := there.GetSecret(t.Context(), login); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("the copy: %v", err)
	}
	if err := there.Replace(t.Context(), opsHome(), fleet.ClusterCA, data("a")); err != nil {
		t.Fatal(err)
	}
	if err := p.removeCopies(t.Context(), there, []fleet.Key{opsHome()}); err != nil {
		t.Fatal(err)
	}
	if _, err := there.Get(t.Context(), opsHome(), fleet.EtcdCA); err != nil {
		t.Errorf("one authority is a copy, and another one of the cluster went with it: %v", err)
	}
}

// here is a store that knows its location.
type here struct {
	*secrets.Memory
	at  string
	err error
}

func (h here) Location(context.Context) (string, error) { return h.at, h.err }

// Safety: secrets are not moved, cleaned up or undone where both stores are the same. They
// would be lost.
func TestOneStoreIsNotTwo(t *testing.T) {
	store := filled(t, "a")
	p, a := moving(here{store, "x", nil}, here{store, "x", nil})
	for what, do := range map[string]func() error{
		"move":  func() error { return p.move(t.Context(), granted()) },
		"clean": func() error { return p.clean(t.Context()) },
		"undo":  func() error { return p.Undo(t.Context()) },
		"look":  func() error { return p.observeOld(t.Context(), &Observed{}) },
	} {
		if err := do(); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "--secrets") || a.took.Step != "" {
			t.Errorf("%s: %v, at %q", what, err, a.took.Step)
		}
	}
	if list, err := listSecrets(t.Context(), store, []fleet.Key{opsHome()}); len(list) != 6 || err != nil {
		t.Errorf("%v are left, %v", list, err)
	}
	if _, err := compareLocations(t.Context(), p.p.From, here{store, "", fleet.Errorf(fleet.Unavailable, "get namespace", "no route")}); err == nil {
		t.Error("it goes on, and could not look where the other store is")
	}
}

// Safety: if a store cannot say which it is, a mark shows whether both stores are one. Then
// nothing is moved or removed: it may be the only copy.
func TestOneStoreThatNobodyMayName(t *testing.T) {
	forbidden := fleet.Errorf(fleet.Unauthorized, "get namespace", "forbidden")
	for name, of := range map[string]func(*secrets.Memory) secrets.Store{
		"may not be asked": func(m *secrets.Memory) secrets.Store { return here{m, "", forbidden} },
		"has no name":      func(m *secrets.Memory) secrets.Store { return m },
	} {
		store := filled(t, "a")
		p, a := moving(here{store, "x", nil}, of(store))
		for what, do := range map[string]func() error{
			"move":  func() error { return p.move(t.Context(), granted()) },
			"clean": func() error { return p.clean(t.Context()) },
			"undo":  func() error { return p.Undo(t.Context()) },
		} {
			if err := do(); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "--secrets") || a.took.Step != "" {
				t.Errorf("%s, %s: %v, at %q", name, what, err, a.took.Step)
			}
		}
		if list, err := listSecrets(t.Context(), store, []fleet.Key{opsHome(), {Namespace: "ops", Name: markName}}); len(list) != 6 || err != nil {
			t.Errorf("%s: %v are left, %v", name, list, err)
		}
	}
}

// Two stores without a name are two, and no mark stays in either.
func TestTwoStoresWithoutName(t *testing.T) {
	from, to := filled(t, "a"), secrets.NewMemory()
	p, a := moving(from, to)
	if err := p.move(t.Context(), granted()); err != nil || a.took.Step != fleet.StepMoved {
		t.Fatalf("%v, at %q", err, a.took.Step)
	}
	if err := p.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*secrets.Memory{from, to} {
		if list, err := listSecrets(t.Context(), s, []fleet.Key{{Namespace: "ops", Name: markName}}); err != nil || slices.ContainsFunc(list, func(r secretRef) bool { return r.cluster.Name == markName }) {
			t.Errorf("left: %v, %v", list, err)
		}
	}
}

// overwritten is a store in which another process replaces each mark.
type overwritten struct{ *secrets.Memory }

func (o overwritten) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	if c.Name == markName {
		d = data("the mark of another process")
	}
	return o.Memory.Replace(ctx, c, name, d)
}

// silent is a store that does not answer.
type silent struct{ *secrets.Memory }

func (silent) Get(context.Context, fleet.Key, fleet.SecretName) (fleet.SecretData, error) {
	return nil, fleet.Errorf(fleet.Unavailable, "get secret", "no route")
}

// Safety: a mark that another process replaced, or that cannot be looked for, proves
// nothing.
func TestMarkThatProvesNothing(t *testing.T) {
	store := filled(t, "a")
	for name, pair := range map[string][2]secrets.Store{
		"replaced":   {store, overwritten{store}},
		"not looked": {silent{store}, store},
	} {
		p, _ := moving(pair[0], pair[1])
		if err := p.clean(t.Context()); err == nil {
			t.Errorf("%s: the secrets are removed", name)
		}
		if _, err := store.Get(t.Context(), opsHome(), fleet.ClusterCA); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
