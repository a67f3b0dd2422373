package revisions

import (
	"context"
	"time"

	"fairlead.dev/agent/observability/health"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

// A Renderer renders for an agent.
type Renderer interface {
	render.Renderer
	// Stale reports whether a revision that was rendered may come to another fleet, as it
	// can be decrypted what could not.
	Stale() bool
	// Close ends what is under way for another Render.
	Close()
}

// Metrics show what is got, and how long it takes.
type Metrics interface {
	Fetched(ctx context.Context, operation string, err error, took time.Duration)
	Rendered(ctx context.Context, err error, took time.Duration)
}

// Parts are what Revisions are put together from. Watchdog and Tracer may be nil.
type Parts struct {
	Source   sources.Source
	Renderer Renderer
	Metrics  Metrics
	Watchdog *health.Watchdog // is notified of renders
	Tracer   *tracing.Tracer
}

// Revisions are those of one source. They are safe for concurrent use.
type Revisions struct{ p Parts }

// New returns the revisions of the source of p.
func New(p Parts) *Revisions { return &Revisions{p} }

// Settled reports whether trying again with the same revision cannot help: what is in it is
// refused.
func Settled(err error) bool { return fleet.KindOf(err) == fleet.Invalid }

// Resolve asks the source for its newest revision.
func (r *Revisions) Resolve(ctx context.Context) (fleet.Revision, error) {
	started := time.Now()
	rev, err := r.p.Source.Resolve(ctx)
	if ctx.Err() == nil {
		r.p.Metrics.Fetched(ctx, "resolve", err, time.Since(started))
		r.p.Tracer.Done(ctx, "resolve", time.Since(started), err)
	}
	return rev, err
}

// Notify calls changed when the source may have a newer revision, until ctx ends. It returns
// at once where the source cannot tell.
func (r *Revisions) Notify(ctx context.Context, changed func()) error {
	if n, ok := r.p.Source.(sources.Notifier); ok {
		return n.Notify(ctx, changed)
	}
	return nil
}

// Newest renders the newest revision, whatever was followed.
func (r *Revisions) Newest(ctx context.Context) (fleet.Fleet, error) {
	rev, err := r.p.Source.Resolve(ctx)
	if err != nil {
		return fleet.Fleet{}, err
	}
	return r.render(ctx, rev)
}

// Next renders rev, which is to take the place of followed; zero: nothing was followed yet.
func (r *Revisions) Next(ctx context.Context, followed, rev fleet.Revision) (fleet.Fleet, error) {
	if err := r.Continues(ctx, followed, rev); err != nil {
		return fleet.Fleet{}, err
	}
	return r.render(ctx, rev)
}

// Continues returns why rev must not take the place of followed; zero: nothing was followed
// yet.
func (r *Revisions) Continues(ctx context.Context, followed, rev fleet.Revision) error {
	l := r.lineage()
	if l != nil && !followed.IsZero() {
		return l.Continues(ctx, followed, rev)
	}
	if s, ok := l.(sources.Starter); ok {
		return s.Starts(ctx, rev)
	}
	return nil
}

// Follows reports whether rev may be of a branch or tag that the source follows.
func (r *Revisions) Follows(rev fleet.Revision) bool {
	c, ok := r.p.Source.(sources.Chooser)
	return !ok || c.Follows(rev.Ref)
}

// Authors returns who wrote what rev has and applied does not, each as fleet.Person has it. It
// returns no one where the source does not know.
func (r *Revisions) Authors(ctx context.Context, applied, rev fleet.Revision) ([]string, error) {
	if a, ok := r.p.Source.(sources.Authored); ok && !applied.IsZero() {
		return a.Authors(ctx, applied, rev)
	}
	return nil, nil
}

// Older renders rev, which is said to have been followed before followed.
func (r *Revisions) Older(ctx context.Context, followed, rev fleet.Revision) (fleet.Fleet, error) {
	if l := r.lineage(); l != nil {
		if err := l.Includes(ctx, followed, rev); err != nil {
			return fleet.Fleet{}, err
		}
	}
	return r.render(ctx, rev)
}

// Signed reports whether keys say who may push: then it counts what was followed.
func (r *Revisions) Signed() bool { return r.lineage() != nil }

// Vouched returns until when a trusted key vouches for rev, which was followed; zero: permanently.
// The error wraps sources.ErrUntrusted if no trusted key does so now.
func (r *Revisions) Vouched(rev fleet.Revision) (until time.Time, err error) {
	if v, ok := r.lineage().(sources.Voucher); ok {
		return v.Vouched(rev)
	}
	return time.Time{}, nil
}

// Made returns when rev was made, if that has to be known when its server does not have it any
// more; zero: not known.
func (r *Revisions) Made(rev fleet.Revision) time.Time {
	if d, ok := r.lineage().(sources.Dated); ok && !rev.IsZero() {
		return d.Made(rev)
	}
	return time.Time{}
}

// Remember takes in when rev was made, which was followed by an agent before.
func (r *Revisions) Remember(rev fleet.Revision, at time.Time) {
	if d, ok := r.lineage().(sources.Dated); ok && !rev.IsZero() {
		d.Remember(rev, at)
	}
}

// Stale reports whether a revision that was rendered may come to another fleet.
func (r *Revisions) Stale() bool { return r.p.Renderer.Stale() }

// lineage returns what knows what continues what; nil where no signatures are required.
func (r *Revisions) lineage() sources.Lineage {
	if l, ok := r.p.Source.(sources.Lineage); ok && l.Signed() {
		return l
	}
	return nil
}

func (r *Revisions) render(ctx context.Context, rev fleet.Revision) (fleet.Fleet, error) {
	started := time.Now()
	tree, err := r.p.Source.Fetch(ctx, rev)
	r.p.Metrics.Fetched(ctx, "fetch", err, time.Since(started))
	r.p.Tracer.Done(ctx, "fetch", time.Since(started), err, "revision", rev.String())
	if err != nil {
		return fleet.Fleet{}, err
	}
	started = time.Now()
	_, ends := r.p.Watchdog.Begin(health.Rendering, rev.String())
	f, err := r.p.Renderer.Render(ctx, rev, tree)
	ends()
	r.p.Metrics.Rendered(ctx, err, time.Since(started))
	r.p.Tracer.Done(ctx, "render", time.Since(started), err, "revision", rev.String())
	return f, err
}
