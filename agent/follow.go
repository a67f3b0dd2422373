package agent

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

const (
	// pollGap passes between two polls that were triggered, so that a storm of pushes is
	// one poll a second.
	pollGap = time.Second
	// A forge may announce a push before all of its servers show it: a triggered poll that
	// finds nothing new is repeated after secondLook, and a last time after lastLook.
	secondLook = 2 * time.Second
	lastLook   = 10 * time.Second
)

// A follower follows the source, in the one goroutine that has it.
type follower struct {
	*session

	untrusted bool           // the newest revision was refused for want of a signature, which another key may be good for
	followed  fleet.Revision // newest revision that was followed, by this agent or one before; zero: none, or nobody signs
	retries   tries          // of the newest revision
	restoring tries          // of last good definitions

	triggered time.Time       // when a triggered poll was last made
	before    fleet.Revision  // newest revision then
	looks     []time.Duration // until further polls, while nothing new is found
}

// follow reads the status branch, and then follows the source.
func (a *session) follow(ctx context.Context) error {
	f := &follower{session: a, retries: tries{}, restoring: tries{}}
	if !f.restoreState(ctx) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	changed := make(chan struct{}, 1)
	if n, ok := a.p.Source.(sources.Notifier); ok {
		watch.Go(func() { a.notify(ctx, n, changed) })
	}
	for {
		if err := f.poll(ctx); err != nil {
			return err
		}
		if !f.await(ctx, changed) {
			return nil
		}
	}
}

// restoreState reads the status branch, until it can be read: without it the agent would
// take clusters for new that it only does not know any more. Single clusters that cannot
// be read are left alone: see rereadDamaged.
func (a *follower) restoreState(ctx context.Context) bool {
	for failures := backoff.New(time.Second, time.Minute); ; {
		s, err := a.branch.Read(ctx)
		var before rollout.State
		if err == nil {
			before, err = a.initialState(ctx, s)
		}
		if err == nil {
			list := make([]fleet.Report, len(s.Clusters))
			for i, c := range s.Clusters {
				list[i] = c.Report
			}
			a.targets.reports.Recall(list)
			a.p.Metrics.Restore(s.Clusters)
			a.home.Restore(s.Fleet.Home)
			if a.lineage() != nil {
				a.followed = s.Fleet.Applied
			}
			a.targets.set(before)
			return true
		}
		wait := failures.Step()
		a.ready.Set(readyRevision, "the status branch cannot be read: "+err.Error())
		a.p.Log.Error("cannot read the status branch, trying again", "error", err, "after", wait)
		if !backoff.Sleep(ctx, wait) {
			return false
		}
	}
}

// notify has changed say that the source changed, where the source can tell.
func (a *session) notify(ctx context.Context, n sources.Notifier, changed chan<- struct{}) {
	err := n.Notify(ctx, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil && ctx.Err() == nil {
		a.p.Log.Warn("cannot watch the source, polling alone", "error", err)
	}
}

// await waits for the time of the next poll, and reports whether ctx still goes on.
func (a *follower) await(ctx context.Context, changed <-chan struct{}) bool {
	wait := backoff.Jitter(a.claim.Interval())
	if len(a.looks) > 0 && a.targets.decided().Newest() == a.before {
		wait, a.looks = min(wait, a.looks[0]), a.looks[1:]
	}
	timer := time.NewTimer(a.until(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-a.polls:
		if !backoff.Sleep(ctx, pollGap-time.Since(a.triggered)) {
			return false
		}
		select { // the same poll answers a trigger that came meanwhile
		case <-a.polls:
		default:
		}
		a.triggered, a.before, a.looks = time.Now(), a.targets.decided().Newest(), []time.Duration{secondLook, lastLook}
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// until returns wait, or less where something is to be done before that: a revision is
// tried again, or a suspension ends.
func (a *follower) until(wait time.Duration) time.Duration {
	wait = a.restoring.within(a.retries.within(wait))
	if at := a.targets.decided().WakeAt(time.Now()); !at.IsZero() {
		wait = min(wait, max(retryFirst/2, time.Until(at)))
	}
	return wait
}
