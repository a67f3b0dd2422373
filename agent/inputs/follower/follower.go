package follower

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/observability/health"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// A Fleet is what is decided by revisions. See agent/loop/decisions.
type Fleet interface {
	// Now returns what was decided so far.
	Now() rollout.State
	// DecideBulk decides on in, after what was decided so far, and updates the targets of the fleet.
	DecideBulk(in rollout.Input) rollout.Decision
}

// Parts are what a source is followed with. All but Watchdog and Tracer are required.
type Parts struct {
	Revisions *revisions.Revisions
	Fleet     Fleet
	Trigger   Trigger // of polls

	// Restore reads what an agent before this one decided, has the fleet go on from there,
	// and returns the revision that was applied.
	Restore func(ctx context.Context) (applied fleet.Revision, err error)
	// Recorded returns what the status branch says of a cluster, and whether it says
	// anything.
	Recorded func(ctx context.Context, k fleet.Key) (status.Cluster, bool, error)
	// Repaired takes in a cluster that Restore could not read.
	Repaired func(c status.Cluster)
	// Owned says why the fleet is not followed any more: another agent owns it.
	Owned func(ctx context.Context) error
	// Interval returns how long to wait until the next poll.
	Interval func() time.Duration
	// Notices returns problems of a fleet that keep no cluster of it from being applied.
	Notices func(f fleet.Fleet) []fleet.Problem
	// Applied is called when a revision was applied.
	Applied func()
	// Then are called after each poll.
	Then []func(ctx context.Context)

	// Unready is called with the reason why no revision was applied yet.
	Unready  func(reason string)
	Metrics  Metrics
	Watchdog *health.Watchdog // is notified of polls
	Tracer   *tracing.Tracer
	Log      *slog.Logger
}

// Metrics show whether the newest revision can be used.
type Metrics interface{ SetRefused(refused bool) }

const (
	// pollGap passes between two polls that were triggered, so that a storm of pushes is
	// one poll a second.
	pollGap = time.Second
	// A forge may announce a push before all of its servers show it: a triggered poll that
	// finds nothing new is repeated after secondLook, and a last time after lastLook.
	secondLook = 2 * time.Second
	lastLook   = 10 * time.Second
)

// A Trigger has a source polled at once. Its methods are safe for concurrent use.
type Trigger chan struct{}

// NewTrigger returns a trigger that was not fired yet.
func NewTrigger() Trigger { return make(Trigger, 1) }

// Fire has the source polled now and not with the next interval. It does not wait; calls
// that come close together are one.
func (t Trigger) Fire() {
	select {
	case t <- struct{}{}:
	default:
	}
}

// reset forgets that the trigger was fired.
func (t Trigger) reset() {
	select {
	case <-t:
	default:
	}
}

// A follower is one Run, and of its goroutine alone.
type follower struct {
	Parts

	untrusted bool              // the newest revision was refused for want of a signature, which another key may be good for
	followed  fleet.Revision    // newest revision that was followed, by this agent or one before; zero: none, or no signatures are required
	recorded  fleet.Revision    // that the status branch had as applied when the agent began
	refusal   *rollout.Revision // the report on the newest revision; nil: it is good, or not known
	retries   retries           // of the newest revision
	restoring retries           // of last good definitions

	triggered time.Time       // when a triggered poll was last made
	before    fleet.Revision  // newest revision then
	looks     []time.Duration // until further polls, while nothing new is found
}

// Run follows the source until ctx ends, which is no error, or until Parts.Owned says why it
// is not followed any more.
func Run(ctx context.Context, p Parts) error {
	f := &follower{Parts: p, retries: retries{}, restoring: retries{}}
	if !f.begin(ctx) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	changed := NewTrigger()
	watch.Go(func() {
		if err := p.Revisions.Notify(ctx, changed.Fire); err != nil && ctx.Err() == nil {
			p.Log.Warn("cannot watch the source, only polling", "error", err)
		}
	})
	for {
		if err := f.poll(ctx); err != nil {
			return err
		}
		if !f.await(ctx, changed) {
			return nil
		}
	}
}

// begin reads the status branch, until it can be read: without it the agent would take
// clusters for new that it only does not know any more. It reports whether ctx still goes on.
func (f *follower) begin(ctx context.Context) bool {
	for failures := backoff.New(time.Second, time.Minute); ; {
		applied, err := f.Restore(ctx)
		if err == nil {
			f.recorded = applied
			if f.Revisions.Signed() {
				f.followed = applied
			}
			return true
		}
		wait := failures.Step()
		f.Unready("the status branch cannot be read: " + err.Error())
		f.Log.Error("cannot read the status branch, retrying", "error", err, "after", wait)
		if !backoff.Sleep(ctx, wait) {
			return false
		}
	}
}

// await waits for the time of the next poll, and reports whether ctx still goes on.
func (f *follower) await(ctx context.Context, changed Trigger) bool {
	wait := backoff.Jitter(f.Interval())
	if len(f.looks) > 0 && f.Fleet.Now().Newest() == f.before {
		wait, f.looks = min(wait, f.looks[0]), f.looks[1:]
	}
	timer := time.NewTimer(f.until(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-f.Trigger:
		if !backoff.Sleep(ctx, pollGap-time.Since(f.triggered)) {
			return false
		}
		f.Trigger.reset() // the same poll answers a trigger that came meanwhile
		f.triggered, f.before, f.looks = time.Now(), f.Fleet.Now().Newest(), []time.Duration{secondLook, lastLook}
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// until returns wait, or less where something is to be done before that: a revision is
// tried again, or a suspension ends.
func (f *follower) until(wait time.Duration) time.Duration {
	wait = f.restoring.within(f.retries.within(wait))
	if at := f.Fleet.Now().WakeAt(time.Now()); !at.IsZero() {
		wait = min(wait, max(retryFirst/2, time.Until(at)))
	}
	return wait
}
