package agent

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// work makes one pass over the cluster called k.
func (a *Agent) work(ctx context.Context, k fleet.Key) {
	a.mu.Lock()
	h, ok := a.desired.clusters[k]
	a.mu.Unlock()
	if !ok || h.cluster == nil || h.orphan {
		return
	}
	started := time.Now()
	res := a.reconciler.Pass(ctx, h.cluster)
	if ctx.Err() != nil {
		return
	}
	report := res.Report
	if old, ok := a.record[k]; ok && report.Phase == "" {
		// Nothing was seen yet: what another agent saw still is the best known.
		old.Cluster, old.Revision, old.Overlay, old.Failure = k, report.Revision, report.Overlay, report.Failure
		report = old
	}
	report.Problems, report.Digest = h.problems, h.cluster.Digest
	a.p.Metrics.Passed(ctx, Pass{
		Cluster: h.cluster, Report: report, Drift: len(res.Observed.Infrastructure.Drift), NotAfter: res.NotAfter(),
		Actions: res.Plan.Actions, Err: res.Err, Took: time.Since(started),
	})
	if res.Err != nil {
		a.p.Log.Warn("the pass failed", "cluster", k, "error", res.Err, "after", res.After)
	}
	if report.Phase == fleet.PhaseDeleted && a.drop(k) {
		a.p.Log.Info("forgetting the cluster", "cluster", k)
		return
	}
	a.status.Put(report)
	again := jitter(a.o.Resync)
	if res.After > 0 {
		again = min(again, res.After)
	}
	a.queue.AddAfter(k, again)
}

// drop forgets a cluster that is deleted, unless Git still has it: then its
// status says that it is deleted until the files go.
func (a *Agent) drop(k fleet.Key) bool {
	a.mu.Lock()
	h := a.desired.clusters[k]
	if !h.inGit {
		delete(a.desired.clusters, k)
	}
	a.mu.Unlock()
	if h.inGit {
		return false
	}
	a.reconciler.Forget(k)
	a.p.Metrics.Forget(k)
	a.status.Forget(k)
	return true
}
