package ownership

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/loop/begin"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// Options say which agent claims a fleet, and how.
type Options struct {
	Self     string        // name of this agent, as owner.yaml has it
	Interval time.Duration // between polls
	// Wait lets an agent that does not own the fleet wait until it does.
	Wait bool
	// TakeOver, if not zero, is an owner that is gone. If that owner, with that epoch,
	// still owns the fleet, this agent becomes the owner without asking it.
	TakeOver fleet.Owner
	// Guard, if not nil, returns why this process may not act: another replica of the agent
	// is the leader now.
	Guard func() error
}

// Parts are what a Claim works with. Those marked so may be nil.
type Parts struct {
	// Place returns where the agent keeps its secrets. No other agent has the same: see
	// fleet.Owner. Nil: agents differ by name alone.
	Place func(ctx context.Context) (string, error)
	// Secrets are frozen while the fleet is handed over. Nil: nothing is frozen.
	Secrets Secrets
	// Newest renders the newest revision.
	Newest func(ctx context.Context) (fleet.Fleet, error)
	// Looker returns the Looker for a rehearsal. Nil: a successor does not look at
	// clusters.
	Looker func() Looker
	// Metrics show who owns the fleet.
	Metrics Metrics
	// Ready is called with the reason why the fleet is not owned, or with an empty reason
	// when it is.
	Ready func(reason string)
	Log   *slog.Logger
}

// Metrics show who owns the fleet.
type Metrics interface {
	SetOwner(fleet.Owner) // zero: another agent
	SetStandby()
	SetPushError(error) // why the fleet cannot be claimed; nil: it can
}

// Secrets are a store whose writes can be stopped while it is copied.
type Secrets interface {
	// Freeze waits for writes under way, and refuses others from then on. Reads go on.
	Freeze(why string)
	// Unfreeze allows writes again.
	Unfreeze()
}

// A Branch is the part of the status branch that a Claim needs.
type Branch struct {
	Arbiter sources.Arbiter
	Read    func(ctx context.Context) (status.Status, error)
	// Moved returns an error that wraps status.ErrMoved if the status was moved to another branch,
	// and another error if it is not known. Nil: it never is.
	Moved func(ctx context.Context) error
}

// A Restorer is an Arbiter that can write the owner again after somebody without a trusted
// key changed it.
type Restorer interface {
	Restore(ctx context.Context, of fleet.Owner) error
}

// A Claim is the claim of one agent to a fleet. It is safe for concurrent use.
type Claim struct {
	o Options
	p Parts

	// passes has a unit for each pass under way. A hand-over acquires all units.
	passes *semaphore.Weighted

	confirming sync.Mutex         // held while a hand-over to this agent is confirmed
	reads      singleflight.Group // changes that begin at the same time share one read of the owner

	mu      sync.Mutex
	arbiter sources.Arbiter
	place   string           // of this agent; empty: not known yet
	owned   bool             // this agent owns the fleet
	owner   fleet.Owner      // this agent with its process, as last read or written; zero: it never owned the fleet
	next    fleet.Succession // under way; zero: none
	since   time.Time        // that next is the same
	readAt  time.Time        // that the owner was last read

	restored restored
	assumed  time.Time // that this process owned the fleet before a push said so; zero: a push said so

	unpushed unpushed // of Acquire
}

// unpushed is a start that the server accepts no push of.
type unpushed struct {
	owner fleet.Owner
	since time.Time
}

// allPasses is more than the number of workers.
const allPasses = 1 << 30

// New returns a claim that does not own the fleet yet.
func New(o Options, p Parts) *Claim {
	return &Claim{o: o, p: p, passes: semaphore.NewWeighted(allPasses)}
}

// Owner returns the owner in owner.yaml, and whether that is this agent.
func (c *Claim) Owner() (fleet.Owner, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner, c.owned
}

// May returns why this agent may not change cluster k now, by what was last read.
func (c *Claim) May(k fleet.Key) error {
	if _, owned := c.Owner(); !owned {
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "this agent does not own the fleet")
	}
	if c.o.Guard != nil {
		return c.o.Guard()
	}
	return nil
}

const (
	// fresh is how old the last read of the owner may be when a change begins.
	fresh = 2 * time.Second
	// confirmDeadline bounds a read before a change, and unconfirmed is how long a branch
	// that could not be read is left alone then.
	confirmDeadline, unconfirmed = 5 * time.Second, 30 * time.Second
)

// MayAct is May for a change that begins now: it reads the owner again if the last read is
// old, so that a process does not act after another one began. If the owner cannot be read,
// the last answer counts. For no cluster it is May: what is asked again and again, as whether a
// leader leads, must not wait for a server.
func (c *Claim) MayAct(k fleet.Key) error {
	if err := c.May(k); err != nil || k == (fleet.Key{}) {
		return err
	}
	c.mu.Lock()
	known := time.Since(c.readAt) < fresh
	c.mu.Unlock()
	if !known {
		_, _, _ = c.reads.Do("owner", func() (any, error) { c.confirm(); return nil, nil })
	}
	return c.May(k)
}

