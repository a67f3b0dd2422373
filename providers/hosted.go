package providers

import (
	"context"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// A HostedControlPlane sees to control planes that are no machines of their clusters. Which
// one a cluster has follows from the kind of its control plane: see HostedControlPlanes.
// What machines boot with there is a Distribution's, as for all clusters. It is safe for
// concurrent use.
//
// A control plane is made before what the machines of its cluster share, and deleted after
// it. Errors are *fleet.Error, as those of Infrastructure.
type HostedControlPlane interface {
	// Observe reports how the control plane of c is, all of it or an error, and changes
	// nothing anywhere. stored has what is in the secret store. One that does not answer is
	// no error: it is not ready.
	Observe(ctx context.Context, c *fleet.Cluster, stored SecretReader) (HostedObservation, error)

	// Ensure creates, repairs or upgrades it. It does not wait: Observe tells when it is
	// ready, and what Ensure would change of it. It may be repeated with the same op.
	Ensure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// Delete removes it. Nothing there is success.
	Delete(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// Settle is how long a change may take to show in Observe.
	Settle() time.Duration
}

// HostedObservation is what was seen of a hosted control plane.
type HostedObservation struct {
	State fleet.HostedState // but for Stale, which whoever compares the secrets adds
	// Secrets are what it gives: its kubeconfig, and of its authority (fleet.ClusterCA) the
	// certificate. Both are there where it is ready.
	Secrets map[fleet.SecretName]fleet.SecretData
}

// A SecretReader reads the secrets of clusters.
type SecretReader interface {
	// Get returns the secret, or an error of kind NotFound.
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)
}

// HostedControlPlanes are those that a program was built with, by the kind of the control
// plane: "ExternalControlPlane".
type HostedControlPlanes map[string]HostedControlPlane

// Of returns what sees to the control plane of c; nil where machines are it. A kind that
// none is for gives the kind Invalid.
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
