package secrets

import (
	"context"
	"sync"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A FreezableStore is a secret store whose writes can be stopped while it is copied. Its
// zero value, but for the store, is not frozen.
type FreezableStore struct {
	reconcile.SecretStore

	parent *FreezableStore // the store that this one is a part of, and is frozen with

	mu     sync.RWMutex // read-locked while something is being changed
	frozen string       // why writes are refused; empty: they are not
}

var (
	_ reconcile.SharedStore  = (*FreezableStore)(nil)
	_ reconcile.SecretKeeper = (*FreezableStore)(nil)
	_ ownership.Secrets      = (*FreezableStore)(nil)
)

// Freeze implements ownership.Secrets.
func (g *FreezableStore) Freeze(frozen string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frozen = frozen
}

// Unfreeze implements ownership.Secrets.
func (g *FreezableStore) Unfreeze() { g.Freeze("") }

// beginWrite lets a write begin, or returns why it is refused. end ends the write.
func (g *FreezableStore) beginWrite(op string) (end func(), err error) {
	if g.parent != nil {
		return g.parent.beginWrite(op)
	}
	g.mu.RLock()
	if g.frozen != "" {
		defer g.mu.RUnlock()
		return nil, fleet.Errorf(fleet.Unavailable, op, "%s", g.frozen)
	}
	return g.mu.RUnlock, nil
}

// Of implements reconcile.SharedStore. A store without fleets belongs to the fleet as a whole.
func (g *FreezableStore) Of(id fleet.ID) reconcile.SecretStore {
	if s, ok := g.SecretStore.(reconcile.SharedStore); ok {
		return &FreezableStore{SecretStore: s.Of(id), parent: g}
	}
	return g
}

// Kept implements reconcile.SecretKeeper. Most stores have no secrets of others.
func (g *FreezableStore) Kept(ctx context.Context, c fleet.Key) ([]fleet.SecretName, error) {
	if s, ok := g.SecretStore.(reconcile.SecretKeeper); ok {
		return s.Kept(ctx, c)
	}
	return nil, nil
}

// Create implements reconcile.SecretStore.
func (g *FreezableStore) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	end, err := g.beginWrite("store secret " + string(name) + " of cluster " + c.String())
	if err != nil {
		return nil, err
	}
	defer end()
	return g.SecretStore.Create(ctx, c, name, d)
}

// Replace implements reconcile.SecretStore.
func (g *FreezableStore) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	end, err := g.beginWrite("replace secret " + string(name) + " of cluster " + c.String())
	if err != nil {
		return err
	}
	defer end()
	return g.SecretStore.Replace(ctx, c, name, d)
}

// Delete implements reconcile.SecretStore.
func (g *FreezableStore) Delete(ctx context.Context, c fleet.Key) error {
	end, err := g.beginWrite("delete the secrets of cluster " + c.String())
	if err != nil {
		return err
	}
	defer end()
	return g.SecretStore.Delete(ctx, c)
}
