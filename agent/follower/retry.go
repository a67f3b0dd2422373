package follower

import (
	"maps"
	"time"

	"fairlead.dev/agent/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
)

// A revision that cannot be got is tried again after retryFirst at first, or
// after retrySlow where only people can help, and after retryLast at last.
const (
	retryFirst = time.Second
	retrySlow  = 30 * time.Second
	retryLast  = 10 * time.Minute
)

// tries are the revisions that could not be got, and when each is tried again. An
// error of the server delays a revision. Only its content refuses it.
type tries map[fleet.Revision]try

type try struct {
	times int
	wait  time.Duration
	next  time.Time
}

// due reports whether it is time to try rev, again or for the first time.
func (t tries) due(rev fleet.Revision) bool { return !time.Now().Before(t[rev].next) }

// failed notes that rev could not be got, and returns how often in a row.
func (t tries) failed(rev fleet.Revision, err error) int {
	last := t[rev]
	first := retryFirst
	switch fleet.KindOf(err) {
	case fleet.Unauthorized, fleet.Exhausted:
		first = retrySlow
	}
	wait := min(max(2*last.wait, first), retryLast)
	t[rev] = try{last.times + 1, wait, time.Now().Add(backoff.Jitter(wait))}
	return last.times + 1
}

// only forgets all revisions but those that keep has.
func (t tries) only(keep func(fleet.Revision) bool) {
	maps.DeleteFunc(t, func(rev fleet.Revision, _ try) bool { return !keep(rev) })
}

// postpone puts off what is due: nothing can be tried while the server does not even
// tell its refs.
func (t tries) postpone() {
	for rev, try := range t {
		if t.due(rev) {
			try.next = time.Now().Add(max(try.wait, retrySlow))
			t[rev] = try
		}
	}
}

// within returns wait, or less where something is to be tried again before that.
func (t tries) within(wait time.Duration) time.Duration {
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
