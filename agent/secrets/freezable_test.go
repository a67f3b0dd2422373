package secrets

import (
	"context"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// ofFleets is a store with a part for each fleet. It has an authority that somebody
// brought.
type ofFleets struct {
	reconcile.SecretStore
	of map[fleet.ID]ofFleets
}

func (s ofFleets) Of(id fleet.ID) reconcile.SecretStore { return s.of[id] }

func (s ofFleets) Kept(context.Context, fleet.Key) ([]fleet.SecretName, error) {
	return []fleet.SecretName{fleet.ClusterCA}, nil
}

func TestFreezableStoreOfAFleet(t *testing.T) {
	ctx, key := t.Context(), fleet.Key{Namespace: "prod", Name: "eu-1"}
	data := fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret([]byte("x"))}
	a, b := NewMemory(), NewMemory()
	g := &FreezableStore{SecretStore: ofFleets{of: map[fleet.ID]ofFleets{"a": {SecretStore: a}, "b": {SecretStore: b}}}}
	store := g.Of("a")
	if err := store.Replace(ctx, key, fleet.Kubeconfig, data); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get(ctx, key, fleet.Kubeconfig); err != nil {
		t.Errorf("the store of the fleet: %v", err)
	}
	if _, err := b.Get(ctx, key, fleet.Kubeconfig); fleet.KindOf(err) != "NotFound" {
		t.Errorf("the store of another fleet: %v", err)
	}
	kept, err := store.(reconcile.SecretKeeper).Kept(ctx, key)
	if err != nil || !slices.Equal(kept, []fleet.SecretName{"ca"}) {
		t.Errorf("kept %v, %v", kept, err)
	}
	g.Freeze("it is moving")
	_, create := store.Create(ctx, key, fleet.ClusterCA, data)
	for what, err := range map[string]error{"create": create, "replace": store.Replace(ctx, key, fleet.Kubeconfig, data), "delete": store.Delete(ctx, key)} {
		if fleet.KindOf(err) != "Unavailable" {
			t.Errorf("%s in a frozen store: %v, want the kind Unavailable", what, err)
		}
	}
	g.Unfreeze()
	if err := store.Delete(ctx, key); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestFreezableStoreWithoutFleets(t *testing.T) {
	g := &FreezableStore{SecretStore: NewMemory()}
	if g.Of("a") != reconcile.SecretStore(g) {
		t.Error("the store is not all the fleet's")
	}
	if kept, err := g.Kept(t.Context(), fleet.Key{Namespace: "prod", Name: "eu-1"}); err != nil || kept != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
}
