package secrets

import (
	"context"
	"sync"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A Gate is a secret store that can be held as it is. The zero Gate but for its
// store is open.
type Gate struct {
	reconcile.SecretStore

	whole *Gate // that this one is a part of, and is held with

	mu  sync.RWMutex // read while something is being changed
	why string       // held, if not empty
}

var (
	_ reconcile.SharedStore  = (*Gate)(nil)
	_ reconcile.SecretKeeper = (*Gate)(nil)
	_ ownership.Secrets      = (*Gate)(nil)
)

// Hold implements ownership.Secrets.
func (g *Gate) Hold(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = why
}

// Release implements ownership.Secrets.
func (g *Gate) Release() { g.Hold("") }

// enter lets a change pass, or says why it may not. leave ends the change.
func (g *Gate) enter(op string) (leave func(), err error) {
	if g.whole != nil {
		return g.whole.enter(op)
	}
	g.mu.RLock()
	if g.why != "" {
		defer g.mu.RUnlock()
		return nil, fleet.Errorf(fleet.Unavailable, op, "%s", g.why)
	}
	return g.mu.RUnlock, nil
}

// Of implements reconcile.SharedStore. A store that has no fleets is all theirs.
func (g *Gate) Of(id fleet.ID) reconcile.SecretStore {
	if s, ok := g.SecretStore.(reconcile.SharedStore); ok {
		return &Gate{SecretStore: s.Of(id), whole: g}
	}
	return g
}

// Kept implements reconcile.SecretKeeper. Most stores hold nothing of others.
func (g *Gate) Kept(ctx context.Context, c fleet.Key) ([]fleet.SecretName, error) {
	if s, ok := g.SecretStore.(reconcile.SecretKeeper); ok {
		return s.Kept(ctx, c)
	}
	return nil, nil
}

// Create implements reconcile.SecretStore.
func (g *Gate) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	leave, err := g.enter("store secret " + string(name) + " of cluster " + c.String())
	if err != nil {
		return nil, err
	}
	defer leave()
	return g.SecretStore.Create(ctx, c, name, d)
}

// Replace implements reconcile.SecretStore.
func (g *Gate) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	leave, err := g.enter("replace secret " + string(name) + " of cluster " + c.String())
	if err != nil {
		return err
	}
	defer leave()
	return g.SecretStore.Replace(ctx, c, name, d)
}

// Delete implements reconcile.SecretStore.
func (g *Gate) Delete(ctx context.Context, c fleet.Key) error {
	leave, err := g.enter("delete the secrets of cluster " + c.String())
	if err != nil {
		return err
	}
	defer leave()
	return g.SecretStore.Delete(ctx, c)
}
