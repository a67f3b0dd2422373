package agent

import (
	"context"

	"fairlead.dev/agent/desired"
	"fairlead.dev/agent/scales"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// decisions is what requests and numbers of machines have the fleet decided by.
type decisions struct{ *Agent }

// Now implements requests.Fleet and scales.Fleet.
func (a decisions) Now() rollout.State { return a.targets.decided() }

// Decide implements requests.Fleet and scales.Fleet.
func (a decisions) Decide(in rollout.Input) rollout.Decision {
	return a.session.Load().decide(in, a.queue.Add)
}

// Report implements requests.Fleet and scales.Fleet.
func (a decisions) Report(k fleet.Key) (fleet.Report, bool) { return a.targets.reports.Last(k) }

// initialState returns what is decided before the first revision: what s, which the status
// branch says, comes to, and what people asked for.
func (a *session) initialState(ctx context.Context, s status.Status) (rollout.State, error) {
	in := rollout.Input{Before: desired.Recorded(s)}
	if a.requests != nil {
		q, err := a.requests.Read(ctx)
		if err != nil {
			return rollout.State{}, err
		}
		in.Requests = &q
	}
	if a.scales != nil {
		n, err := a.scales.Read(ctx)
		if err != nil {
			return rollout.State{}, err
		}
		in.Sizes = &n
	}
	return rollout.Decide(in).State, nil
}

// pollRequests answers what people ask for, where the fleet is ours.
func (a *session) pollRequests(ctx context.Context) {
	if owner, owned := a.claim.Owner(); owned && a.requests != nil {
		a.requests.Poll(ctx, owner)
	}
}

// pollScales takes in numbers of machines, where the fleet is ours.
func (a *session) pollScales(ctx context.Context) {
	if owner, owned := a.claim.Owner(); owned && a.scales != nil {
		a.scales.Poll(ctx, owner)
	}
}

// firstSizes writes down how many machines the pools of c have that nobody scaled yet.
func (a *session) firstSizes(ctx context.Context, c *fleet.Cluster, report fleet.Report) {
	if owner, owned := a.claim.Owner(); owned && a.scales != nil && a.o.Only == (fleet.Key{}) {
		a.scales.First(ctx, owner, c, report)
	}
}

// Scalable returns the cluster called k as the last pass saw it. The error is of
// kind NotFound where the fleet has no such cluster, and Unavailable where
// nothing is known of it yet.
func (a *Agent) Scalable(k fleet.Key) (fleet.Scalable, error) {
	return scales.Scalable(decisions{a}, k)
}

// Scale has change decide on a pool, given the cluster as it is, and writes the
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

// recordOf returns what the status branch says of cluster k; zero: nothing.
func (a *session) recordOf(ctx context.Context, k fleet.Key) (fleet.Report, error) {
	c, _, err := a.branch.ReadCluster(ctx, k)
	return c.Report, err
}
