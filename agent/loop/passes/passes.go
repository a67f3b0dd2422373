package passes

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/rollout"
)

// Options say how passes are made.
type Options struct {
	Resync time.Duration // between regular looks at a cluster
	// Only, if not zero, is the one cluster that passes are made over, and of it the control
	// plane alone: its workers stay unchanged.
	Only fleet.Key
	// Recreate, if not empty, says that Only is permanently lost and is to be recreated, as a
	// value of fleet.RecreateAnnotation does.
	Recreate string
}

// A Fleet says what passes work towards, and takes in what came of them. See
// agent/loop/decisions.
type Fleet interface {
	// Now returns what was decided so far.
	Now() rollout.State
	// Report returns the newest report of a cluster.
	Report(k fleet.Key) (r fleet.Report, passed bool)
	// NeighborPlaces returns the places beside their first ones of the other clusters of k's namespace.
	NeighborPlaces(k fleet.Key) []fleet.Place
	// Neighbors returns what c, which draws addresses from pools, has to know of the other clusters.
	Neighbors(c *fleet.Cluster) fleet.Neighbors
	// Decide decides on in, after what was decided so far, and updates the targets of the fleet.
	Decide(in rollout.Input) rollout.Decision
	// Passed takes in a pass, and returns the newest report of its cluster. It reports false
	// where the cluster was forgotten meanwhile.
	Passed(p rollout.Pass, saw *reports.Pass, atRest func(fleet.Report) bool) (fleet.Report, bool)
}

// A Queue has clusters that wait for a pass. See reconcile/queue.
type Queue interface {
	AddAfter(k fleet.Key, d time.Duration)
}

// A Claim says when passes may be made. See agent/ownership.
type Claim interface {
	// BeginPass waits until a pass may be made, and returns what ends it.
	BeginPass(ctx context.Context) (end func(), err error)
	// ConfirmHandOver notes that this agent sees the clusters that were handed over to it.
	ConfirmHandOver(ctx context.Context)
}

// Metrics count passes.
type Metrics interface {
	Passed(ctx context.Context, phase fleet.Phase, actions []fleet.Action, err error, took time.Duration)
}

// Parts are what passes are made with. All but Tracer are required.
type Parts struct {
	Reconciler reconcile.Passes
	Fleet      Fleet
	Queue      Queue
	Claim      Claim
	// Protect returns the cluster as it may be worked on, and what is to be told of that.
	Protect func(ctx context.Context, c *fleet.Cluster) (*fleet.Cluster, []fleet.Problem)
	// Recorded returns what the status branch says of a cluster; zero where it says nothing.
	Recorded func(ctx context.Context, k fleet.Key) (fleet.Report, error)
	// Did is called after each pass with its actions.
	Did func(actions []fleet.Action)
	// Sized takes in the report of a pass, which says how many machines pools have.
	Sized   func(ctx context.Context, c *fleet.Cluster, r fleet.Report)
	Metrics Metrics
	Tracer  *tracing.Tracer
	Log     *slog.Logger
}

// A Maker makes the passes of one agent. It is safe for concurrent use, over different
// clusters.
type Maker struct {
	o Options
	p Parts
}

// New returns what makes passes as o says.
func New(o Options, p Parts) *Maker { return &Maker{o, p} }

// Make makes one pass over the cluster called k.
func (m *Maker) Make(ctx context.Context, k fleet.Key) {
	t, known := m.p.Fleet.Now().Target(k)
	if !known || t.Why != "" || m.o.Only != (fleet.Key{}) && m.o.Only != k {
		return
	}
	if t.Cluster.Abandon {
		m.abandon(ctx, t)
		return
	}
	c, problems := m.p.Protect(ctx, t.Cluster)
	started := time.Now()
	ctx, end := m.p.Tracer.Span(ctx, "pass", "cluster", k.String(), "revision", c.Revision.String())
	res := m.pass(ctx, c)
	end(res.Err)
	switch {
	case ctx.Err() != nil:
	case errors.Is(res.Err, reconcile.ErrPostponed):
		m.p.Queue.AddAfter(k, backoff.Jitter(res.After))
	default:
		res.Report.Problems, res.Report.Digest = slices.Concat(t.Problems, problems), c.Digest
		m.passed(ctx, t, c, res, time.Since(started))
	}
}

