package wiring

import (
	"context"
	"path"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// A Lease is what replicas elect their leader by.
type Lease struct{ Namespace, Name string }

// place returns what says where an agent is that keeps secrets in store: see
// fleet.Owner. Of several agents in one namespace each has a Lease of its own.
// A store in memory is none that an agent could come back to.
func (s Settings) place(store secrets.Store) func(context.Context) (string, error) {
	switch store := store.(type) {
	case *secrets.File:
		return store.Place
	case *secrets.Kubernetes:
		return func(ctx context.Context) (string, error) {
			p, err := store.Place(ctx, s.Lease.Namespace)
			if err != nil {
				return "", err
			}
			return path.Join(p, s.Lease.Name), nil
		}
	}
	return nil
}

// livesIn returns a function that reports whether store is in a cluster of the fleet itself.
func livesIn(store secrets.Store) func(context.Context, fleet.Key) (bool, error) {
	if k, ok := store.(*secrets.Kubernetes); ok {
		return k.Within
	}
	return nil
}
