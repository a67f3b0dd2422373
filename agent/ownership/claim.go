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
	// Wait makes an agent that does not own the fleet wait until it does.
	Wait bool
	// TakeOver, if not zero, is an owner that is gone: where it still owns the fleet, with
	// that epoch, this agent becomes the owner without its consent.
	TakeOver fleet.Owner
	// Guard, if not nil, says why this process may not act at the moment: it does not
	// lead the replicas of the agent any more.
	Guard func() error
}

// Parts are what a Claim works with. Those marked so may be nil.
type Parts struct {
	// Place returns where the agent keeps secrets, which is another place for any other
	// agent: see fleet.Owner. Nil: agents are told apart by name alone.
	Place func(ctx context.Context) (string, error)
	// Secrets are frozen while the fleet is handed over. Nil: nothing is.
	Secrets Secrets
	// Newest renders the newest revision.
	Newest func(ctx context.Context) (fleet.Fleet, error)
	// Looker returns what a successor looks at clusters with. Nil: it does not look.
	Looker func() Looker
	// Metrics show who owns the fleet.
	Metrics Metrics
	// Ready is told why the fleet is not owned; with an empty reason, that it is.
	Ready func(reason string)
	Log   *slog.Logger
}

// Metrics show who owns the fleet.
type Metrics interface {
	SetOwner(fleet.Owner) // zero: another agent
	SetStandby()
}

// Secrets can be kept as they are while they are copied.
type Secrets interface {
	// Hold waits for changes under way to end, and refuses more. Reading goes on.
	Hold(why string)
	// Release ends that.
	Release()
}

// A Branch is what a Claim needs of the status branch.
type Branch struct {
	Arbiter sources.Arbiter
	Read    func(ctx context.Context) (status.Status, error)
}

// A Claim is what one agent knows of its claim to a fleet. It is safe for concurrent use.
type Claim struct {
	o Options
	p Parts

	// passes has a unit for each pass that is under way; a hand-over takes all of them.
	passes *semaphore.Weighted

	confirming sync.Mutex // held by whoever confirms a hand-over to this agent

	mu      sync.Mutex
	arbiter sources.Arbiter
	place   string           // of this agent; empty: not known yet
	owned   bool             // this agent owns the fleet
	owner   fleet.Owner      // while owned
	next    fleet.Succession // under way; zero: none
}

// allPasses is more than there are workers.
const allPasses = 1 << 30

// New returns the claim of an agent that does not own the fleet yet.
func New(o Options, p Parts) *Claim {
	return &Claim{o: o, p: p, passes: semaphore.NewWeighted(allPasses)}
}

// Owner returns the owner as owner.yaml has it, and true, where this is the owner.
func (c *Claim) Owner() (fleet.Owner, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner, c.owned
}

// May says why this agent may not change cluster k at the moment.
func (c *Claim) May(k fleet.Key) error {
	if _, owned := c.Owner(); !owned {
		return fleet.Errorf(fleet.Unauthorized, "change cluster "+k.String(), "this agent does not own the fleet")
	}
	if c.o.Guard != nil {
		return c.o.Guard()
	}
	return nil
}

// BeginPass waits until a pass may be made, and returns what ends it. The error is that of
// a ctx that ended.
func (c *Claim) BeginPass(ctx context.Context) (end func(), err error) {
	if err := c.passes.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { c.passes.Release(1) }, nil
}

// Acquire makes this agent the owner of the fleet, or learns that it is not: then the error
// is a *NotOwnerError. It returns false and no error where ctx ended.
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
	unsigned bool             // another agent owns the fleet, as nobody who counts signed
}

// claim claims the fleet, and returns who owns it.
func (c *Claim) claim(ctx context.Context) (finding, error) {
	there, err := c.claimOrTakeOver(ctx)
	if err != nil {
		return finding{}, err
	}
	owner, next, err := c.branch().Succession(ctx)
	if errors.Is(err, status.ErrDistrusted) && !c.isSelf(there) {
		return finding{owner: there, unsigned: true}, nil // whether that agent acts is not known, so this one does not
	}
	return finding{owner: owner, next: next}, err
}

// claimOrTakeOver claims the fleet, and takes it from an owner that is gone where
// Options.TakeOver names that very owner.
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

// begin takes in that this agent owns the fleet. Secrets are frozen before the first pass:
// an agent before this one may have agreed to a move.
func (c *Claim) begin(f finding) {
	c.setOwner(f.owner)
	c.p.Ready("")
	c.p.Metrics.SetOwner(f.owner)
	c.p.Log.Info("owning the fleet", "agent", f.owner.Agent, "epoch", f.owner.Epoch, "place", f.owner.Place)
	c.setSuccession(f.next)
	c.freezeSecrets(f.next)
}

// standBy does the part of an agent that does not own the fleet, and returns how long to
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

// findPlace finds out where this agent is, once.
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

// isSelf reports whether owner is this agent, and not another one of its name.
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