// confirm reads whether this process still acts for the fleet.
func (c *Claim) confirm() {
	ctx, cancel := context.WithTimeout(context.Background(), confirmDeadline)
	type answer struct {
		owner fleet.Owner
		err   error
	}
	answers := make(chan answer, 1)
	go func() { // a push may hold the branch for longer than the deadline
		defer cancel()
		owner, _, err := c.branch().Succession(ctx)
		answers <- answer{owner, err}
	}()
	var owner fleet.Owner
	var err error
	select {
	case a := <-answers:
		owner, err = a.owner, a.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(err, status.ErrDistrusted) { // another process may have begun on a branch that was deleted: it has to read of this one
		restoring, cancel := context.WithTimeout(context.Background(), confirmDeadline)
		defer cancel()
		c.restore(restoring, err)
	}
	was, _ := c.Owner()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAt = time.Now()
	switch {
	case err != nil:
		c.readAt = c.readAt.Add(unconfirmed - fresh)
	case owner.Agent != was.Agent || owner.Place != was.Place && was.Place != "" || owner.Incarnation > was.Incarnation || isTwin(owner, was):
		c.owned = c.owned && (owner.Epoch < was.Epoch || owner == fleet.Owner{}) // the next poll ends this process
	}
}

// BeginPass waits until a pass may begin, and returns the function that ends it. It fails
// only with ctx.
func (c *Claim) BeginPass(ctx context.Context) (end func(), err error) {
	if err := c.passes.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { c.passes.Release(1) }, nil
}

// A Beginner is an Arbiter that tells the processes of one agent apart.
type Beginner interface {
	// Begin makes this process the one that acts for the owner of, and returns the owner with
	// the number of the process, and the succession under way.
	Begin(ctx context.Context, of fleet.Owner) (fleet.Owner, fleet.Succession, error)
	// Assume returns what Begin would, without a push. From then on the branch is read as if
	// it had been written, as long as nothing else changes there.
	Assume(ctx context.Context, of fleet.Owner) (fleet.Owner, fleet.Succession, error)
	// Settle writes what Assume returned. It does nothing if that is written.
	Settle(ctx context.Context) error
}

// Acquire makes this agent the owner of the fleet, and this process the one that acts for
// it: see [begin.Decide]. A *NotOwnerError says that another agent owns the fleet, an error that
// wraps status.ErrMoved that the status is on another branch. It returns false and no error where
// ctx ended.
func (c *Claim) Acquire(ctx context.Context, b Branch) (bool, error) {
	c.mu.Lock()
	c.arbiter = b.Arbiter
	c.mu.Unlock()
	rehearsal := rehearsal{newest: c.p.Newest, read: b.Read, open: c.p.Looker}
	in := begin.Input{At: "the status branch", Flags: begin.Flags{Self: c.o.Self, Wait: c.o.Wait, TakeOver: c.o.TakeOver}}
	var unproved time.Time // since when this agent cannot look at all clusters of a fleet without an owner
	failed := false
	shows := func(why error) {
		if failed != (why != nil) {
			failed = why != nil
			c.p.Metrics.SetPushError(why)
		}
	}
	for failures := newBackoff(); ctx.Err() == nil; {
		var wait time.Duration
		switch step := begin.Decide(in); step.Do {
		case begin.ReadOwner:
			in.Owner = c.find(ctx, b)
			in.Place = c.placeOfSelf()
			continue
		case begin.Prove:
			wholly := c.o.Wait && (unproved.IsZero() || time.Since(unproved) < ownerReturns)
			in.Owner.Proof = &begin.Proof{Err: rehearsal.prove(ctx, wholly)}
			if unproved.IsZero() {
				unproved = time.Now()
			}
			continue
		case begin.Claim:
			in.Owner = c.act(ctx, *in.Owner, false)
			continue
		case begin.TakeOver:
			in.Owner = c.act(ctx, *in.Owner, true)
			continue
		case begin.Assume:
			in.Owner = c.assume(ctx, *in.Owner)
			continue
		case begin.Locate:
			return false, step.Why
		case begin.Own:
			shows(nil)
			c.begin(in.Owner.Owner, in.Owner.Next)
			return true, nil
		case begin.Retry:
			wait = failures.Step()
			shows(step.Why)
			c.p.Ready("the owner of the fleet cannot be read: " + step.Why.Error())
			c.p.Log.Error("cannot claim the fleet, retrying", "error", step.Why, "after", wait)
		default:
			shows(nil)
			refusal := c.refusal(*in.Owner)
			if step.Do == begin.Refuse {
				return false, refusal
			}
			failures, wait = newBackoff(), c.standBy(ctx, *in.Owner, step.Do == begin.Prepare, refusal, &rehearsal)
		}
		in.Owner = nil
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			break
		}
	}
	return false, nil
}

