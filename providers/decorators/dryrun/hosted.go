package dryrun

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A plane refuses every change of a hosted control plane.
type plane struct{ providers.HostedControlPlane }

// Ensure implements providers.HostedControlPlane.
func (plane) Ensure(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	return refuse("create or change the control plane of " + c.Key.String())
}

// Delete implements providers.HostedControlPlane.
func (plane) Delete(_ context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	return refuse("delete the control plane of " + c.Key.String())
}

// ControlPlanes returns all with their changes refused. Those that are TokenSources stay so.
func ControlPlanes(all providers.HostedControlPlanes) providers.HostedControlPlanes {
	out := make(providers.HostedControlPlanes, len(all))
	for kind, p := range all {
		if tokens, ok := p.(providers.TokenSource); ok {
			out[kind] = struct {
				plane
				providers.TokenSource
			}{plane{p}, tokens}
		} else {
			out[kind] = plane{p}
		}
	}
	return out
}
