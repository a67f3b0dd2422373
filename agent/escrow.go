package agent

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
)

const (
	// escrowInterval is between looks at secrets that nobody told of, such as
	// those that people set.
	escrowInterval = 5 * time.Minute
	// escrowGap lets the secrets of several new clusters become one commit.
	escrowGap = 2 * time.Second
	// escrowDeadline bounds one look, so that a store or a branch that does not answer
	// is told.
	escrowDeadline = 5 * time.Minute
)

// An Escrow keeps a copy of all secrets of a fleet. See agent/secrets/escrow.
type Escrow interface {
	// Keep brings the copy up to date for clusters, all that the fleet has, and for the
	// Secrets that people gave; where these may not be listed, for those of named, which
	// the clusters refer to. It returns the clusters whose secrets it does not have as
	// they are; an error says why.
	Keep(ctx context.Context, clusters, named []fleet.Key) (behind []fleet.Key, err error)
}

// escrowing is what an agent knows of its escrow.
type escrowing struct {
	c       chan struct{} // secrets changed, or what fleet.yaml says
	retell  chan struct{} // problem changed
	problem atomic.Pointer[fleet.Problem]
}

func newEscrowing() escrowing {
	return escrowing{c: make(chan struct{}, 1), retell: make(chan struct{}, 1)}
}

// poke makes the escrow look now.
func (e *escrowing) poke() { poke(e.c) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// with returns problems and that of the escrow, if there is one.
func (e *escrowing) with(problems []fleet.Problem) []fleet.Problem {
	if p := e.problem.Load(); p != nil {
		return append(slices.Clone(problems), *p)
	}
	return problems
}

// keepEscrow keeps the escrow that fleet.yaml asks for, while the fleet is ours.
func (a *Agent) keepEscrow(ctx context.Context) error {
	select {
	case <-a.applied:
	case <-ctx.Done():
		return nil
	}
	var (
		keeper Escrow
		of     fleet.Escrow
	)
	for {
		id, want, clusters := a.escrowed()
		if !equalEscrow(want, of) {
			keeper, of = nil, want
		}
		var behind []fleet.Key
		var err error
		switch {
		case len(want.Recipients) == 0, a.p.Escrow == nil:
			a.escrowProblem(nil)
			a.p.Metrics.ResetEscrow()
		case a.claim.May(fleet.Key{}) != nil: // not ours at the moment
		default:
			if keeper == nil {
				keeper, err = a.p.Escrow(id, want)
			}
			if err == nil {
				behind, err = keepFor(ctx, keeper, clusters, a.storedSecrets())
			} else {
				behind = clusters
			}
			if ctx.Err() != nil {
				return nil
			}
			a.p.Metrics.EscrowKept(len(behind), err)
			a.escrowProblem(err)
		}
		timer := time.NewTimer(backoff.Jitter(escrowInterval))
		select {
		case <-timer.C:
		case <-a.escrow.c:
			backoff.Sleep(ctx, escrowGap)
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// keepFor brings keeper up to date, within escrowDeadline.
func keepFor(ctx context.Context, keeper Escrow, clusters, named []fleet.Key) ([]fleet.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, escrowDeadline)
	defer cancel()
	return keeper.Keep(ctx, clusters, named)
}

// escrowed returns what is to be kept in escrow.
func (a *Agent) escrowed() (fleet.ID, fleet.Escrow, []fleet.Key) {
	now := a.targets.now()
	return now.ID(), now.Config().Escrow, now.Keys()
}

// storedSecrets returns the Secrets in the store that clusters refer to, sorted.
func (a *Agent) storedSecrets() []fleet.Key { return a.targets.now().StoredSecrets() }

// escrowProblem makes err part of the status, or takes back what was.
func (a *Agent) escrowProblem(err error) {
	var p *fleet.Problem
	if err != nil {
		a.p.Log.Error("cannot keep the escrow", "error", err)
		p = &fleet.Problem{
			File: "fleet.yaml", Field: "spec.escrow", Message: fmt.Sprintf("the escrow is behind: %v", err),
			Hint: "docs/disaster-recovery.md tells what an escrow needs",
		}
	}
	old := a.escrow.problem.Swap(p)
	if (old == nil) != (p == nil) || p != nil && *old != *p {
		poke(a.escrow.retell)
	}
}

func equalEscrow(a, b fleet.Escrow) bool {
	return slices.Equal(a.Recipients, b.Recipients) && a.Branch == b.Branch && a.Repository == b.Repository && a.Folder == b.Folder
}

// changesSecrets reports whether one of the actions stores or removes secrets.
func changesSecrets(actions []fleet.Action) bool {
	return slices.ContainsFunc(actions, func(a fleet.Action) bool {
		return a.Kind == fleet.EnsureCertificates || a.Kind == fleet.EnsureKubeconfig || a.Kind == fleet.RotateAuthority
	})
}
