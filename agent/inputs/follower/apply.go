package follower

import (
	"cmp"
	"context"
	"errors"

	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/agent/loop/begin"
	"fairlead.dev/agent/observability/health"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

// poll brings the fleet to the newest revision. Only lost ownership is an error; the next
// poll tries again whatever else went wrong.
func (f *follower) poll(ctx context.Context) error {
	ctx, end := f.Tracer.Span(ctx, "poll")
	goesOn, ends := f.Watchdog.Begin(health.Polling, "")
	defer ends()
	rev, err := f.Revisions.Resolve(ctx)
	defer func() { end(err) }()
	if lost := f.Owned(ctx); lost != nil {
		return lost
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		f.Log.ErrorContext(ctx, "cannot read the newest revision, keeping the applied one", "error", err)
		f.retries.postpone()
		f.restoring.postpone()
		f.continueApplied(ctx)
		return nil
	}
	f.follow(ctx, rev)
	for _, step := range append([]func(context.Context){f.continueApplied, f.rereadDamaged, f.restoreDefinitions}, f.Then...) {
		goesOn()
		step(ctx)
	}
	return nil
}

// follow applies rev, the newest revision, where it is another one than before, or may be
// rendered otherwise.
func (f *follower) follow(ctx context.Context, rev fleet.Revision) {
	now := f.Fleet.Now()
	stale := f.Revisions.Stale()
	if stale {
		clear(f.restoring) // the older revisions may have lacked the same key
	}
	switch other := rev != now.Revision() && (rev != now.Refused() || f.untrusted); {
	case other && f.retries.due(rev) || stale:
		f.apply(ctx, rev)
	case !other:
		f.resumeKnown(rev)
	}
}

// apply renders rev and makes it the one that targets follow from. A revision that cannot be
// used leaves everything unchanged, and that is reported.
func (f *follower) apply(ctx context.Context, rev fleet.Revision) {
	next, err := f.sameFleet(f.Revisions.Next(ctx, f.followed, rev))
	var authors []string
	if err == nil {
		if authors, err = f.authors(ctx, rev, next); revisions.Settled(err) {
			err = fleet.Errorf(fleet.Unavailable, "apply "+rev.Short(), "a stage has approvals, and who wrote the revision is not known: %w. Fix: point the branch at a commit closer to %s, wait until it is applied, and push the rest; or remove approvals from fleet.yaml", err, f.Fleet.Now().Applied().Short())
		}
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !revisions.Settled(err):
		f.Log.ErrorContext(ctx, "cannot fetch the revision, retrying", "revision", rev, "error", err)
		f.delayed(rev, err)
		return
	case err != nil:
		f.Log.ErrorContext(ctx, "revision rejected, keeping the applied one", "revision", rev, "error", err)
		f.untrusted = errors.Is(err, sources.ErrUntrusted)
		f.refusedAgain(rev)
		f.Metrics.SetRefused(true)
		f.refuse(rollout.Revision{Revision: rev, Refused: err.Error()})
		return
	}
	f.refusal = nil
	clear(f.retries)
	f.untrusted = false
	if f.Revisions.Signed() {
		f.followed = rev
	}
	f.Metrics.SetRefused(false)
	f.hold(rev, next, authors)
}

// authors returns who wrote rev, which was rendered as next, if that matters: with what waits already, if
// no agent asked before who wrote that.
func (f *follower) authors(ctx context.Context, rev fleet.Revision, next fleet.Fleet) ([]string, error) {
	if !next.Config.Waves.AsksAuthors() {
		return nil, nil
	}
	now := f.Fleet.Now()
	var all []string
	for _, from := range append([]fleet.Revision{now.Applied()}, now.Unattributed()...) {
		some, err := f.Revisions.Authors(ctx, from, rev)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// hold makes rev the revision of the fleet, which was rendered as next, and which authors wrote.
func (f *follower) hold(rev fleet.Revision, next fleet.Fleet, authors []string) {
	d := f.Fleet.DecideBulk(rollout.Input{Newest: &rollout.Revision{Revision: rev, Fleet: &next, Authors: authors, Notices: f.Notices(next)}})
	problems := d.State.Problems()
	f.Log.Info("applying new revision", "revision", rev,
		"clusters", len(next.Clusters), "changed", len(d.Changed), "problems", len(problems))
	for _, p := range problems {
		f.Log.Warn("problem in the revision", "revision", rev, "problem", p.String())
	}
	f.Applied()
}

// refuse reports that the newest revision cannot be used. The fleet stays unchanged.
func (f *follower) refuse(r rollout.Revision) {
	f.refusal = &r
	if f.Fleet.Now().Revision().IsZero() {
		f.Unready("no revision can be used: " + cmp.Or(r.Refused, r.Unavailable))
	}
	f.Fleet.DecideBulk(rollout.Input{Newest: &r})
}

// continueApplied returns the fleet to the revision that the status branch had as applied
// when the agent began, if the newest one cannot be used: the agent before this one would
// have gone on with it, too.
func (f *follower) continueApplied(ctx context.Context) {
	tip := &begin.Tip{}
	switch now := f.Fleet.Now(); {
	case !now.Revision().IsZero():
		return
	case f.refusal != nil && f.refusal.Revision == f.recorded: // trying it again is not for here
		return
	case f.refusal != nil:
		tip.Err = errors.New(cmp.Or(f.refusal.Refused, f.refusal.Unavailable))
	default:
		tip.Err = errors.New("the newest revision is not known")
	}
	step := begin.Decide(begin.Input{At: "the status branch", Owned: true, Tip: tip, Record: &begin.Record{Applied: f.recorded}})
	if step.Do != begin.HoldApplied || !f.restoring.due(f.recorded) {
		return
	}
	applied, err := f.sameFleet(f.Revisions.Next(ctx, f.followed, f.recorded))
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		f.restoring.failed(f.recorded, err)
		f.Log.ErrorContext(ctx, "cannot read the applied revision, retrying", "revision", f.recorded, "error", err)
		f.Unready("neither the newest revision nor the applied one can be used: " + err.Error())
		return
	}
	f.Log.WarnContext(ctx, "cannot use the newest revision, keeping the applied one", "revision", f.recorded, "error", tip.Err)
	f.hold(f.recorded, applied, nil)
	if f.refusal != nil {
		f.refuse(*f.refusal)
	}
}

// sameFleet returns what was rendered, and refuses it where it is of another fleet.
func (f *follower) sameFleet(rendered fleet.Fleet, err error) (fleet.Fleet, error) {
	if err == nil {
		err = f.Fleet.Now().Renamed(rendered)
	}
	return rendered, err
}
