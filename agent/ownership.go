package agent

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// own makes this agent the owner of the fleet, or learns that it is not. It
// returns nil when ctx ends.
func (a *Agent) own(ctx context.Context) error {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		owner, err := a.ledger.Arbiter.Claim(ctx, a.o.Name)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.ready.set(readyOwner, "the owner of the fleet cannot be read: "+err.Error())
			a.p.Log.Error("cannot claim the fleet, trying again", "error", err, "after", wait)
		case owner.Agent == a.o.Name:
			a.owner.Store(&owner)
			a.ready.set(readyOwner, "")
			a.p.Metrics.Owner(owner)
			a.p.Log.Info("owning the fleet", "agent", owner.Agent, "epoch", owner.Epoch)
			a.status = a.ledger.Writer(owner)
			a.reconciler = a.p.Reconciler(a.may, a.queue.Add)
			close(a.owned)
			return nil
		default:
			refusal := &NotOwnerError{Self: a.o.Name, Owner: owner}
			if !a.o.WaitForOwnership {
				return refusal
			}
			a.ready.set(readyOwner, refusal.Error())
			a.p.Metrics.Standby()
			a.p.Log.Info("waiting for the fleet", "owner", owner.Agent, "epoch", owner.Epoch)
			wait = a.o.Interval
		}
		if !pause(ctx, jitter(wait)) {
			return nil
		}
	}
}

// stillOwner looks whether the fleet was handed to another agent. While the
// owner cannot be read the last answer stands: only this agent's consent, in
// owner.yaml, moves a fleet.
func (a *Agent) stillOwner(ctx context.Context) error {
	owner, err := a.ledger.Arbiter.Owner(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.p.Log.Warn("cannot read the owner of the fleet", "error", err)
		}
		return nil
	}
	if owner.Agent == a.o.Name {
		a.owner.Store(&owner)
		return nil
	}
	a.owner.Store(nil)
	a.p.Metrics.Owner(fleet.Owner{})
	return &NotOwnerError{Self: a.o.Name, Owner: owner}
}

// may implements the question of the reconciler: is it ours to change?
func (a *Agent) may(k fleet.Key) error {
	if a.owner.Load() != nil {
		return nil
	}
	return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "this agent does not own the fleet")
}
