package publish

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A Fleet says what is decided so far. See agent/loop/decisions.
type Fleet interface{ Now() rollout.State }

// Metrics show a fleet as a whole: with how many clusters are known, and how many vanished,
// are to be deleted, and are left alone.
type Metrics interface {
	SetFleet(s sources.FleetStatus, clusters, blocked int)
}

// Parts are what a Publisher is put together from. All are required.
type Parts struct {
	Writer sources.StatusWriter
	Fleet  Fleet
	// Home returns how far the fleet is on its way home.
	Home func() sources.HomeStatus
	// Made returns when a revision was made; zero: not known.
	Made func(fleet.Revision) time.Time
	// Problems are reported beside those that revisions have; false: there is none.
	Problems []func() (fleet.Problem, bool)
	// Owned says that the fleet is another agent's, once the writer was deposed.
	Owned   func(ctx context.Context) error
	Metrics Metrics
	Log     *slog.Logger
}

// A Publisher tells how one fleet is. It is safe for concurrent use.
type Publisher struct {
	p Parts

	mu sync.Mutex // held from when the status of the fleet is made until the writer has it
}

// New returns a publisher that has told nothing yet.
func New(p Parts) *Publisher { return &Publisher{p: p} }

// Run writes to the status branch until ctx ends, or until the fleet is another agent's.
func (p *Publisher) Run(ctx context.Context) error {
	err := p.p.Writer.Run(ctx)
	if errors.Is(err, status.ErrDeposed) {
		if lost := p.p.Owned(ctx); lost != nil {
			return lost
		}
	}
	if ctx.Err() != nil && err != nil {
		p.p.Log.Warn("last status not written", "error", err)
		return nil
	}
	return err
}

// Report brings a change of what is known of a cluster to the status branch.
func (p *Publisher) Report(c reports.Change) {
	if c.Gone {
		p.p.Writer.Forget(c.Cluster)
		return
	}
	p.p.Writer.Put(c.Report)
}

// PutFleet gives the status of the fleet as a whole to the status writer and the metrics.
func (p *Publisher) PutFleet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.p.Fleet.Now().Status()
	problems := slices.Clone(now.Problems)
	for _, of := range p.p.Problems {
		if problem, there := of(); there {
			problems = append(problems, problem)
		}
	}
	s := sources.FleetStatus{
		Fleet: now.Fleet, Revision: now.Revision, Applied: now.Applied, AppliedMade: p.p.Made(now.Applied), Broken: now.Broken, Behind: now.Behind,
		Problems: slices.Concat(problems, now.Damaged), Orphans: now.Orphans, Home: p.p.Home(), Sources: now.Sources, Rollout: now.Rollout,
	}
	p.p.Metrics.SetFleet(s, now.Clusters, now.Blocked)
	p.p.Writer.PutFleet(s)
}

// WriteFleet writes the status of the fleet as a whole.
func (p *Publisher) WriteFleet(ctx context.Context) error {
	p.PutFleet()
	return p.Flush(ctx)
}

// Flush writes what waits for the status branch.
func (p *Publisher) Flush(ctx context.Context) error {
	_, err := p.p.Writer.Flush(ctx)
	return err
}
