package providers

import (
	"context"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// A HostedControlPlane manages control planes that are not on machines of their clusters. The
// kind of its control plane decides which one a cluster has: see HostedControlPlanes. User data
// of machines is that of a Distribution, as for all clusters. It is safe for concurrent use.
//
// A control plane is created before the shared infrastructure of its cluster, and deleted after
// it. Errors are *fleet.Error, as those of Infrastructure.
type HostedControlPlane interface {
	// Observe reports the state of the control plane of c, all of it or an error, and changes
	// nothing. stored has the content of the secret store. A control plane that does not answer is
	// not ready, and no error.
	Observe(ctx context.Context, c *fleet.Cluster, stored SecretReader) (HostedObservation, error)

	// Ensure creates, repairs or upgrades it. It does not wait: Observe reports when it is ready,
	// and what Ensure would change. It may be repeated with the same op.
	Ensure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// Delete deletes it. It succeeds if nothing exists.
	Delete(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// Settle is the time that a change may take to show in Observe.
	Settle() time.Duration
}

// HostedObservation is the observed state of a hosted control plane.
type HostedObservation struct {
	State fleet.HostedState // but for Stale, which the code that compares the secrets adds
	// Secrets are those that it provides: its kubeconfig, and the certificate of its CA
	// (fleet.ClusterCA). Both exist if it is ready.
	Secrets map[fleet.SecretName]fleet.SecretData
}

// A SecretReader reads the secrets of clusters.
type SecretReader interface {
	// Get returns the secret, or an error of kind NotFound.
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)
}

// HostedControlPlanes are those of a program, by the kind of the control plane:
// "ExternalControlPlane".
type HostedControlPlanes map[string]HostedControlPlane

// Of returns the HostedControlPlane for c; nil if its control plane is on machines. For an
// unknown kind the error has the kind Invalid.
func (h HostedControlPlanes) Of(c *fleet.Cluster) (HostedControlPlane, error) {
	if c.Hosted == nil {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	if found, ok := h[c.ControlPlaneKind()]; ok {
		return found, nil
	}
	return nil, fleet.Errorf(fleet.Invalid, "find the control plane of "+c.Key.String(),
		"no kind %s of hosted control plane is built in; there are %q", c.ControlPlaneKind(), slices.Sorted(maps.Keys(h)))
}
