package agent

import (
	"context"

	"fairlead.dev/agent/inputs/scales"
	"fairlead.dev/fleet"
)

// Scalable returns the cluster called k as the last pass saw it. The error is of
// kind NotFound where the fleet has no such cluster, and Unavailable where
// nothing is known of it yet.
func (a *Agent) Scalable(k fleet.Key) (fleet.Scalable, error) {
	return scales.Scalable(a.decisions, k)
}

// Scale has change decide on a pool, given the present cluster, and records the
// number down as a commit on the status branch. One decision is taken after the
// other. Where change returns what is so already nothing is written.
func (a *Agent) Scale(ctx context.Context, k fleet.Key, change func(fleet.Scalable) (fleet.Scale, error)) error {
	owner, owned := a.claim.Owner()
	s := a.session.Load()
	if !owned || s == nil || s.scales == nil {
		return fleet.Errorf(fleet.Unavailable, "scale cluster "+k.String(), "this agent does not own the fleet")
	}
	return s.scales.Scale(ctx, owner, k, change)
}
