package follower

import (
	"maps"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

// A revision that cannot be got is tried again after retryFirst at first, or
// after retrySlow where only people can help, and after retryLast in the end.
const (
	retryFirst = time.Second
	retrySlow  = 30 * time.Second
	retryLast  = 10 * time.Minute
)

// retries are the revisions that could not be fetched, and when each is fetched again. An
// error of the server delays a revision. Only its content refuses it.
type retries map[fleet.Revision]retry

type retry struct {
	times int
	wait  time.Duration
	next  time.Time
}

// due reports whether rev may be fetched now.
func (t retries) due(rev fleet.Revision) bool { return !time.Now().Before(t[rev].next) }

// failed records that rev could not be fetched, and returns how often in a row.
func (t retries) failed(rev fleet.Revision, err error) int {
	last := t[rev]
	first := retryFirst
	switch fleet.KindOf(err) {
	case fleet.Unauthorized, fleet.Exhausted:
		first = retrySlow
	}
	wait := min(max(2*last.wait, first), retryLast)
	t[rev] = retry{last.times + 1, wait, time.Now().Add(backoff.Jitter(wait))}
	return last.times + 1
}

// only drops all revisions for which keep is false.
func (t retries) only(keep func(fleet.Revision) bool) {
	maps.DeleteFunc(t, func(rev fleet.Revision, _ retry) bool { return !keep(rev) })
}

// postpone delays revisions that are due: nothing can be fetched while the server does not
// list its refs.
func (t retries) postpone() {
	for rev, try := range t {
		if t.due(rev) {
			try.next = time.Now().Add(max(try.wait, retrySlow))
			t[rev] = try
		}
	}
}

// within returns wait, or less where something is to be tried again before that.
func (t retries) within(wait time.Duration) time.Duration {
	for _, try := range t {
		wait = min(wait, max(retryFirst/2, time.Until(try.next)))
	}
	return wait
}

// delayed notes that rev could not be got. Once is no news: a forge may tell of a push
// before all of its servers have it.
func (f *follower) delayed(rev fleet.Revision, err error) {
	f.retries.only(func(r fleet.Revision) bool { return r == rev })
	if f.retries.failed(rev, err) < 2 {
		return
	}
	f.refuse(rollout.Revision{Revision: rev, Unavailable: err.Error()})
}

// refusedAgain has the refused revision rev looked at again where another trusted key
// may be good for it.
func (f *follower) refusedAgain(rev fleet.Revision) {
	f.retries.only(func(r fleet.Revision) bool { return f.untrusted && r == rev })
	if f.untrusted {
		f.retries.failed(rev, fleet.Errorf(fleet.Unauthorized, "trust it", "%w", sources.ErrUntrusted))
	}
}

// resumeKnown forgets a revision that could not be got and that rev, which is known, has
// taken the place of.
func (f *follower) resumeKnown(rev fleet.Revision) {
	clear(f.retries)
	f.Fleet.DecideBulk(rollout.Input{Newest: &rollout.Revision{Revision: rev}})
}