// passed hands on what came of a pass over c towards t, and puts c back into the queue.
func (m *Maker) passed(ctx context.Context, t rollout.Target, c *fleet.Cluster, res reconcile.Result, took time.Duration) {
	report, known := m.report(t, c, res)
	if !known {
		m.p.Reconciler.Forget(c.Key)
		return
	}
	m.p.Metrics.Passed(ctx, report.Phase, res.Plan.Actions, res.Err, took)
	m.p.Did(res.Plan.Actions)
	if res.Err != nil {
		m.p.Log.WarnContext(ctx, "reconciliation failed", "cluster", c.Key, "error", res.Err, "after", res.After)
	}
	if report.Phase == fleet.PhaseDeleted && m.forget(c.Key) {
		m.p.Log.Info("removing cluster from the status", "cluster", c.Key)
		return
	}
	m.p.Sized(ctx, c, report)
	if report.Phase != "" {
		m.p.Claim.ConfirmHandOver(ctx)
	}
	again := backoff.Jitter(m.o.Resync)
	if res.After > 0 {
		again = min(again, res.After)
	}
	m.p.Queue.AddAfter(c.Key, again)
}

// pass makes one pass over c, unless the fleet is just being handed over.
func (m *Maker) pass(ctx context.Context, c *fleet.Cluster) reconcile.Result {
	end, err := m.p.Claim.BeginPass(ctx)
	if err != nil {
		return reconcile.Result{Err: err}
	}
	defer end()
	if m.o.Only != (fleet.Key{}) {
		c = withoutWorkers(c)
	}
	last, _ := m.p.Fleet.Report(c.Key)
	if m.o.Only != (fleet.Key{}) {
		c = c.WithResidence(last.Residence).WithRecreate(m.o.Recreate)
	}
	c = c.WithNeighborPlaces(m.p.Fleet.NeighborPlaces(c.Key))
	if len(c.AddressPools()) > 0 {
		c = c.WithNeighbors(m.p.Fleet.Neighbors(c))
	}
	res := m.p.Reconciler.Pass(ctx, c, last.Memory)
	res.FillIn(c, last)
	return res
}

// report takes in a pass over c towards t, and returns the newest report of c. It reports
// false where c was forgotten meanwhile.
func (m *Maker) report(t rollout.Target, c *fleet.Cluster, res reconcile.Result) (fleet.Report, bool) {
	saw := &reports.Pass{Definition: t.Definition, Drift: drifted(c, res.Observed), NotAfter: res.NotAfter(), Err: res.Err}
	return m.p.Fleet.Passed(rollout.Pass{Target: t, Report: res.Report, Rotations: res.Observed.Secrets.Rotations}, saw, func(newest fleet.Report) bool {
		return res.Report.Phase != "" && res.Err == nil && len(res.Plan.Actions)+len(res.Plan.Waiting) == 0 && final(newest.Phase)
	})
}

// final reports whether a cluster may be at rest in phase.
func final(phase fleet.Phase) bool {
	return phase == fleet.PhaseProvisioned || phase == fleet.PhaseDeleted || phase == fleet.PhaseAbandoned
}

// drifted returns how much of the infrastructure of c is not as Git says and is reported.
func drifted(c *fleet.Cluster, o fleet.Observed) int {
	if c.Drift == fleet.DriftIgnore {
		return 0
	}
	return len(o.Infrastructure.Drift)
}

// withoutWorkers returns c with all pools of workers unchanged.
func withoutWorkers(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Workers = slices.Clone(c.Workers)
	for i := range out.Workers {
		out.Workers[i].Paused = true
	}
	out.KeptPools = slices.Clone(c.KeptPools)
	for i := range out.KeptPools {
		out.KeptPools[i].Paused = true
	}
	return &out
}

// forget forgets a cluster that is deleted, unless Git still has it: then its status says
// that it is deleted until the files go.
func (m *Maker) forget(k fleet.Key) bool {
	return len(m.p.Fleet.Decide(rollout.Input{Gone: []fleet.Key{k}}).Forgotten) > 0
}
