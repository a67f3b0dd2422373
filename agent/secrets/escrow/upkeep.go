package escrow

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/fleet"
)

const (
	// upkeepInterval is between looks at secrets that changed without a Check, such as
	// those that people set.
	upkeepInterval = 5 * time.Minute
	// upkeepGap lets the secrets of several new clusters become one commit.
	upkeepGap = 2 * time.Second
	// upkeepDeadline bounds one look, so that a store or a branch that does not answer
	// becomes a problem.
	upkeepDeadline = 5 * time.Minute
)

// A Copy keeps an escrow up to date. See Keeper.
type Copy interface {
	// Keep brings the copy up to date for clusters, all that the fleet has, and for the
	// Secrets that people gave; where these may not be listed, for those of named, which
	// the clusters refer to. It returns the clusters whose present secrets it does
	// not have; an error says why.
	Keep(ctx context.Context, clusters, named []fleet.Key) (behind []fleet.Key, err error)
}

var _ Copy = (*Keeper)(nil)

// Wanted is what is to be kept in escrow.
type Wanted struct {
	Fleet    fleet.ID
	Escrow   fleet.Escrow // of fleet.yaml; without recipients: none
	Clusters []fleet.Key  // all that are known
	Secrets  []fleet.Key  // that the clusters refer to
}

// UpkeepParts are what an Upkeep works with.
type UpkeepParts struct {
	// Wanted returns what is to be kept at the moment.
	Wanted func() Wanted
	// Open opens the escrow of a fleet. Nil: none is kept.
	Open func(fleet.ID, fleet.Escrow) (Copy, error)
	// May says why this agent may not write an escrow at the moment.
	May func() error
	// Notify is called when Problem says something else.
	Notify  func()
	Metrics Metrics
	Log     *slog.Logger
}

// Metrics show how an escrow is.
type Metrics interface {
	EscrowKept(behind int, err error)
	ResetEscrow() // there is none
}

// An Upkeep keeps the escrow that fleet.yaml asks for up to date. It is safe for
// concurrent use.
type Upkeep struct {
	p       UpkeepParts
	changed chan struct{} // holds one where secrets or fleet.yaml changed

	mu      sync.Mutex
	problem *fleet.Problem // nil: none
}

// NewUpkeep returns an Upkeep that does nothing before Run.
func NewUpkeep(p UpkeepParts) *Upkeep { return &Upkeep{p: p, changed: make(chan struct{}, 1)} }

// Check makes Run look now: secrets changed, or what fleet.yaml says.
func (u *Upkeep) Check() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// Problem returns why the escrow is behind; false: it is not.
func (u *Upkeep) Problem() (fleet.Problem, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.problem == nil {
		return fleet.Problem{}, false
	}
	return *u.problem, true
}

// Run keeps the escrow until ctx ends.
func (u *Upkeep) Run(ctx context.Context) error {
	var (
		open Copy
		of   fleet.Escrow
	)
	for {
		want := u.p.Wanted()
		if !sameEscrow(want.Escrow, of) {
			open, of = nil, want.Escrow
		}
		switch {
		case len(want.Escrow.Recipients) == 0, u.p.Open == nil:
			u.setProblem(nil)
			u.p.Metrics.ResetEscrow()
		case u.p.May() != nil: // another process writes it
		default:
			behind, err := want.Clusters, error(nil)
			if open == nil {
				if open, err = u.p.Open(want.Fleet, want.Escrow); err != nil {
					open = nil // also where it is a nil pointer
				}
			}
			if err == nil {
				behind, err = keepWithin(ctx, open, want)
			}
			if ctx.Err() != nil {
				return nil
			}
			u.p.Metrics.EscrowKept(len(behind), err)
			u.setProblem(err)
		}
		if !u.wait(ctx) {
			return nil
		}
	}
}

// keepWithin brings c up to date, within upkeepDeadline.
func keepWithin(ctx context.Context, c Copy, want Wanted) ([]fleet.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, upkeepDeadline)
	defer cancel()
	return c.Keep(ctx, want.Clusters, want.Secrets)
}

// wait waits for the next look, and reports whether ctx still goes on.
func (u *Upkeep) wait(ctx context.Context) bool {
	timer := time.NewTimer(backoff.Jitter(upkeepInterval))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-u.changed:
		return backoff.Sleep(ctx, upkeepGap)
	case <-ctx.Done():
		return false
	}
}

// setProblem makes err part of the status; nil removes what was.
func (u *Upkeep) setProblem(err error) {
	var p *fleet.Problem
	if err != nil {
		u.p.Log.Error("cannot keep the escrow", "error", err)
		p = &fleet.Problem{
			File: "fleet.yaml", Field: "spec.escrow", Message: fmt.Sprintf("the escrow is behind: %v", err),
			Hint: "docs/operations/disaster-recovery.md tells what an escrow needs",
		}
	}
	u.mu.Lock()
	old := u.problem
	u.problem = p
	u.mu.Unlock()
	if (old == nil) != (p == nil) || p != nil && *old != *p {
		u.p.Notify()
	}
}

func sameEscrow(a, b fleet.Escrow) bool {
	return slices.Equal(a.Recipients, b.Recipients) && a.Branch == b.Branch && a.Repository == b.Repository && a.Folder == b.Folder
}

// ChangesSecrets reports whether one of the actions stores or removes secrets.
func ChangesSecrets(actions []fleet.Action) bool {
	return slices.ContainsFunc(actions, func(a fleet.Action) bool {
		return a.Kind == fleet.EnsureCertificates || a.Kind == fleet.EnsureKubeconfig || a.Kind == fleet.RotateAuthority
	})
}
