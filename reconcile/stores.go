package reconcile

import (
	"context"

	"fairlead.dev/fleet"
)

// A SecretStore keeps what may not be kept in Git. It is durable, and safe for
// concurrent use.
type SecretStore interface {
	// Get returns the secret, or an error of kind NotFound.
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)

	// Create stores d where nothing is stored yet, and returns what is stored
	// then: two agents that race get the same CA certificates.
	Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error)

	// Replace stores d over anything that was there. CA certificates are replaced by
	// their rotation alone.
	Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error

	// Delete removes all secrets of a cluster. None there is success.
	Delete(ctx context.Context, c fleet.Key) error
}

// A SharedStore is a SecretStore that several fleets may use.
type SharedStore interface {
	SecretStore

	// Of returns the store as that fleet uses it: what it stores is marked as the
	// fleet's, and what is marked as another fleet's gives the kind Conflict.
	Of(fleet.ID) SecretStore
}

// A SecretKeeper is a SecretStore that may hold what people brought.
type SecretKeeper interface {
	// Kept returns which secrets of a cluster Delete leaves, being people's own.
	Kept(ctx context.Context, c fleet.Key) ([]fleet.SecretName, error)
}
