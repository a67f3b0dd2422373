package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// shared is a store that several fleets use: without the name of one, nothing
// in it works.
type shared struct {
	reconcile.SecretStore
	of map[fleet.ID]reconcile.SecretStore
}

func (s shared) Of(id fleet.ID) reconcile.SecretStore { return s.of[id] }

// brought is a store with a cluster's authority that somebody brought, which
// therefore stays.
type brought struct{ *secrets.Memory }

func (b brought) Delete(ctx context.Context, c fleet.Key) error {
	ca, err := b.Get(ctx, c, fleet.ClusterCA)
	if err != nil {
		return err
	}
	if err := b.Memory.Delete(ctx, c); err != nil {
		return err
	}
	_, err = b.Create(ctx, c, fleet.ClusterCA, ca)
	return err
}

func (b brought) Kept(context.Context, fleet.Key) ([]fleet.SecretName, error) {
	return []fleet.SecretName{fleet.ClusterCA}, nil
}

// TestLifeInASharedStore takes a cluster through its life, of which an authority
// is left in the end.
func TestLifeInASharedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		store := brought{secrets.NewMemory()}
		w.secrets = store
		w.shared = shared{of: map[fleet.ID]reconcile.SecretStore{"test": store}}
		life(w)
		key := fleet.Key{Namespace: "prod", Name: "eu-1"}
		if _, err := store.Get(t.Context(), key, fleet.ClusterCA); err != nil {
			t.Errorf("the authority that was brought: %v", err)
		}
		if _, err := store.Get(t.Context(), key, fleet.Kubeconfig); fleet.KindOf(err) != "NotFound" {
			t.Errorf("the kubeconfig: %v, want that it is gone", err)
		}
	})
}
