package secrets

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// A Store keeps the secrets of clusters, and Secrets that people give for
// the use of providers. What some stores can do beside that are the interfaces below, and
// reconcile.SharedStore, SecretKeeper and SecretLister: a Store that has one implements it.
type Store interface {
	reconcile.SecretStore

	// GetSecret returns the Secret k, or an error of kind NotFound.
	GetSecret(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	// SetSecret stores the Secret k, whatever was there.
	SetSecret(ctx context.Context, k fleet.Key, d fleet.SecretData) error
	// DeleteSecret removes the Secret k. Nothing there is success.
	DeleteSecret(ctx context.Context, k fleet.Key) error
	// ListSecrets returns the keys of the Secrets that SetSecret stored, sorted.
	ListSecrets(ctx context.Context) ([]fleet.Key, error)
	// FilterSecrets returns those of keys that ListSecrets would return, sorted. It
	// needs no right to list.
	FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error)
}

// An Owner is the ability of a Store that has secrets of several fleets.
type Owner interface {
	// Owns reports whether the Secret k was stored for the fleet of the Store. A Secret that
	// was stored for none may be used by another fleet.
	Owns(ctx context.Context, k fleet.Key) (bool, error)
}

// A Locator is the ability of a Store that knows which one it is.
type Locator interface {
	// Location is the same for two Stores that are one, and for no others. The kind
	// Unauthorized says that it cannot be told.
	Location(ctx context.Context) (string, error)
}

// An Adopter is the ability of a Store in which Cluster API may have put the secrets: one in
// the management cluster.
type Adopter interface {
	// Adopt makes a secret of a cluster the fleet's own: no object of Cluster API
	// owns it, and no other fleet may use it. It may be repeated.
	Adopt(ctx context.Context, c fleet.Key, name fleet.SecretName) error
	// Release lets others use it again. A secret that is not there is left.
	Release(ctx context.Context, c fleet.Key, name fleet.SecretName) error
	// AdoptSecret has no object of Cluster API own the Secret k.
	AdoptSecret(ctx context.Context, k fleet.Key) error
}

var (
	_ Store = (*File)(nil)
	_ Store = (*Memory)(nil)
	_ Store = (*Kubernetes)(nil)

	_ Locator = (*File)(nil)
	_ Locator = (*Kubernetes)(nil)
	_ Owner   = (*Kubernetes)(nil)
	_ Adopter = (*Kubernetes)(nil)
)

// OfFleet returns what of store is the fleet's. A store that has no fleets is all
// theirs.
func OfFleet(store Store, id fleet.ID) Store {
	if shared, ok := store.(reconcile.SharedStore); ok {
		if part, ok := shared.Of(id).(Store); ok {
			return part
		}
	}
	return store
}
