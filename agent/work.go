package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// work makes one pass over the cluster called k.
func (a *Agent) work(ctx context.Context, k fleet.Key) {
	a.mu.Lock()
	h, ok := a.desired.clusters[k]
	drift := a.desired.drift
	a.mu.Unlock()
	if !ok || h.cluster == nil || h.orphan || a.o.Only != (fleet.Key{}) && a.o.Only != k {
		return
	}
	c, heeded := a.granted(h.cluster)
	c = a.sized(c).WithDrift(drift)
	if c.Abandon {
		a.abandoned(ctx, c, h.inGit)
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
	if old, ok := a.record[k]; ok && report.Phase == "" {
		// Nothing was seen yet: what another agent saw still is the best known.
		old.Cluster, old.Revision, old.Overlay, old.Failure = k, report.Revision, report.Overlay, report.Failure
		report = old
	}
	report.Problems, report.Digest = slices.Concat(h.problems, problems), h.cluster.Digest
	a.p.Metrics.Passed(ctx, Pass{
		Cluster: h.cluster, Report: report, Drift: drifted(c, res.Observed), NotAfter: res.NotAfter(),
		Actions: res.Plan.Actions, Err: res.Err, Took: time.Since(started),
	})
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
	a.status.Put(report)
	a.sizes(ctx, c, report)
	a.took(c, heeded, report, res.Observed.Secrets.Rotations)
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
	c = a.reminded(c)
	if a.o.Only != (fleet.Key{}) {
		c = c.Recreating(a.o.Recreate)
	}
	res := a.reconciler.Pass(ctx, c)
	if res.Report.Phase != "" {
		a.mu.Lock()
		if a.reminders == nil {
			a.reminders = make(map[fleet.Key]reminder)
		}
		a.reminders[c.Key] = reminderOf(res.Report)
		a.mu.Unlock()
	}
	return res
}

// A reminder is what one pass tells the next, whoever makes it, since nothing else
// tells of it: an attempt that is under way, with what infrastructure was in line,
// what health checks wait out, when the cluster came how far, where it lives,
// and by which clock.
type reminder struct {
	remediation fleet.Remediation
	order       string
	spells      []fleet.Spell
	milestones  fleet.Milestones
	residence   fleet.Residence
	clock       fleet.Clock
}

func reminderOf(r fleet.Report) reminder {
	return reminder{r.Remediation, r.Order, r.Spells, r.Milestones, r.Residence, r.Clock}
}

// reminded returns c with what its last report told: this agent's, or the one
// that is on the status branch.
func (a *Agent) reminded(c *fleet.Cluster) *fleet.Cluster {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.reminders[c.Key]
	if !ok {
		last = reminderOf(a.record[c.Key])
	}
	out := *c
	out.Remediation, out.Order, out.Spells, out.Milestones = last.remediation, last.order, last.spells, last.milestones
	out.Residence, out.Clock = last.residence, last.clock
	return &out
}

// unremind has nothing told to the next pass over k, not even what the status
// branch told: a cluster of that name that comes later is another one.
func (a *Agent) unremind(k fleet.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reminders == nil {
		a.reminders = make(map[fleet.Key]reminder)
	}
	a.reminders[k] = reminder{}
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
	h := a.desired.clusters[k]
	if !h.inGit {
		delete(a.desired.clusters, k)
	}
	a.mu.Unlock()
	if h.inGit {
		return false
	}
	a.unremind(k)
	a.reconciler.Forget(k)
	a.p.Metrics.Forget(k)
	a.status.Forget(k)
	return true
}
