package agent

import (
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A revision that cannot be got is tried again after retryFirst at first, or
// after retrySlow where only people can help, and after retryLast at last.
const (
	retryFirst = time.Second
	retrySlow  = 30 * time.Second
	retryLast  = 10 * time.Minute
)

// tries are the revisions that could not be got, and when each is tried again.
// What a server does not give now it may give a moment later: only what is in a
// revision refuses it. They are touched by follow alone.
type tries map[fleet.Revision]try

type try struct {
	times int
	wait  time.Duration
	next  time.Time
}

// due reports whether it is time to try rev, again or for the first time.
func (t tries) due(rev fleet.Revision) bool { return !time.Now().Before(t[rev].next) }

// failed takes down that rev could not be got, and returns how often in a row.
func (t tries) failed(rev fleet.Revision, err error) int {
	last := t[rev]
	first := retryFirst
	switch fleet.KindOf(err) {
	case fleet.Unauthorized, fleet.Exhausted:
		first = retrySlow
	}
	wait := min(max(2*last.wait, first), retryLast)
	t[rev] = try{last.times + 1, wait, time.Now().Add(jitter(wait))}
	return last.times + 1
}

// only forgets all revisions but those that keep has.
func (t tries) only(keep func(fleet.Revision) bool) {
	maps.DeleteFunc(t, func(rev fleet.Revision, _ try) bool { return !keep(rev) })
}

// later puts off what is due: nothing can be tried while the server does not even
// tell its refs.
func (t tries) later() {
	for rev, try := range t {
		if t.due(rev) {
			try.next = time.Now().Add(max(try.wait, retrySlow))
			t[rev] = try
		}
	}
}

// sooner returns wait, or less where something is to be tried again before that.
func (t tries) sooner(wait time.Duration) time.Duration {
	for _, try := range t {
		wait = min(wait, max(retryFirst/2, time.Until(try.next)))
	}
	return wait
}

// A delay is the newest revision that could not be got yet, and why.
type delay struct {
	rev     fleet.Revision
	problem fleet.Problem
}

// delayed takes down that rev could not be got. Once is no news: a forge may tell
// of a push before all of its servers have it.
func (a *Agent) delayed(rev fleet.Revision, err error) {
	a.retries.only(func(r fleet.Revision) bool { return r == rev })
	if a.retries.failed(rev, err) < 2 {
		return
	}
	d := delay{rev, fleet.Problem{
		Message: "the newest revision " + rev.String() + " cannot be got yet: " + oneLine(err),
		Hint:    "everything stays at the last revision that was good; the agent tries again by itself",
	}}
	if d != a.waitsFor() {
		a.setDelay(d)
		a.tell()
	}
}

// refusedAgain has the refused revision rev looked at again where another trusted key
// may be good for it.
func (a *Agent) refusedAgain(rev fleet.Revision) {
	a.retries.only(func(r fleet.Revision) bool { return a.untrusted && r == rev })
	if a.untrusted {
		a.retries.failed(rev, fleet.Errorf(fleet.Unauthorized, "trust it", "%w", sources.ErrUntrusted))
	}
}

// givesUp forgets a revision that could not be got and that one which is known has
// taken the place of.
func (a *Agent) givesUp() {
	told := a.waitsFor() != (delay{})
	a.arrived()
	if told {
		a.tell()
	}
}

// arrived forgets what was tried again for the newest revision.
func (a *Agent) arrived() {
	clear(a.retries)
	a.setDelay(delay{})
}

// waitsFor returns the revision that the agent tries again to get, if there is one.
func (a *Agent) waitsFor() delay {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.delay
}

func (a *Agent) setDelay(d delay) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.delay = d
}

// late adds what cannot be got yet to problems.
func (a *Agent) late(problems []fleet.Problem) []fleet.Problem {
	a.mu.Lock()
	defer a.mu.Unlock()
	problems = slices.Clone(problems)
	if !a.delay.rev.IsZero() {
		problems = append(problems, a.delay.problem)
	}
	for _, k := range slices.SortedFunc(maps.Keys(a.unfound), fleet.Key.Compare) {
		problems = append(problems, a.unfound[k])
	}
	return problems
}

// notFound tells of clusters whose last good definition, of revision rev, cannot
// be got yet. They are left alone until it is.
func (a *Agent) notFound(rev fleet.Revision, keys []fleet.Key, err error) {
	for _, k := range keys {
		if a.overAndGone(k) {
			a.drop(k)
			continue
		}
		a.mu.Lock()
		h := a.desired.clusters[k]
		a.unfound[k] = fleet.Problem{
			Overlay: h.overlay(), Cluster: k,
			Message: "its last good definition, of revision " + rev.String() + ", cannot be got yet, and the cluster is left alone until then: " + oneLine(err),
			Hint:    "repair the newest revision; the agent tries again by itself",
		}
		a.mu.Unlock()
	}
}

// overAndGone reports whether the cluster k was deleted and Git has it no more: no
// definition is needed to forget it.
func (a *Agent) overAndGone(k fleet.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.desired.clusters[k]
	return h.recorded != nil && h.recorded.Phase == fleet.PhaseDeleted && !h.inGit
}

// unfoundOnly forgets what is told of clusters that are not in wanted, and reports
// whether that was anything.
func (a *Agent) unfoundOnly(wanted map[fleet.Revision][]fleet.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.unfound)
	maps.DeleteFunc(a.unfound, func(k fleet.Key, _ fleet.Problem) bool {
		for _, keys := range wanted {
			if slices.Contains(keys, k) {
				return false
			}
		}
		return true
	})
	return len(a.unfound) != before
}

func (a *Agent) forgetUnfound(keys []fleet.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range keys {
		delete(a.unfound, k)
	}
}