// find reads who owns the fleet. What is not believed is claimed: a claim says which owner
// is there, and accepts it if that is this agent.
func (c *Claim) find(ctx context.Context, b Branch) *begin.Ownership {
	place, err := c.findPlace(ctx)
	if err != nil {
		return &begin.Ownership{Err: err}
	}
	if b.Moved != nil {
		if err := b.Moved(ctx); err != nil {
			return &begin.Ownership{Err: err}
		}
	}
	owner, next, err := c.branch().Succession(ctx)
	if errors.Is(err, status.ErrDistrusted) {
		owner, err = c.branch().Claim(ctx, c.o.Self, place)
		if err == nil && !c.isSelf(owner) {
			return &begin.Ownership{Owner: owner, Unsigned: true} // it is not known whether that agent acts, so this one does not
		}
	}
	return &begin.Ownership{Owner: owner, Next: next, Err: err}
}

// act claims the fleet, or takes it over from the owner in Options.TakeOver, and makes this
// process the one that acts.
func (c *Claim) act(ctx context.Context, was begin.Ownership, takeOver bool) *begin.Ownership {
	now := begin.Ownership{Next: was.Next}
	if takeOver {
		c.p.Log.Warn("acquiring ownership from an agent that is declared gone", "agent", was.Owner.Agent, "epoch", was.Owner.Epoch, "place", was.Owner.Place)
		now.Owner, now.Err = c.branch().HandOver(ctx, was.Owner, c.o.Self, c.placeOfSelf())
	} else {
		now.Owner, now.Err = c.branch().Claim(ctx, c.o.Self, c.placeOfSelf())
	}
	if now.Err != nil || !c.isSelf(now.Owner) {
		return &now
	}
	if b, ok := c.branch().(Beginner); ok {
		var owner fleet.Owner
		if owner, now.Next, now.Err = c.beginBounded(ctx, b, now.Owner); now.Err != nil {
			now.Unpushed = c.unpushedFor(now.Owner, now.Err)
			return &now
		}
		now.Owner = owner
	} else if now.Owner != was.Owner {
		now.Owner, now.Next, now.Err = c.branch().Succession(ctx)
	}
	now.Begun = now.Err == nil
	return &now
}

// refusal says that another agent owns the fleet.
func (c *Claim) refusal(o begin.Ownership) *NotOwnerError {
	return &NotOwnerError{Self: c.o.Self, Place: c.placeOfSelf(), Owner: o.Owner, Unsigned: o.Unsigned}
}

// begin stores that this agent owns the fleet. Secrets are frozen before the first pass,
// since an earlier agent may have agreed to a move.
func (c *Claim) begin(owner fleet.Owner, next fleet.Succession) {
	c.setOwner(owner)
	c.p.Ready("")
	c.p.Metrics.SetOwner(owner)
	c.p.Log.Info("owning the fleet", "agent", owner.Agent, "epoch", owner.Epoch, "place", owner.Place, "process", owner.Incarnation)
	c.setSuccession(next)
	c.freezeSecrets(next)
}

// standBy does what an agent that does not own the fleet has to do, and returns how long to
// wait.
func (c *Claim) standBy(ctx context.Context, o begin.Ownership, prepare bool, why *NotOwnerError, r *rehearsal) time.Duration {
	c.p.Ready(why.Error())
	c.p.Metrics.SetStandby()
	c.p.Log.Info("waiting for the fleet", "why", why.Error())
	if !prepare {
		return c.o.Interval
	}
	c.prepare(ctx, o.Owner, o.Next, r)
	return min(c.o.Interval, handOverInterval)
}

// findPlace finds the place of this agent, once.
func (c *Claim) findPlace(ctx context.Context) (string, error) {
	if place := c.placeOfSelf(); place != "" || c.p.Place == nil {
		return place, nil
	}
	place, err := c.p.Place(ctx)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place = place
	return place, nil
}

// isSelf reports whether owner is this agent, rather than another one with its name.
func (c *Claim) isSelf(owner fleet.Owner) bool {
	return owner.Agent == c.o.Self && owner.Place == c.placeOfSelf()
}

func (c *Claim) placeOfSelf() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.place
}

func (c *Claim) branch() sources.Arbiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arbiter
}

// setOwner stores that this agent owns the fleet.
func (c *Claim) setOwner(o fleet.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner, c.owned, c.readAt = o, true, time.Now()
}

func (c *Claim) setSuccession(next fleet.Succession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next.ID != next.ID || c.next.To != next.To || c.next.Step != next.Step || c.since.IsZero() {
		c.since = time.Now() // another message is no step
	}
	c.next = next
}

func (c *Claim) succession() fleet.Succession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}
