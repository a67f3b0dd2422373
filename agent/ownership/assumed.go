package ownership

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/agent/loop/begin"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// pushDeadline bounds the push of a start: a push that is not answered is repeated.
const pushDeadline = 2 * time.Minute

// beginBounded begins for the owner of, if the server accepts the push in time.
func (c *Claim) beginBounded(ctx context.Context, b Beginner, of fleet.Owner) (fleet.Owner, fleet.Succession, error) {
	ctx, cancel := context.WithTimeout(ctx, pushDeadline)
	defer cancel()
	return b.Begin(ctx, of)
}

// unpushedFor returns for how long the server accepted no push of this start, while owner stayed
// the same. It is 0 if err does not say so. A refusal of rights, or for a reason that is not known, which may be one,
// counts only for an agent whose replicas elect a leader: a copy of an agent that may only read is refused as well,
// while the agent itself runs.
func (c *Claim) unpushedFor(owner fleet.Owner, err error) time.Duration {
	_, push := errors.AsType[*status.PushError](err)
	elected := c.o.Guard != nil
	counts := false
	switch fleet.KindOf(err) {
	case fleet.Unavailable, fleet.Unanswered:
		counts = true
	case fleet.Exhausted:
		counts = push
	case fleet.Unauthorized, fleet.Unknown, fleet.NotFound:
		counts = push && elected
	}
	if !counts || elected && c.o.Guard() != nil {
		c.unpushed = unpushed{}
		return 0
	}
	if c.unpushed.owner != owner {
		c.unpushed = unpushed{owner, time.Now()}
	}
	return time.Since(c.unpushed.since)
}

// assume makes this process the one that acts for the owner that was read, without a push.
func (c *Claim) assume(ctx context.Context, was begin.Ownership) *begin.Ownership {
	b, ok := c.branch().(Beginner)
	if !ok {
		return &begin.Ownership{Err: was.Err}
	}
	c.p.Log.Error("the status branch can be read and accepts no push: owning the fleet before it is written which process acts", "error", was.Err)
	now := begin.Ownership{Begun: true}
	now.Owner, now.Next, now.Err = b.Assume(ctx, was.Owner)
	if now.Err == nil {
		c.mu.Lock()
		c.assumed = time.Now()
		c.mu.Unlock()
	}
	return &now
}

// settleDeadline bounds one attempt to write which process acts. A poll waits for it.
const settleDeadline = 30 * time.Second

// settle writes which process acts, if no push said so yet.
func (c *Claim) settle(ctx context.Context) {
	c.mu.Lock()
	assumed := !c.assumed.IsZero()
	c.mu.Unlock()
	b, ok := c.branch().(Beginner)
	if !ok || !assumed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleDeadline)
	defer cancel()
	if err := b.Settle(ctx); err != nil {
		c.p.Log.Warn("cannot write which process acts for the fleet, trying again", "error", err)
		return
	}
	c.p.Log.Info("the status branch accepts pushes again, and says that this process acts for the fleet")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.assumed = time.Time{}
}
