package agent

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// own makes this agent the owner of the fleet, or learns that it is not. It
// returns nil when ctx ends.
func (a *Agent) own(ctx context.Context) error {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		owner, next, unsigned, err := a.claim(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.ready.Set(readyOwner, "the owner of the fleet cannot be read: "+err.Error())
			a.p.Log.Error("cannot claim the fleet, trying again", "error", err, "after", wait)
		case a.is(owner):
			a.owner.Store(&owner)
			a.ready.Set(readyOwner, "")
			a.p.Metrics.SetOwner(owner)
			a.p.Log.Info("owning the fleet", "agent", owner.Agent, "epoch", owner.Epoch, "place", owner.Place)
			a.saw(next)
			a.hold(next, next.To != "" && next.To != a.o.Name) // before the first pass: one before this may have agreed to a move
			a.status = a.ledger.Writer(owner)
			a.targets.reports.Follow(a.publishReport)
			a.reconciler = a.p.Reconciler(a.may, a.queue.Add)
			close(a.owned)
			return nil
		default:
			refusal := &NotOwnerError{Self: a.o.Name, Place: a.at, Owner: owner, Unsigned: unsigned}
			if !a.o.WaitForOwnership {
				return refusal
			}
			a.ready.Set(readyOwner, refusal.Error())
			a.p.Metrics.SetStandby()
			a.p.Log.Info("waiting for the fleet", "why", refusal.Error())
			wait = a.o.Interval
			if next.To == a.o.Name {
				a.apply(ctx, owner, next)
				wait = min(wait, hurried)
			}
		}
		if !pause(ctx, jitter(wait)) {
			return nil
		}
	}
}

// claim claims the fleet, and returns who owns it, to whom it is on its way, and whether
// that is another agent as nobody who counts signed.
func (a *Agent) claim(ctx context.Context) (owner fleet.Owner, next fleet.Succession, unsigned bool, err error) {
	there, err := a.seize(ctx)
	if err != nil {
		return fleet.Owner{}, fleet.Succession{}, false, err
	}
	owner, next, err = a.ledger.Arbiter.Succession(ctx)
	if errors.Is(err, status.ErrDistrusted) && !a.is(there) {
		return there, fleet.Succession{}, true, nil // nobody knows whether it acts, so this agent does not
	}
	return owner, next, false, err
}

// stillOwner looks whether the fleet was handed to another agent, or is to be.
// While the owner cannot be read the last answer stands: only this agent's
// consent, in owner.yaml, moves a fleet.
func (a *Agent) stillOwner(ctx context.Context) error {
	owner, next, err := a.ledger.Arbiter.Succession(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.p.Log.Warn("cannot read the owner of the fleet", "error", err)
			a.restoreOwner(ctx, err)
		}
		return nil
	}
	if err := a.judge(owner); err != nil {
		return err
	}
	return a.succeed(ctx, owner, next)
}

// restoreOwner puts back what the arbiter says of this agent, where that is not what is
// there and nobody who counts changed it.
func (a *Agent) restoreOwner(ctx context.Context, why error) {
	arbiter, can := a.ledger.Arbiter.(interface {
		Restore(ctx context.Context, of fleet.Owner) error
	})
	owner := a.owner.Load()
	if !can || owner == nil || !errors.Is(why, status.ErrDistrusted) {
		return
	}
	if err := arbiter.Restore(ctx, *owner); err != nil && ctx.Err() == nil {
		a.p.Log.Warn("cannot restore the owner of the fleet, trying again", "error", err)
	}
}

// judge takes owner for what is so. The error is a *NotOwnerError where that is
// another agent.
func (a *Agent) judge(owner fleet.Owner) error {
	if a.is(owner) {
		a.owner.Store(&owner)
		return nil
	}
	a.owner.Store(nil)
	a.p.Metrics.SetOwner(fleet.Owner{})
	return &NotOwnerError{Self: a.o.Name, Place: a.at, Owner: owner}
}

// is reports whether owner is this agent, rather than one of the same name.
func (a *Agent) is(owner fleet.Owner) bool {
	return owner.Agent == a.o.Name && owner.Place == a.at
}

// locateSelf finds out where this agent is, once.
func (a *Agent) locateSelf(ctx context.Context) error {
	if a.at != "" || a.p.Place == nil {
		return nil
	}
	at, err := a.p.Place(ctx)
	if err == nil {
		a.at = at
	}
	return err
}

// may implements the question of the reconciler: is it ours to change?
func (a *Agent) may(k fleet.Key) error {
	if a.owner.Load() == nil {
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "this agent does not own the fleet")
	}
	if a.o.Guard != nil {
		return a.o.Guard()
	}
	return nil
}
