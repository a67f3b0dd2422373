package ownership

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"fairlead.dev/agent/backoff"
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
	// fleet.Owner. Nil: agents are told apart by name alone.
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

	confirming sync.Mutex // held while a hand-over to this agent is confirmed

	mu      sync.Mutex
	arbiter sources.Arbiter
	place   string           // of this agent; empty: not known yet
	owned   bool             // this agent owns the fleet
	owner   fleet.Owner      // valid while owned
	next    fleet.Succession // under way; zero: none
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

// May returns why this agent may not change cluster k now.
func (c *Claim) May(k fleet.Key) error {
	if _, owned := c.Owner(); !owned {
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "this agent does not own the fleet")
	}
	if c.o.Guard != nil {
		return c.o.Guard()
	}
	return nil
}

// BeginPass waits until a pass may begin, and returns the function that ends it. It fails
// only with ctx.
func (c *Claim) BeginPass(ctx context.Context) (end func(), err error) {
	if err := c.passes.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { c.passes.Release(1) }, nil
}

// Acquire makes this agent the owner of the fleet. A *NotOwnerError says that another agent
// is. It returns false and no error where ctx ended.
func (c *Claim) Acquire(ctx context.Context, b Branch) (bool, error) {
	c.mu.Lock()
	c.arbiter = b.Arbiter
	c.mu.Unlock()
	rehearsal := rehearsal{newest: c.p.Newest, read: b.Read, open: c.p.Looker}
	for failures := newBackoff(); ; {
		var wait time.Duration
		found, err := c.claim(ctx)
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			wait = failures.Step()
			c.p.Ready("the owner of the fleet cannot be read: " + err.Error())
			c.p.Log.Error("cannot claim the fleet, trying again", "error", err, "after", wait)
		case c.isSelf(found.owner):
			c.begin(found)
			return true, nil
		default:
			refusal := &NotOwnerError{Self: c.o.Self, Place: c.placeOfSelf(), Owner: found.owner, Unsigned: found.unsigned}
			if !c.o.Wait {
				return false, refusal
			}
			failures, wait = newBackoff(), c.standBy(ctx, found, refusal, &rehearsal)
		}
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return false, nil
		}
	}
}

// A finding is what the status branch says of the ownership.
type finding struct {
	owner    fleet.Owner
	next     fleet.Succession // that is under way
	unsigned bool             // the owner is another agent, and no trusted key signed that
}

// claim claims the fleet, and returns who owns it.
func (c *Claim) claim(ctx context.Context) (finding, error) {
	there, err := c.claimOrTakeOver(ctx)
	if err != nil {
		return finding{}, err
	}
	owner, next, err := c.branch().Succession(ctx)
	if errors.Is(err, status.ErrDistrusted) && !c.isSelf(there) {
		return finding{owner: there, unsigned: true}, nil // nobody knows whether that agent acts, so this one does not
	}
	return finding{owner: owner, next: next}, err
}

// claimOrTakeOver claims the fleet, or takes it from the owner in Options.TakeOver.
func (c *Claim) claimOrTakeOver(ctx context.Context) (fleet.Owner, error) {
	place, err := c.findPlace(ctx)
	if err != nil {
		return fleet.Owner{}, err
	}
	owner, err := c.branch().Claim(ctx, c.o.Self, place)
	gone := c.o.TakeOver
	if err != nil || gone == (fleet.Owner{}) || !owner.Is(gone) || c.isSelf(owner) {
		return owner, err
	}
	c.p.Log.Warn("taking over the fleet from an agent that is said to be gone", "agent", owner.Agent, "epoch", owner.Epoch, "place", owner.Place)
	return c.branch().HandOver(ctx, owner, c.o.Self, place)
}

// begin stores that this agent owns the fleet. Secrets are frozen before the first pass,
// since an earlier agent may have agreed to a move.
func (c *Claim) begin(f finding) {
	c.setOwner(f.owner)
	c.p.Ready("")
	c.p.Metrics.SetOwner(f.owner)
	c.p.Log.Info("owning the fleet", "agent", f.owner.Agent, "epoch", f.owner.Epoch, "place", f.owner.Place)
	c.setSuccession(f.next)
	c.freezeSecrets(f.next)
}

// standBy does what an agent that does not own the fleet has to do, and returns how long to
// wait.
func (c *Claim) standBy(ctx context.Context, f finding, why *NotOwnerError, r *rehearsal) time.Duration {
	c.p.Ready(why.Error())
	c.p.Metrics.SetStandby()
	c.p.Log.Info("waiting for the fleet", "why", why.Error())
	if f.next.To != c.o.Self {
		return c.o.Interval
	}
	c.prepare(ctx, f.owner, f.next, r)
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

func (c *Claim) setOwner(o fleet.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner, c.owned = o, o.Agent != ""
}

func (c *Claim) setSuccession(next fleet.Succession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = next
}

func (c *Claim) succession() fleet.Succession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}
