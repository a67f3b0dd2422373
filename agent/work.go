package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/agent/reports"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/rollout"
)

// work makes one pass over the cluster called k.
func (a *session) work(ctx context.Context, k fleet.Key) {
	t, known := a.targets.decided().Target(k)
	if !known || t.Why != "" || a.o.Only != (fleet.Key{}) && a.o.Only != k {
		return
	}
	if t.Cluster.Abandon {
		a.abandoned(ctx, t)
		return
	}
	c, problems := a.home.Protect(ctx, t.Cluster)
	started := time.Now()
	ctx, end := a.p.Tracer.Span(ctx, "pass", "cluster", k.String(), "revision", c.Revision.String())
	res := a.pass(ctx, c)
	end(res.Err)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(res.Err, reconcile.ErrPostponed) {
		a.queue.AddAfter(k, backoff.Jitter(res.After))
		return
	}
	report := res.Report
	report.Problems, report.Digest = slices.Concat(t.Problems, problems), c.Digest
	report, known = a.report(rollout.Pass{Target: t, Report: report, Rotations: res.Observed.Secrets.Rotations}, &reports.Pass{
		Definition: t.Definition, Drift: drifted(c, res.Observed), NotAfter: res.NotAfter(), Err: res.Err,
	}, res)
	if !known {
		a.reconciler.Forget(k)
		return
	}
	a.p.Metrics.Passed(ctx, report.Phase, res.Plan.Actions, res.Err, time.Since(started))
	if escrow.ChangesSecrets(res.Plan.Actions) {
		a.escrow.Check()
	}
	if res.Err != nil {
		a.p.Log.WarnContext(ctx, "the pass failed", "cluster", k, "error", res.Err, "after", res.After)
	}
	if report.Phase == fleet.PhaseDeleted && a.forget(k) {
		a.p.Log.Info("forgetting the cluster", "cluster", k)
		return
	}
	a.firstSizes(ctx, c, report)
	if report.Phase != "" {
		a.claim.ConfirmHandOver(ctx)
	}
	again := backoff.Jitter(a.o.Resync)
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
func (a *session) pass(ctx context.Context, c *fleet.Cluster) reconcile.Result {
	end, err := a.claim.BeginPass(ctx)
	if err != nil {
		return reconcile.Result{Err: err}
	}
	defer end()
	if a.o.Only != (fleet.Key{}) {
		c = withoutWorkers(c)
	}
	last, _ := a.targets.reports.Last(c.Key)
	if a.o.Only != (fleet.Key{}) {
		c = c.WithResidence(last.Residence).WithRecreate(a.o.Recreate)
	}
	return a.reconciler.Pass(ctx, c, last.Memory)
}

// report takes in a pass and returns the newest report of its cluster. It reports
// false where the cluster was forgotten meanwhile: then the report is of nothing.
func (a *session) report(p rollout.Pass, of *reports.Pass, res reconcile.Result) (fleet.Report, bool) {
	r, d, known := a.targets.passed(p, of, func(newest fleet.Report) bool {
		return res.Report.Phase != "" && atRest(newest, res)
	})
	a.act(d, a.queue.Add)
	return r, known
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
func (a *session) publishReport(c reports.Change) {
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

// forget forgets a cluster that is deleted, unless Git still has it: then its
// status says that it is deleted until the files go.
func (a *session) forget(k fleet.Key) bool {
	return len(a.decide(rollout.Input{Gone: []fleet.Key{k}}, a.queue.Add).Forgotten) > 0
}
