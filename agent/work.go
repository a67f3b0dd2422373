package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// work makes one pass over the cluster called k.
func (a *Agent) work(ctx context.Context, k fleet.Key) {
	a.mu.Lock()
	h, ok := a.desired.clusters[k]
	drift := a.desired.drift
	a.mu.Unlock()
	if !ok || h.cluster == nil || h.orphan || h.damaged != "" || a.o.Only != (fleet.Key{}) && a.o.Only != k {
		return
	}
	c, heeded := a.granted(h.cluster)
	c = a.sized(c).WithDrift(drift)
	if c.Abandon {
		a.abandoned(ctx, c, h, drift)
		return
	}
	c, problems := a.sheltered(ctx, c)
	started := time.Now()
	ctx, end := a.p.Tracer.Span(ctx, "pass", "cluster", k.String(), "revision", h.cluster.Revision.String())
	res := a.pass(ctx, c)
	end(res.Err)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(res.Err, ErrPostponed) {
		a.queue.AddAfter(k, jitter(res.After))
		return
	}
	report := res.Report
	report.Problems, report.Digest = slices.Concat(h.problems, problems), h.cluster.Digest
	report, known := a.reported(h, drift, report, res, &reports.Pass{
		Definition: h.cluster, Drift: drifted(c, res.Observed), NotAfter: res.NotAfter(), Err: res.Err,
	})
	if !known {
		a.reconciler.Forget(k)
		return
	}
	a.p.Metrics.Passed(ctx, report.Phase, res.Plan.Actions, res.Err, time.Since(started))
	if changesSecrets(res.Plan.Actions) {
		a.escrow.poke()
	}
	if res.Err != nil {
		a.p.Log.WarnContext(ctx, "the pass failed", "cluster", k, "error", res.Err, "after", res.After)
	}
	if report.Phase == fleet.PhaseDeleted && a.drop(k) {
		a.p.Log.Info("forgetting the cluster", "cluster", k)
		return
	}
	a.sizes(ctx, c, report)
	a.took(c, heeded, res.Observed.Secrets.Rotations)
	if report.Phase != "" {
		a.acts(ctx)
	}
	again := jitter(a.o.Resync)
	if res.After > 0 {
		again = min(again, res.After)
	}
	a.queue.AddAfter(k, again)
}

// drifted returns how much of the infrastructure of c is not as Git says and is
// told of.
func drifted(c *fleet.Cluster, o fleet.Observed) int {
	if c.Drift == fleet.DriftIgnore {
		return 0
	}
	return len(o.Infrastructure.Drift)
}

// pass makes one pass over c, unless the fleet is just being handed over.
func (a *Agent) pass(ctx context.Context, c *fleet.Cluster) reconcile.Result {
	a.acting.enter()
	defer a.acting.leave()
	if a.o.Only != (fleet.Key{}) {
		c = withoutWorkers(c)
	}
	last, _ := a.reports.Last(c.Key)
	if a.o.Only != (fleet.Key{}) {
		c = c.WithResidence(last.Residence).Recreating(a.o.Recreate)
	}
	return a.reconciler.Pass(ctx, c, last.Memory)
}

// reported takes in the report of a pass over a cluster that was held to as h, with
// that policy for drift, and returns the newest one. It reports false where the
// cluster was forgotten meanwhile: then the report is of nothing.
func (a *Agent) reported(h held, drift fleet.DriftPolicy, r fleet.Report, res reconcile.Result, pass *reports.Pass) (fleet.Report, bool) {
	a.mu.Lock()
	now, known := a.desired.clusters[r.Cluster]
	if !known {
		a.mu.Unlock()
		return r, false
	}
	r = a.reports.Put(r, pass)
	arrived := now.behind && now.cluster == h.cluster && now.inGit == h.inGit && slices.Equal(now.problems, h.problems) &&
		a.desired.drift == drift && res.Report.Phase != "" && atRest(r, res)
	if arrived {
		now.behind = false
		a.desired.clusters[r.Cluster] = now
	}
	a.mu.Unlock()
	if arrived {
		a.tell()
	}
	return r, true
}

// atRest reports whether a pass found nothing to do and nothing to wait for.
func atRest(r fleet.Report, res reconcile.Result) bool {
	switch r.Phase {
	case fleet.PhaseProvisioned, fleet.PhaseDeleted, fleet.PhaseAbandoned:
		return res.Err == nil && len(res.Plan.Actions)+len(res.Plan.Waiting) == 0
	}
	return false
}

// publishReport brings a change of what is known of a cluster to the status branch.
func (a *Agent) publishReport(c reports.Change) {
	if c.Gone {
		a.status.Forget(c.Cluster)
		return
	}
	a.status.Put(c.Report)
}

// withoutWorkers returns c with all pools of workers left as they are.
func withoutWorkers(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Workers = slices.Clone(c.Workers)
	for i := range out.Workers {
		out.Workers[i].Paused = true
	}
	return &out
}

// drop forgets a cluster that is deleted, unless Git still has it: then its
// status says that it is deleted until the files go.
func (a *Agent) drop(k fleet.Key) bool {
	a.mu.Lock()
	if a.desired.clusters[k].inGit {
		a.mu.Unlock()
		return false
	}
	a.forget(k)
	a.mu.Unlock()
	a.forgotten(k)
	return true
}

// forget has nothing known of the cluster any more. The caller holds a.mu, so that
// no pass that is under way brings its report after it, and calls forgotten then.
func (a *Agent) forget(k fleet.Key) {
	delete(a.desired.clusters, k)
	delete(a.wishes.passed, k)
	a.reports.Forget(k)
}

// forgotten does what follows from forget.
func (a *Agent) forgotten(k fleet.Key) {
	a.reconciler.Forget(k)
	a.tell()
	poke(a.survey)
}
