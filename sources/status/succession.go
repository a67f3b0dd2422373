package status

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
)

// Succession implements sources.Arbiter.
func (a *Arbiter) Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error) {
	_, t, err := a.branch.Read(ctx)
	if err != nil {
		return fleet.Owner{}, fleet.Succession{}, err
	}
	r, distrust, err := a.read(t)
	if distrust != nil {
		return fleet.Owner{}, fleet.Succession{}, distrust
	}
	return r.owner, r.next, err
}

// Succeed implements sources.Arbiter.
func (a *Arbiter) Succeed(ctx context.Context, of fleet.Owner, from, to fleet.Succession) error {
	op := "change the succession of " + of.Agent
	if to != (fleet.Succession{}) {
		if err := checkSuccession(to); err != nil {
			return fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
	}
	_, err := a.change(ctx, op, fail, func(now ownership, mayHave bool) (ownership, string, error) {
		switch {
		case now.owner == of && now.next == to && (mayHave || from == to):
			return now, "", nil // the push that was not answered did land
		case now.owner != of || now.next != from:
			return ownership{}, "", moved(op, now)
		}
		return ownership{owner: of, next: to}, headlineOf(of, from, to), nil
	})
	return err
}

// Yield implements sources.Arbiter.
func (a *Arbiter) Yield(ctx context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error) {
	op := fmt.Sprintf("hand the fleet over from %s to %s", of.Agent, s.To)
	if s.Step != fleet.StepReady {
		return fleet.Owner{}, fleet.Errorf(fleet.Invalid, op, "%s is not ready", s.To)
	}
	next := ownership{owner: fleet.Owner{Agent: s.To, Epoch: of.Epoch + 1, Place: s.Place, Incarnation: of.Incarnation, Process: of.Process}, next: s.At(fleet.StepHandedOver)}
	r, err := a.change(ctx, op, fail, func(now ownership, mayHave bool) (ownership, string, error) {
		switch {
		case now.owner == next.owner && mayHave:
			return now, "", nil // the push that was not answered did land
		case now.owner != of || now.next != s:
			return ownership{}, "", moved(op, now)
		}
		return next, passing(of, next.owner), nil
	})
	return r.owner, err
}

func moved(op string, now ownership) error {
	return fleet.Errorf(fleet.Conflict, op, "the owner is %q with epoch %d, its successor %q at step %q",
		now.owner.Agent, now.owner.Epoch, now.next.To, now.next.Step)
}

// headlineOf says what a change of a succession is, for the commit.
func headlineOf(of fleet.Owner, from, to fleet.Succession) string {
	switch {
	case to == (fleet.Succession{}) && from.Step == fleet.StepHandedOver:
		return fmt.Sprintf("owner: %s acts (epoch %d)", of.Agent, of.Epoch)
	case to == (fleet.Succession{}):
		return fmt.Sprintf("successor: %s withdrawn, %s stays", from.To, of.Agent)
	}
	switch to.Step {
	case fleet.StepAsked:
		return fmt.Sprintf("successor: %s is asked to hand the fleet over to %s", of.Agent, to.To)
	case fleet.StepGranted:
		return fmt.Sprintf("successor: %s agrees, and stores no secrets meanwhile", of.Agent)
	case fleet.StepMoved:
		if to.Message != "" {
			return fmt.Sprintf("successor: %s is not ready", to.To)
		}
		return "successor: the secrets are with " + to.To
	}
	return fmt.Sprintf("successor: %s is ready", to.To)
}
