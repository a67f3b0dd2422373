package pivot

import (
	"context"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A snapshot is a secrets.Store that reads the secrets of clusters once, at the beginning,
// since each of them is compared several times. Writes go to the Store, and show in the
// next snapshot.
type snapshot struct {
	secrets.Store
	of reconcile.StoredSecrets
}

// takeSnapshot returns a snapshot of the secrets that s has of clusters.
func takeSnapshot(ctx context.Context, s secrets.Store, clusters []fleet.Key) (*snapshot, error) {
	of, err := reconcile.SecretsOf(ctx, s, clusters)
	if err != nil {
		return nil, err
	}
	return &snapshot{s, of}, nil
}

// takeSnapshots returns snapshots of two stores.
func takeSnapshots(ctx context.Context, a, b secrets.Store, clusters []fleet.Key) (*snapshot, *snapshot, error) {
	x, err := takeSnapshot(ctx, a, clusters)
	if err != nil {
		return nil, nil, err
	}
	y, err := takeSnapshot(ctx, b, clusters)
	return x, y, err
}

// Get implements secrets.Store.
func (s *snapshot) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	of, ok := s.of[c]
	if !ok {
		return s.Store.Get(ctx, c, name)
	}
	stored, ok := of[name]
	if !ok {
		return nil, fleet.Errorf(fleet.NotFound, "get secret "+string(name)+" of cluster "+c.String(), "it is not stored")
	}
	return stored.Data, stored.Err
}

// Kept implements reconcile.SecretKeeper.
func (s *snapshot) Kept(_ context.Context, c fleet.Key) ([]fleet.SecretName, error) {
	var kept []fleet.SecretName
	for name, stored := range s.of[c] {
		if stored.Kept {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// ownerOf returns s as a secrets.Owner, if it is one.
func ownerOf(s secrets.Store) (secrets.Owner, bool) {
	if of, ok := s.(*snapshot); ok {
		s = of.Store
	}
	d, ok := s.(secrets.Owner)
	return d, ok
}
