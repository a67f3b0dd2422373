package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/agent/health"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

// poll brings the agent to the newest revision. Only lost ownership is an error; the next
// poll tries again whatever else went wrong.
func (a *follower) poll(ctx context.Context) error {
	ctx, end := a.p.Tracer.Span(ctx, "poll")
	goesOn, ends := a.p.Watchdog.Begin(health.Polling, "")
	defer ends()
	rev, err := a.resolve(ctx)
	defer func() { end(err) }()
	if lost := a.claim.Check(ctx, a.flush); lost != nil {
		return lost
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		a.p.Log.ErrorContext(ctx, "cannot see the newest revision, keeping what is", "error", err)
		a.retries.postpone()
		a.restoring.postpone()
		return nil
	}
	now := a.targets.decided()
	current, refused := now.Revision(), now.Refused()
	stale := a.p.Renderer.Stale()
	if stale {
		clear(a.restoring) // the older revisions may have lacked the same key
	}
	switch other := rev != current && (rev != refused || a.untrusted); {
	case other && a.retries.due(rev) || stale:
		a.applyRevision(ctx, rev)
	case !other:
		a.resumeKnown(rev)
	}
	for _, step := range []func(context.Context){a.rereadDamaged, a.restoreDefinitions, a.pollRequests, a.pollScales} {
		goesOn()
		step(ctx)
	}
	return nil
}

// resolve asks the source for its newest revision.
func (a *Agent) resolve(ctx context.Context) (fleet.Revision, error) {
	started := time.Now()
	rev, err := a.p.Source.Resolve(ctx)
	if ctx.Err() == nil {
		a.p.Metrics.Fetched(ctx, "resolve", err, time.Since(started))
		a.p.Tracer.Done(ctx, "resolve", time.Since(started), err)
	}
	return rev, err
}

// applyRevision renders rev and makes it the one that targets follow from. A revision that
// cannot be used leaves everything as it is, and that is reported.
func (a *follower) applyRevision(ctx context.Context, rev fleet.Revision) {
	f, err := a.renderNext(ctx, rev)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !settled(err):
		a.p.Log.ErrorContext(ctx, "cannot get the revision, trying again", "revision", rev, "error", err)
		a.delayed(rev, err)
		return
	case err != nil:
		a.p.Log.ErrorContext(ctx, "the revision is refused, keeping what is", "revision", rev, "error", err)
		a.untrusted = errors.Is(err, sources.ErrUntrusted)
		a.refusedAgain(rev)
		a.p.Metrics.SetRefused(true)
		a.decide(rollout.Input{Newest: &rollout.Revision{Revision: rev, Refused: err.Error()}}, a.queue.AddBulk)
		return
	}
	clear(a.retries)
	a.untrusted = false
	if a.lineage() != nil {
		a.followed = rev
	}
	a.p.Metrics.SetRefused(false)
	d := a.decide(rollout.Input{Newest: &rollout.Revision{Revision: rev, Fleet: &f, Notices: a.otherBranch(f)}}, a.queue.AddBulk)
	problems := d.State.Problems()
	a.p.Log.Info("holding to a new revision", "revision", rev,
		"clusters", len(f.Clusters), "changed", len(d.Changed), "problems", len(problems))
	for _, p := range problems {
		a.p.Log.Warn("the revision has a problem", "revision", rev, "problem", p.String())
	}
	a.markApplied()
	a.survey.Again()
	a.escrow.Check()
	a.home.Check()
}

// newestFleet renders the newest revision.
func (a *Agent) newestFleet(ctx context.Context) (fleet.Fleet, error) {
	rev, err := a.p.Source.Resolve(ctx)
	if err != nil {
		return fleet.Fleet{}, err
	}
	return a.render(ctx, rev)
}

// otherBranch says that f names another status branch than the one that is written to.
func (a *session) otherBranch(f fleet.Fleet) []fleet.Problem {
	want := f.Config.StatusBranch
	if a.o.StatusBranch != "" || want == a.branch.name {
		return nil
	}
	return []fleet.Problem{{
		File: "fleet.yaml", Field: "spec.status.branch",
		Message: fmt.Sprintf("status stays on the branch %q as long as the agent runs", a.branch.name),
		Hint:    "restart the agent to move it to " + want,
	}}
}

// settled reports whether trying again with the same revision cannot help: what is
// in it is refused.
func settled(err error) bool { return fleet.KindOf(err) == fleet.Invalid }

func (a *Agent) render(ctx context.Context, rev fleet.Revision) (fleet.Fleet, error) {
	started := time.Now()
	tree, err := a.p.Source.Fetch(ctx, rev)
	a.p.Metrics.Fetched(ctx, "fetch", err, time.Since(started))
	a.p.Tracer.Done(ctx, "fetch", time.Since(started), err, "revision", rev.String())
	if err != nil {
		return fleet.Fleet{}, err
	}
	started = time.Now()
	_, ends := a.p.Watchdog.Begin(health.Rendering, rev.String())
	f, err := a.p.Renderer.Render(ctx, rev, tree)
	ends()
	a.p.Metrics.Rendered(ctx, err, time.Since(started))
	a.p.Tracer.Done(ctx, "render", time.Since(started), err, "revision", rev.String())
	return f, err
}

// markApplied lets the workers start, and says that the agent is ready. Repeating it does
// nothing.
func (a *session) markApplied() {
	select {
	case <-a.applied:
	default:
		close(a.applied)
		a.ready.Set(readyRevision, "")
	}
}
