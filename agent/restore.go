package agent

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// restoreDefinitions looks up last good definitions, in the older revisions that hold
// them. A revision that cannot be got is tried again.
func (a *follower) restoreDefinitions(ctx context.Context) {
	wanted := a.targets.decided().MissingDefinitions()
	a.restoring.only(func(rev fleet.Revision) bool { _, ok := wanted[rev]; return ok })
	for rev, keys := range wanted {
		if !a.restoring.due(rev) {
			continue
		}
		f, err := a.renderOlder(ctx, rev)
		if ctx.Err() != nil {
			return
		}
		r := rollout.Revision{Revision: rev}
		switch {
		case err == nil:
			r.Fleet = &f
		case settled(err):
			r.Refused = err.Error()
		default:
			a.p.Log.ErrorContext(ctx, "cannot get the last good revision, trying again", "revision", rev, "clusters", keys, "error", err)
			r.Unavailable = err.Error()
		}
		d := a.decide(rollout.Input{Older: []rollout.Revision{r}}, a.queue.AddBulk)
		left := d.State.MissingDefinitions()[rev]
		switch {
		case len(left) == 0:
			delete(a.restoring, rev)
		case err != nil:
			a.restoring.failed(rev, err)
		default: // it lacks what may be there later
			a.restoring.failed(rev, fleet.Errorf(fleet.Unavailable, "render "+rev.Short(), "something that it needs cannot be got"))
		}
		for _, k := range keys {
			switch {
			case slices.Contains(d.Changed, k):
				a.p.Log.Info("holding to the last good revision", "cluster", k, "revision", rev)
			case !slices.Contains(left, k) && !slices.Contains(d.Forgotten, k):
				a.p.Log.Error("cannot find the last good definition, leaving the cluster alone", "cluster", k, "revision", rev, "error", err)
			}
		}
		if fleet.KindOf(err) == fleet.Unavailable {
			return // nor can any other be got: a poll is to end
		}
	}
}

// rereadDamaged looks again at the clusters whose file on the status branch could not be read
// when the agent began. Such a file stays as it is until people have put it right or
// removed it.
func (a *follower) rereadDamaged(ctx context.Context) {
	repaired := make(map[fleet.Key]*fleet.Report)
	for _, k := range a.targets.decided().Damaged() {
		c, there, err := a.branch.ReadCluster(ctx, k)
		if err != nil {
			continue // with the next poll
		}
		a.p.Log.Info("the cluster's file on the status branch is not damaged any more", "cluster", k, "there", there)
		repaired[k] = nil
		if there {
			repaired[k] = &c.Report
			a.targets.reports.Recall([]fleet.Report{c.Report})
			a.p.Metrics.Restore([]status.Cluster{c})
		}
	}
	a.decide(rollout.Input{Repaired: repaired}, a.queue.AddBulk)
}
