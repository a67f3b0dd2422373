package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/agent/health"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

// poll brings the agent to the newest revision. Only lost ownership is an
// error; whatever else goes wrong is reported, and tried again with the next
// poll.
func (a *Agent) poll(ctx context.Context) error {
	ctx, end := a.p.Tracer.Span(ctx, "poll")
	goesOn, ends := a.p.Watchdog.Begin(health.Polling, "")
	defer ends()
	rev, err := a.resolve(ctx)
	defer func() { end(err) }()
	if lost := a.stillOwner(ctx); lost != nil {
		return lost
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		a.p.Log.ErrorContext(ctx, "cannot see the newest revision, keeping what is", "error", err)
		a.retries.later()
		a.restoring.later()
		return nil
	}
	a.mu.Lock()
	current, refused := a.desired.revision, a.refused
	a.mu.Unlock()
	stale := a.stale()
	if stale {
		clear(a.restoring) // what came may be what was missing there too
	}
	switch other := rev != current && (rev != refused || a.untrusted); {
	case other && a.retries.due(rev) || stale:
		a.take(ctx, rev)
	case !other:
		a.givesUp()
	}
	for _, step := range []func(context.Context){a.reread, a.restore, a.heed, a.readScales} {
		goesOn()
		step(ctx)
	}
	return nil
}

// A StaleRenderer is a Renderer that may come to another fleet for a revision
// that it has rendered, as it can decrypt what it could not.
type StaleRenderer interface {
	render.Renderer
	Stale() bool
}

func (a *Agent) stale() bool {
	r, ok := a.p.Renderer.(StaleRenderer)
	return ok && r.Stale()
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

// take renders rev and holds to it. A revision that cannot be used leaves
// everything as it is and says so.
func (a *Agent) take(ctx context.Context, rev fleet.Revision) {
	f, err := a.successor(ctx, rev)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !settled(err):
		a.p.Log.ErrorContext(ctx, "cannot get the revision, trying again", "revision", rev, "error", err)
		a.delayed(rev, err)
		return
	case err != nil:
		a.p.Log.ErrorContext(ctx, "the revision is refused, keeping what is", "revision", rev, "error", err)
		a.setDelay(delay{})
		a.untrusted = errors.Is(err, sources.ErrUntrusted)
		a.refusedAgain(rev)
		a.p.Metrics.SetRefused(true)
		a.refuse(rev, err)
		return
	}
	a.arrived()
	a.untrusted = false
	if a.lineage() != nil {
		a.followed = rev
	}
	a.p.Metrics.SetRefused(false)
	a.mu.Lock()
	a.refused, a.pruning = fleet.Revision{}, f.Config.Prune.Enabled
	next, changed := a.desired.advance(f)
	if want := f.Config.StatusBranch; a.o.StatusBranch == "" && want != a.branch {
		next.problems = append(next.problems, fleet.Problem{
			File: "fleet.yaml", Field: "spec.status.branch",
			Message: fmt.Sprintf("status stays on the branch %q as long as the agent runs", a.branch),
			Hint:    "restart the agent to move it to " + want,
		})
	}
	a.desired = next
	a.mu.Unlock()
	a.p.Log.Info("holding to a new revision", "revision", rev,
		"clusters", len(f.Clusters), "changed", len(changed), "problems", len(next.problems))
	for _, p := range next.problems {
		a.p.Log.Warn("the revision has a problem", "revision", rev, "problem", p.String())
	}
	for _, k := range changed {
		a.queue.AddBulk(k)
	}
	a.begin()
	a.tell()
	poke(a.survey)
	a.escrow.poke()
	poke(a.homing.c)
}

func (a *Agent) renamed(f fleet.Fleet) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.desired.renamed(f)
}

// settled reports whether trying again with the same revision cannot help: what is
// in it is refused.
func settled(err error) bool { return fleet.KindOf(err) == fleet.Invalid }

// refuse reports that rev cannot be used at all. What was held to before goes on.
func (a *Agent) refuse(rev fleet.Revision, err error) {
	problems := []fleet.Problem{{Message: err.Error(), Hint: "everything stays at the last revision that was good"}}
	a.mu.Lock()
	same := a.refused == rev && slices.Equal(a.desired.problems, problems)
	a.refused, a.desired.problems = rev, problems
	a.mu.Unlock()
	if !same {
		a.tell()
	}
}

// tell reports the fleet as a whole.
func (a *Agent) tell() {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.mu.Lock()
	d, pruning, refused, delayed := a.desired, a.pruning, a.refused, a.delay.rev
	vanished, behind, known := d.orphans(), d.behind(), len(d.clusters)
	orphans, damaged := a.withStrays(vanished), d.damaged()
	a.mu.Unlock()
	s := sources.FleetStatus{
		Fleet: d.fleet, Revision: d.revision, Applied: d.applied, Broken: len(d.problems) > 0, Behind: behind,
		Problems: slices.Concat(a.unreadable(a.homing.with(a.compacting.with(a.escrow.with(a.late(d.problems))))), damaged), Orphans: orphans, Home: a.homing.status(), Sources: d.sources,
	}
	switch {
	case !delayed.IsZero(): // what is in it nobody knows
		s.Revision, s.Broken = delayed, false
	case !refused.IsZero():
		s.Revision = refused
	}
	blocked := 0
	if pruning {
		blocked = len(vanished)
	}
	a.p.Metrics.SetFleet(s, known, blocked)
	a.status.PutFleet(s)
}

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

