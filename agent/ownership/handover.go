package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/agent/loop/backoff"
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
// the status that waits. While the owner cannot be read, or is older than what was read
// before, the last answer counts. A *NotOwnerError says that another agent or another process
// acts for the fleet.
func (c *Claim) Check(ctx context.Context, flush func(context.Context) error) error {
	c.settle(ctx)
	owner, next, err := c.branch().Succession(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.p.Log.Warn("cannot read the owner of the fleet", "error", err)
			c.restore(ctx, err)
		}
		return nil
	}
	if c.isStale(owner) {
		c.p.Log.Warn("status branch has an older owner, keeping the newer one", "agent", owner.Agent, "epoch", owner.Epoch)
		return nil
	}
	if err := c.accept(owner); err != nil {
		return err
	}
	return c.advance(ctx, owner, next, flush)
}

// restoreDeadline bounds one attempt to restore the owner: a server that lags behind cannot
// be written to by what it answers.
const restoreDeadline = 10 * time.Second

// restore writes again that this agent is the owner, if owner.yaml is gone, was put back to
// an older state, or was changed without a trusted key.
func (c *Claim) restore(ctx context.Context, why error) {
	arbiter, can := c.branch().(Restorer)
	owner, owned := c.Owner()
	if !can || !owned || !errors.Is(why, status.ErrDistrusted) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, restoreDeadline)
	defer cancel()
	if err := arbiter.Restore(ctx, owner); err != nil {
		c.p.Log.Warn("cannot restore the owner of the fleet, retrying", "error", err)
		return
	}
	c.p.Log.Warn("owner of the fleet written again", "reason", why)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restored = restored{time.Now(), fleet.OneLine(why)}
}

// isStale reports whether owner is of an earlier time than what this agent read or wrote
// before. A server that lags behind gives such an answer.
func (c *Claim) isStale(owner fleet.Owner) bool {
	was, _ := c.Owner()
	return owner.Epoch < was.Epoch || owner.Epoch == was.Epoch && c.isSelf(owner) && owner.Incarnation < was.Incarnation
}

// accept stores who owns the fleet. It returns a *NotOwnerError for another agent, and for
// another process of this one.
func (c *Claim) accept(owner fleet.Owner) error {
	was, _ := c.Owner()
	if c.isSelf(owner) && owner.Incarnation == was.Incarnation && !isTwin(owner, was) {
		c.setOwner(owner)
		return nil
	}
	c.mu.Lock()
	c.owner, c.owned = owner, false
	c.mu.Unlock()
	c.p.Metrics.SetOwner(fleet.Owner{})
	return &NotOwnerError{Self: c.o.Self, Place: c.placeOfSelf(), Incarnation: was.Incarnation, Twin: isTwin(owner, was), Owner: owner}
}

// isTwin reports whether two processes have the same number: the status branch was put back to an
// earlier state, or damaged, before the second one began.
func isTwin(a, b fleet.Owner) bool { return a.Incarnation == b.Incarnation && a.Process != b.Process }

// advance does the owner's next step of a succession.
func (c *Claim) advance(ctx context.Context, owner fleet.Owner, next fleet.Succession, flush func(context.Context) error) error {
	c.setSuccession(next)
	c.freezeSecrets(next) // also of an owner that starts during a move
	if !c.movesAway(next) {
		return nil
	}
	if c.overdue(next) {
		c.p.Log.Warn("withdrawing the stalled hand-over", "to", next.To, "step", string(next.Step))
		if err := c.branch().Succeed(ctx, owner, next, fleet.Succession{}); err != nil && ctx.Err() == nil {
			c.p.Log.Warn("cannot withdraw the hand-over, retrying", "error", err)
		}
		return nil
	}
	switch next.Step {
	case fleet.StepAsked:
		// Passes that began before store secrets yet.
		if err := c.passes.Acquire(ctx, allPasses); err != nil {
			return nil // ctx ended
		}
		c.freezeSecrets(next) // a pass that began before may have ended that
		c.passes.Release(allPasses)
		c.p.Log.Info("agreeing to hand the fleet over, storing no secrets meanwhile", "to", next.To)
		if err := c.branch().Succeed(ctx, owner, next, next.At(fleet.StepGranted)); err != nil && ctx.Err() == nil {
			c.p.Log.Warn("cannot agree to hand the fleet over, retrying", "error", err)
		}
	case fleet.StepReady:
		return c.handOver(ctx, owner, next, flush)
	}
	return nil
}

// grantLasts is how long the owner waits for the next step of a succession that it agreed
// to. No secret is stored meanwhile. A mover that is still there asks again.
const grantLasts = 6 * time.Hour

// overdue reports whether next waits for another agent for too long.
func (c *Claim) overdue(next fleet.Succession) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (next.Step == fleet.StepGranted || next.Step == fleet.StepMoved) && time.Since(c.since) >= grantLasts
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
		c.p.Log.Warn("the last status before the hand-over is not written yet, retrying", "error", err)
		return nil
	}
	switch now, err := c.branch().Yield(ctx, owner, next); {
	case err == nil: // the push was confirmed: no read says more
		return c.accept(now)
	case ctx.Err() == nil:
		c.p.Log.Warn("hand-over not confirmed, reading the owner of the fleet", "error", err)
	}
	for failures := newBackoff(); ctx.Err() == nil; {
		now, after, err := c.branch().Succession(ctx)
		if err == nil {
			c.setSuccession(after)
			return c.accept(now)
		}
		wait := failures.Step()
		c.p.Log.Warn("cannot read the owner of the fleet, not acting until it is readable", "error", err, "after", wait)
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
		c.next, c.since = fleet.Succession{}, time.Now()
	}
}

// prepare does the successor's part: when the secrets are here, it rehearses, and writes on
// the branch that it is ready, or why not.
func (c *Claim) prepare(ctx context.Context, owner fleet.Owner, next fleet.Succession, r *rehearsal) {
	if next.Step != fleet.StepMoved {
		return
	}
	c.p.Log.Info("observing every cluster before acquiring ownership", "from", owner.Agent)
	answer := next.At(fleet.StepReady)
	answer.Place = c.placeOfSelf()
	if err := r.run(ctx, next); err != nil {
		c.p.Log.Warn("not ready to acquire ownership", "error", err)
		answer = next
		answer.Message = fleet.OneLine(err)
	}
	if ctx.Err() != nil || answer == next {
		return
	}
	if err := c.branch().Succeed(ctx, owner, next, answer); err != nil && ctx.Err() == nil {
		c.p.Log.Warn("cannot record that this agent is ready, retrying", "error", err)
	}
}
