package follower

import (
	"context"
	"slices"

	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// restoreDefinitions looks up last good definitions, in the older revisions that hold
// them. A revision that cannot be got is tried again.
func (f *follower) restoreDefinitions(ctx context.Context) {
	wanted := f.Fleet.Now().MissingDefinitions()
	f.restoring.only(func(rev fleet.Revision) bool {
		_, ok := wanted[rev]
		return ok || rev == f.recorded && f.Fleet.Now().Revision().IsZero()
	})
	for rev, keys := range wanted {
		if !f.restoring.due(rev) {
			continue
		}
		older, err := f.sameFleet(f.Revisions.Older(ctx, f.followed, rev))
		if ctx.Err() != nil {
			return
		}
		r := rollout.Revision{Revision: rev}
		switch {
		case err == nil:
			r.Fleet = &older
		case revisions.Settled(err):
			r.Refused = err.Error()
		default:
			f.Log.ErrorContext(ctx, "cannot get the last good revision, retrying", "revision", rev, "clusters", keys, "error", err)
			r.Unavailable = err.Error()
		}
		d := f.Fleet.DecideBulk(rollout.Input{Older: []rollout.Revision{r}})
		left := d.State.MissingDefinitions()[rev]
		switch {
		case len(left) == 0:
			delete(f.restoring, rev)
		case err != nil:
			f.restoring.failed(rev, err)
		default: // it lacks what may be there later
			f.restoring.failed(rev, fleet.Errorf(fleet.Unavailable, "render "+rev.Short(), "something that it needs cannot be got"))
		}
		for _, k := range keys {
			switch {
			case slices.Contains(d.Changed, k):
				f.Log.Info("applying the last valid revision", "cluster", k, "revision", rev)
			case !slices.Contains(left, k) && !slices.Contains(d.Forgotten, k):
				f.Log.Error("cannot find the last valid definition, not changing the cluster", "cluster", k, "revision", rev, "error", err)
			}
		}
		if fleet.KindOf(err) == fleet.Unavailable {
			return // nor can any other be got: a poll is to end
		}
	}
}

// rereadDamaged looks again at the clusters whose file on the status branch could not be read
// when the agent began. Such a file stays unchanged until people have put it right or
// removed it.
func (f *follower) rereadDamaged(ctx context.Context) {
	repaired := make(map[fleet.Key]*fleet.Report)
	for _, k := range f.Fleet.Now().Damaged() {
		c, there, err := f.Recorded(ctx, k)
		if err != nil {
			continue // with the next poll
		}
		f.Log.Info("file of the cluster on the status branch is readable again", "cluster", k, "there", there)
		repaired[k] = nil
		if there {
			repaired[k] = &c.Report
			f.Repaired(c)
		}
	}
	f.Fleet.DecideBulk(rollout.Input{Repaired: repaired})
}
