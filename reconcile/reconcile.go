// Package reconcile makes passes over one cluster: look, decide, do, report.
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
	// then: two agents that race get the same authorities.
	Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error)

	// Replace stores d, whatever was there. Authorities are never replaced.
	Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error

	// Delete removes all secrets of a cluster. None there is success.
	Delete(ctx context.Context, c fleet.Key) error
}
