// Package history keeps the history of the status branch within the bound that fleet.yaml
// gives.
//
//	k := history.New(history.Parts{Bound: bound, …})
//	err := k.Run(ctx, writer)
//
// What it guarantees: an agent that does not own the fleet compacts nothing. If the server
// refuses, a problem says so, and the next attempt is a day later, or when the bound changes.
package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

const (
	// interval is between looks at how long the history is. They cost nothing but where
	// it may be over its bound.
	interval = 10 * time.Minute
	// refusedFor is how long a server that does not let history be replaced is left
	// alone.
	refusedFor = 24 * time.Hour
)

// A Branch can make its history shorter. See status.Writer.
type Branch interface {
	Compact(ctx context.Context, bound fleet.HistoryBound) (sources.History, error)
}

// Parts are what a Keeper is put together from. All are required.
type Parts struct {
	Bound func() fleet.HistoryBound // of now
	May   func() bool               // reports whether the fleet is this agent's
	// Count is called with how many commits the branch has, once that is known.
	Count func(commits int)
	// Notify is called when Problem changes.
	Notify func()
	Log    *slog.Logger
}

// A Keeper keeps the history of one branch. It is safe for concurrent use.
type Keeper struct {
	p       Parts
	problem atomic.Pointer[fleet.Problem]
}

// New returns a keeper that has done nothing yet.
func New(p Parts) *Keeper { return &Keeper{p: p} }

// Run keeps the history of b until ctx ends.
func (k *Keeper) Run(ctx context.Context, b Branch) error {
	var refused time.Time
	var of fleet.HistoryBound
	for {
		bound := k.p.Bound()
		if bound != of {
			refused, of = time.Time{}, bound
		}
		if k.p.May() && time.Since(refused) > refusedFor {
			refused = k.compact(ctx, b, bound)
		}
		if !backoff.Sleep(ctx, backoff.Jitter(interval)) {
			return nil
		}
	}
}

// compact keeps the history within bound, and returns when the server refused that: now,
// or never.
func (k *Keeper) compact(ctx context.Context, b Branch, bound fleet.HistoryBound) (refused time.Time) {
	h, err := b.Compact(ctx, bound)
	switch {
	case ctx.Err() != nil || errors.Is(err, status.ErrDeposed):
		return time.Time{}
	case err == nil:
		if h.Commits > 0 {
			k.p.Count(h.Commits)
		}
		k.complain(nil)
		return time.Time{}
	case fleet.KindOf(err) != fleet.Unauthorized:
		k.p.Log.Warn("cannot compact the history of the status branch, retrying", "error", err)
		return time.Time{}
	}
	k.complain(err)
	return time.Now()
}

// Problem tells of a history that cannot be kept within its bound; false: there is none.
func (k *Keeper) Problem() (fleet.Problem, bool) {
	if p := k.problem.Load(); p != nil {
		return *p, true
	}
	return fleet.Problem{}, false
}

// complain notes why the history cannot be kept within its bound; nil: it can.
func (k *Keeper) complain(err error) {
	var p *fleet.Problem
	if err != nil {
		p = &fleet.Problem{
			File: "fleet.yaml", Field: "spec.status.history",
			Message: fmt.Sprintf("the history of the status branch grows on: %v", err),
			Hint:    "let the agent force-push to that branch, or remove spec.status.history",
		}
	}
	old := k.problem.Swap(p)
	if (old == nil) == (p == nil) && (p == nil || *old == *p) {
		return
	}
	if p != nil {
		k.p.Log.Error("cannot compact the history of the status branch", "error", err)
	}
	k.p.Notify()
}
