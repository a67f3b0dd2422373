package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// handOverInterval is the poll interval during a succession.
const handOverInterval = 3 * time.Second

// newBackoff is the wait after failed calls of the status branch.
func newBackoff() *wait.Backoff { return backoff.New(time.Second, time.Minute) }

// Interval returns the time until the next poll.
func (c *Claim) Interval() time.Duration {
	if c.succession() != (fleet.Succession{}) {
		return min(c.o.Interval, handOverInterval)
	}
	return c.o.Interval
}

// Check reads who owns the fleet, and does the owner's part of a succession. flush writes
// the status that waits. While the owner cannot be read, the last answer counts. A
// *NotOwnerError says that another agent owns the fleet.
func (c *Claim) Check(ctx context.Context, flush func(context.Context) error) error {
	owner, next, err := c.branch().Succession(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.p.Log.Warn("cannot read the owner of the fleet", "error", err)
			c.restore(ctx, err)
		}
		return nil
	}
	if err := c.accept(owner); err != nil {
		return err
	}
	return c.advance(ctx, owner, next, flush)
}

// restore writes again that this agent is the owner, where owner.yaml was changed without a
// trusted key.
func (c *Claim) restore(ctx context.Context, why error) {
	arbiter, can := c.branch().(Restorer)
	owner, owned := c.Owner()
	if !can || !owned || !errors.Is(why, status.ErrDistrusted) {
		return
	}
	if err := arbiter.Restore(ctx, owner); err != nil && ctx.Err() == nil {
		c.p.Log.Warn("cannot restore the owner of the fleet, trying again", "error", err)
	}
}

// accept stores who owns the fleet. It returns a *NotOwnerError for another agent.
func (c *Claim) accept(owner fleet.Owner) error {
	if c.isSelf(owner) {
		c.setOwner(owner)
		return nil
	}
	c.setOwner(fleet.Owner{})
	c.p.Metrics.SetOwner(fleet.Owner{})
	return &NotOwnerError{Self: c.o.Self, Place: c.placeOfSelf(), Owner: owner}
}

// advance does the owner's next step of a succession.
func (c *Claim) advance(ctx context.Context, owner fleet.Owner, next fleet.Succession, flush func(context.Context) error) error {
	c.setSuccession(next)
	c.freezeSecrets(next) // also of an owner that starts during a move
	if !c.movesAway(next) {
		return nil
	}
	switch next.Step {
	case fleet.StepAsked:
		c.p.Log.Info("agreeing to hand the fleet over, storing no secrets meanwhile", "to", next.To)
		if err := c.branch().Succeed(ctx, owner, next, next.At(fleet.StepGranted)); err != nil && ctx.Err() == nil {
			c.p.Log.Warn("cannot agree to hand the fleet over, trying again", "error", err)
		}
	case fleet.StepReady:
		return c.handOver(ctx, owner, next, flush)
	}
	return nil
}

// movesAway reports whether next takes the fleet from this agent.
func (c *Claim) movesAway(next fleet.Succession) bool { return next.To != "" && next.To != c.o.Self }

// freezeSecrets stops writes of secrets while next takes the fleet from this agent.
func (c *Claim) freezeSecrets(next fleet.Succession) {
	switch {
	case c.p.Secrets == nil:
	case c.movesAway(next):
		c.p.Secrets.Freeze(fmt.Sprintf("secrets are being moved to agent %q", next.To))
	default:
		c.p.Secrets.Unfreeze()
	}
}

// handOver hands the fleet over to a successor that is ready. Passes under way end before,
// and no pass begins until the owner is known: after a lost answer two agents must not act.
func (c *Claim) handOver(ctx context.Context, owner fleet.Owner, next fleet.Succession, flush func(context.Context) error) error {
	c.p.Log.Info("handing the fleet over, ending passes", "to", next.To)
	if err := c.passes.Acquire(ctx, allPasses); err != nil {
		return nil // ctx ended
	}
	defer c.passes.Release(allPasses)
	// The last status says what the next owner has to clear.
	if err := flush(ctx); err != nil {
		c.p.Log.Warn("the last status before the hand-over is not written yet, trying again", "error", err)
		return nil
	}
	if _, err := c.branch().Yield(ctx, owner, next); err != nil && ctx.Err() == nil {
		c.p.Log.Warn("the hand-over was not confirmed, looking who owns the fleet", "error", err)
	}
	for failures := newBackoff(); ctx.Err() == nil; {
		now, after, err := c.branch().Succession(ctx)
		if err == nil {
			c.setSuccession(after)
			return c.accept(now)
		}
		wait := failures.Step()
		c.p.Log.Warn("cannot read the owner of the fleet, doing nothing until then", "error", err, "after", wait)
		backoff.Sleep(ctx, wait)
	}
	return nil
}

// ConfirmHandOver ends a succession to this agent after its first pass as the owner. Where
// several passes end at once, one of them confirms.
func (c *Claim) ConfirmHandOver(ctx context.Context) {
	if !c.confirming.TryLock() {
		return
	}
	defer c.confirming.Unlock()
	owner, owned := c.Owner()
	next := c.succession()
	if !owned || next.To != c.o.Self || next.Step != fleet.StepHandedOver {
		return
	}
	if err := c.branch().Succeed(ctx, owner, next, fleet.Succession{}); err != nil {
		// After a conflict the next poll reads a newer succession.
		if ctx.Err() == nil && fleet.KindOf(err) != fleet.Conflict {
			c.p.Log.Warn("cannot confirm the hand-over, trying again with the next pass", "error", err)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == next {
		c.next = fleet.Succession{}
	}
}

// prepare does the successor's part: when the secrets are here, it rehearses, and writes on
// the branch that it is ready, or why not.
func (c *Claim) prepare(ctx context.Context, owner fleet.Owner, next fleet.Succession, r *rehearsal) {
	if next.Step != fleet.StepMoved {
		return
	}
	c.p.Log.Info("looking at every cluster before taking the fleet", "from", owner.Agent)
	answer := next.At(fleet.StepReady)
	answer.Place = c.placeOfSelf()
	if err := r.run(ctx, next); err != nil {
		c.p.Log.Warn("not ready to take the fleet", "error", err)
		answer = next
		answer.Message = fleet.OneLine(err)
	}
	if ctx.Err() != nil || answer == next {
		return
	}
	if err := c.branch().Succeed(ctx, owner, next, answer); err != nil && ctx.Err() == nil {
		c.p.Log.Warn("cannot say that this agent is ready, trying again", "error", err)
	}
}
