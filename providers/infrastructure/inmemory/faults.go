package inmemory

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"fairlead.dev/fleet"
)

// Faults say how a cloud misbehaves. The zero value is a cloud that behaves.
// They can be changed at any time. A count goes down with each use; a negative
// one stays.
type Faults struct {
	// Lag passes before a create or a delete shows in listings. Until then a
	// second create of the same name makes a second machine.
	Lag time.Duration `json:"lag,omitempty"`
	// SlowDelete is how long a deleted machine shows as Deleting.
	SlowDelete time.Duration `json:"slowDelete,omitempty"`

	// LoseAnswers changes are done, and their answer is lost: kind Unanswered.
	LoseAnswers int `json:"loseAnswers,omitempty"`
	// LoseRequests changes are not done and not answered: kind Unanswered.
	LoseRequests int `json:"loseRequests,omitempty"`
	// FailListings listings fail: kind Unavailable.
	FailListings int `json:"failListings,omitempty"`

	// OutageUntil is until when every call fails: kind Unavailable.
	OutageUntil time.Time `json:"outageUntil,omitzero"`
	// RateLimit is how many calls a second are answered; the others fail with
	// the kind Unavailable. 0 means no limit.
	RateLimit float64 `json:"rateLimit,omitempty"`

	// Quota is how many machines there may be; more gives the kind Exhausted.
	// 0 means no limit.
	Quota int `json:"quota,omitempty"`
	// FailBoot are names of machines, with the wildcards of path.Match, that
	// end in state Failed instead of running.
	FailBoot []string `json:"failBoot,omitempty"`
	// FailCreate are names of machines, as in FailBoot, the request for which fails after
	// it was taken.
	FailCreate []string `json:"failCreate,omitempty"`
	// SlowRelease is how long a machine shows as Released after its deletion.
	SlowRelease time.Duration `json:"slowRelease,omitempty"`
	// StuckLearners are names of machines, as in FailBoot, whose members of etcd never
	// catch up where K3s or RKE2 is to make them vote.
	StuckLearners []string `json:"stuckLearners,omitempty"`
	// SlowLeave is how much longer K3s and RKE2 take until a member leaves that was asked
	// to, or whose Node is deleted.
	SlowLeave time.Duration `json:"slowLeave,omitempty"`
	// FailMembers times the members of K3s and RKE2 are asked of a server that cannot
	// tell: /db/info answers 500.
	FailMembers int `json:"failMembers,omitempty"`
	// SilentWithoutPower makes machines hosts that cannot be reached while their
	// power is cut: they show as silent, and one that is deleted meanwhile shows
	// as Deleting until its power is back.
	SilentWithoutPower bool `json:"silentWithoutPower,omitempty"`
	// SlowPower is how long the power of a machine that was switched is not known.
	SlowPower time.Duration `json:"slowPower,omitempty"`
	// ListTwice are names of machines, as in FailBoot, that listings show twice, as where two
	// names lead to one place.
	ListTwice []string `json:"listTwice,omitempty"`
	// Hide are names of machines, as in FailBoot, that no listing shows, as to an account
	// without access to them.
	Hide []string `json:"hide,omitempty"`
}

// matches reports whether name is one of patterns.
func matches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// A Moment is when a hook is called.
type Moment string

// The moments of a call.
const (
	Before Moment = "before" // nothing has happened yet
	After  Moment = "after"  // what the call does is done, its answer not given
)

// Faults implements Control.
func (c *Cloud) Faults(context.Context) (Faults, error) {
	c.lock()
	defer c.unlock()
	return c.faults, nil
}

// SetFaults implements Control.
func (c *Cloud) SetFaults(_ context.Context, f Faults) error {
	for _, pattern := range slices.Concat(f.FailBoot, f.FailCreate, f.StuckLearners, f.ListTwice, f.Hide) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fleet.Errorf(fleet.Invalid, "set faults", "pattern %q: %w", pattern, err)
		}
	}
	c.lock()
	defer c.unlock()
	if f.RateLimit != c.faults.RateLimit {
		c.limiter = rate.NewLimiter(rate.Limit(f.RateLimit), max(1, int(f.RateLimit)))
	}
	c.faults = f
	return nil
}

var (
	errReset       = errors.New("read: connection reset by peer")
	errUnavailable = errors.New("503 Service Unavailable: the service is temporarily unable to handle the request")
	errTooMany     = errors.New("429 Too Many Requests: the request is rate limited")
)

// list makes a call that reads: f runs with the lock held.
func (c *Cloud) list(ctx context.Context, op string, f func()) error {
	return c.call(ctx, op, func() (bool, error) {
		if take(&c.faults.FailListings) {
			return false, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: errUnavailable}
		}
		f()
		return false, nil
	})
}

// change makes a call that changes something: f runs with the lock held.
func (c *Cloud) change(ctx context.Context, op string, f func() error) error {
	return c.call(ctx, op, func() (bool, error) {
		if take(&c.faults.LoseRequests) {
			return true, nil
		}
		lost := take(&c.faults.LoseAnswers)
		return lost, f()
	})
}

// call does what all calls have in common. A context that ends before the call
// keeps it from being sent; one that ends during it loses the answer.
func (c *Cloud) call(ctx context.Context, op string, f func() (lost bool, err error)) error {
	if c.hook != nil {
		c.hook(op, Before)
	}
	if err := ctx.Err(); err != nil {
		return &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: err}
	}
	lost, err := c.locked(op, f)
	if c.hook != nil {
		c.hook(op, After)
	}
	if err := ctx.Err(); err != nil {
		return &fleet.Error{Kind: fleet.Unanswered, Op: op, Err: err}
	}
	if lost {
		return &fleet.Error{Kind: fleet.Unanswered, Op: op, Err: errReset}
	}
	return err
}

func (c *Cloud) locked(op string, f func() (bool, error)) (bool, error) {
	c.lock()
	defer c.unlock()
	switch now := time.Now(); {
	case c.closed:
		return false, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: errors.New("the cloud is closed")}
	case now.Before(c.faults.OutageUntil):
		return false, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: errUnavailable}
	case c.faults.RateLimit > 0 && !c.limiter.AllowN(now, 1):
		return false, &fleet.Error{Kind: fleet.Unavailable, Op: op, Err: errTooMany}
	}
	return f()
}

// take uses up one of n.
func take(n *int) bool {
	if *n > 0 {
		*n--
		return true
	}
	return *n < 0
}

func (c *Cloud) quotaExceeded(op string) error {
	if c.faults.Quota == 0 {
		return nil
	}
	n := 0
	for _, v := range c.vms {
		if v.Refused == "" && (v.deleted.IsZero() || v.held) {
			n++
		}
	}
	if n < c.faults.Quota {
		return nil
	}
	return &fleet.Error{Kind: fleet.Exhausted, Op: op, Err: fmt.Errorf(
		"403 Forbidden: quota exceeded for instances: requested 1, but already used %d of %d instances", n, c.faults.Quota)}
}