// begin lets the workers start and says ready. Repeating it does nothing.
func (a *Agent) begin() {
	select {
	case <-a.applied:
	default:
		close(a.applied)
		a.ready.Set(readyRevision, "")
	}
}

// restore looks up the last good definition of clusters that are known by name
// alone: broken in the newest revision, or half deleted when an agent ended. It
// is in the revision that the status branch names. While that cannot be got the
// cluster is left alone and reported; where it is not in there, for good.
func (a *Agent) restore(ctx context.Context) {
	a.mu.Lock()
	wanted := make(map[fleet.Revision][]fleet.Key)
	held := !a.desired.revision.IsZero() // before, nothing is done and all are known by name alone
	for k, h := range a.desired.clusters {
		if held && h.cluster == nil && h.recorded != nil && !h.orphan {
			wanted[h.recorded.Revision] = append(wanted[h.recorded.Revision], k)
		}
	}
	a.mu.Unlock()
	a.restoring.only(func(rev fleet.Revision) bool { _, ok := wanted[rev]; return ok })
	if a.unfoundOnly(wanted) {
		a.tell()
	}
	for rev, keys := range wanted {
		if !a.restoring.due(rev) {
			continue
		}
		slices.SortFunc(keys, fleet.Key.Compare)
		f, err := a.ancestor(ctx, rev)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !settled(err) {
			a.p.Log.ErrorContext(ctx, "cannot get the last good revision, trying again", "revision", rev, "clusters", keys, "error", err)
			a.restoring.failed(rev, err)
			a.notFound(rev, keys, err)
			a.tell()
			if fleet.KindOf(err) == fleet.Unavailable {
				return // nor can any other be got: a poll is to end
			}
			continue
		}
		late := a.lateIn(f, keys)
		keys = slices.DeleteFunc(keys, func(k fleet.Key) bool { return slices.Contains(late, k) })
		if len(late) > 0 {
			err := lateError(f)
			a.restoring.failed(rev, err)
			a.notFound(rev, late, err)
		} else {
			delete(a.restoring, rev)
		}
		a.forgetUnfound(keys)
		for _, k := range keys {
			i := slices.IndexFunc(f.Clusters, func(c fleet.Cluster) bool { return c.Key == k })
			if err != nil || i < 0 {
				a.lost(k, rev, err)
				continue
			}
			// Its folder may have been built for another revision that has it only as a
			// part; this one is where it is found again.
			a.found(k, at(&f.Clusters[i], rev))
		}
		a.tell()
	}
}

// lateIn returns those of keys that f lacks for want of what may be there later.
func (a *Agent) lateIn(f fleet.Fleet, keys []fleet.Key) []fleet.Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	var late []fleet.Key
	for _, k := range keys {
		has := slices.ContainsFunc(f.Clusters, func(c fleet.Cluster) bool { return c.Key == k })
		if !has && slices.Contains(f.Late, a.desired.clusters[k].overlay()) {
			late = append(late, k)
		}
	}
	return late
}

// lateError says what f lacks, in the words of its first problem of that kind.
func lateError(f fleet.Fleet) error {
	i := slices.IndexFunc(f.Problems, func(p fleet.Problem) bool { return slices.Contains(f.Late, p.Overlay) })
	if i < 0 {
		return fleet.Errorf(fleet.Unavailable, "render "+f.Revision.Short(), "something that it needs cannot be got")
	}
	return fleet.Errorf(fleet.Unavailable, "render "+f.Revision.Short(), "%s", f.Problems[i].Message)
}

// found holds cluster k to its last good definition.
func (a *Agent) found(k fleet.Key, c *fleet.Cluster) {
	a.mu.Lock()
	if h, ok := a.desired.clusters[k]; ok && h.cluster == nil {
		a.desired.clusters[k] = h.restored(c)
	}
	a.mu.Unlock()
	a.p.Log.Info("holding to the last good revision", "cluster", k, "revision", c.Revision)
	a.queue.AddBulk(k)
}

// lost leaves cluster k alone: nothing good is known of it.
func (a *Agent) lost(k fleet.Key, rev fleet.Revision, err error) {
	if a.overAndGone(k) {
		a.drop(k)
		return
	}
	a.mu.Lock()
	h := a.desired.clusters[k]
	h.recorded = nil
	a.desired.clusters[k] = h
	why := "does not have it"
	if err != nil {
		why = "is refused: " + oneLine(err)
	}
	a.desired.problems = append(slices.Clone(a.desired.problems), fleet.Problem{
		Overlay: h.overlay(), Cluster: k,
		Message: "the cluster is left alone: revision " + rev.String() + ", which had its last good definition, " + why,
		Hint:    "repair the newest revision",
	})
	a.mu.Unlock()
	a.p.Log.Error("cannot find the last good definition, leaving the cluster alone", "cluster", k, "revision", rev, "error", err)
}

// newest returns the newest revision that was seen: good, refused, or one that
// cannot be got yet.
func (a *Agent) newest() fleet.Revision {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.delay.rev.IsZero():
		return a.delay.rev
	case !a.refused.IsZero():
		return a.refused
	}
	return a.desired.revision
}
