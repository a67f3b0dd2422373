package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

const (
	// historyInterval is between looks at how long the history of the status branch is.
	// They cost nothing but where it may be over its bound.
	historyInterval = 10 * time.Minute
	// historyRefused is how long a server that does not let history be replaced is left
	// alone.
	historyRefused = 24 * time.Hour
)

// A compacter is a StatusWriter that can make the history of its branch shorter. See
// status.Writer.
type compacter interface {
	Compact(ctx context.Context, bound fleet.HistoryBound) (sources.History, error)
}

// compacting is what an agent knows of the history of its status branch.
type compacting struct {
	retell  chan struct{} // problem changed
	problem atomic.Pointer[fleet.Problem]
}

// with returns problems and that of the history, if there is one.
func (c *compacting) with(problems []fleet.Problem) []fleet.Problem {
	if p := c.problem.Load(); p != nil {
		return append(problems[:len(problems):len(problems)], *p)
	}
	return problems
}

// keepHistory keeps the history of the status branch within the bound that fleet.yaml
// gives, while the fleet is ours.
func (a *Agent) keepHistory(ctx context.Context) error {
	for _, begun := range []chan struct{}{a.owned, a.applied} {
		select {
		case <-begun:
		case <-ctx.Done():
			return nil
		}
	}
	w, ok := a.status.(compacter)
	if !ok {
		<-ctx.Done()
		return nil
	}
	var refused time.Time
	var of fleet.HistoryBound
	for {
		bound := a.targets.now().Config().StatusHistory
		if bound != of {
			refused, of = time.Time{}, bound
		}
		if a.claim.May(fleet.Key{}) == nil && time.Since(refused) > historyRefused {
			refused = a.compact(ctx, w, bound)
		}
		if !backoff.Sleep(ctx, backoff.Jitter(historyInterval)) {
			return nil
		}
	}
}

// compact keeps the history within bound, and returns when the server refused that: now,
// or never.
func (a *Agent) compact(ctx context.Context, w compacter, bound fleet.HistoryBound) (refused time.Time) {
	h, err := w.Compact(ctx, bound)
	switch {
	case ctx.Err() != nil || errors.Is(err, status.ErrDeposed):
		return time.Time{}
	case err == nil:
		if h.Commits > 0 {
			a.p.Metrics.SetStatusHistory(h.Commits)
		}
		a.historyProblem(nil)
		return time.Time{}
	case fleet.KindOf(err) != fleet.Unauthorized:
		a.p.Log.Warn("cannot compact the history of the status branch, trying again", "error", err)
		return time.Time{}
	}
	a.historyProblem(err)
	return time.Now()
}

// historyProblem makes err part of the status, or takes back what was.
func (a *Agent) historyProblem(err error) {
	var p *fleet.Problem
	if err != nil {
		p = &fleet.Problem{
			File: "fleet.yaml", Field: "spec.status.history",
			Message: fmt.Sprintf("the history of the status branch grows on: %v", err),
			Hint:    "let the agent force-push to that branch, or remove spec.status.history",
		}
	}
	old := a.compacting.problem.Swap(p)
	if (old == nil) == (p == nil) && (p == nil || *old == *p) {
		return
	}
	if p != nil {
		a.p.Log.Error("cannot compact the history of the status branch", "error", err)
	}
	poke(a.compacting.retell)
}
