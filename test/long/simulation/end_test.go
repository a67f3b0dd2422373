package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/sources/status"
)

// How long a fleet may take, once nothing is in its way: until everything is as
// Git says, and until nothing is done any more. Both are far more than it needs.
const (
	patience = 2 * time.Hour
	rest     = 15 * time.Minute
)

// stays is how long all is as Git says before the fleet is said to have come
// there: an agent that has only just begun, or has not read the last push, says
// no more than what was true before.
const stays = 3 * time.Minute

// goodDays ends everything bad, and sees that all comes to be as Git says, stays
// so, stays so with another agent, and that nothing is left in the end.
func (l *life) goodDays() {
	if l.failed() {
		return
	}
	l.logf("good days")
	l.weather, l.fuse, l.thaw, l.startAt = weather{}, 0, time.Time{}, time.Time{}
	l.set(inmemory.Faults{Lag: l.within(0, mostLag), SlowDelete: l.within(0, 10*time.Second), SlowLeave: l.slowLeave()})
	l.better()
	if l.skips && !slices.ContainsFunc(l.wishes, func(w wish) bool { return w.skips }) {
		l.skip() // few lives come to it in bad days, and have it still
	}
	l.tellsRefusals()
	for _, m := range l.cloud.Facts().Machines {
		if m.Stopped && !l.dead[m.ID] {
			_ = l.cloud.StartVM(context.Background(), m.ID) // it may be gone by now
		}
	}
	for i := range l.wishes {
		w := &l.wishes[i]
		w.paused, w.broken, w.skips, w.gone, w.protected = false, false, false, false, false
		for n := range w.pools {
			w.pools[n].onDelete, w.pools[n].away = false, false
		}
		if !l.loneWell(i) {
			w.lone = 0 // nobody but people replaces it
		}
		l.withdraw(key(i))
	}
	l.push("repaired")
	l.endLost()
	l.comes("with the fleet repaired")
	l.rests("with the fleet repaired")
	if l.failed() {
		return
	}
	l.crash()
	l.comes("after another start")
	l.rests("after another start")
	for i := range l.wishes {
		l.wishes[i].deleted = true
	}
	l.push("the end")
	l.comes("with everything deleted")
	for i := range l.wishes {
		l.wishes[i].gone = true
	}
	l.push("all files removed")
	l.comes("with all files removed")
}

// endLost does what the status tells of clusters that nothing can bring back: those
// whose deletion was taken back half-way, whose first machine went as it became one, and
// whose first machine failed when no agent had written down that it was made.
// They are deleted to the end, and made anew.
func (l *life) endLost() {
	told := 5 * time.Minute
	for i := range l.wishes {
		if l.neverWorked(i) {
			told = 15 * time.Minute // it is given its time first
		}
	}
	l.until(time.Now().Add(told), nil, nil)
	l.problems() // read the status
	var lost []int
	for i := range l.wishes {
		c, _ := l.told.status.Cluster(key(i))
		l.mu.Lock()
		ended := l.ended[key(i)]
		l.mu.Unlock()
		if (ended || l.neverWorked(i)) && slices.ContainsFunc(c.Report.Waiting, func(why string) bool {
			return strings.Contains(why, fleet.DeleteAnnotation) || strings.Contains(why, fleet.RecreateAnnotation)
		}) {
			lost = append(lost, i)
			l.wishes[i].deleted = true
		}
	}
	if len(lost) == 0 || l.failed() {
		return
	}
	l.push("what is lost is deleted")
	l.comes("with what is lost deleted")
	for _, i := range lost {
		l.wishes[i].deleted = false
	}
	l.push("and made anew")
}

// neverWorked reports whether the control plane of cluster i has one machine, which is none yet.
func (l *life) neverWorked(i int) bool {
	facts := l.cloud.Facts()
	all := ours(facts, key(i))
	if len(all) != 1 {
		return false
	}
	_, initialised := facts.Etcd[all[0].Network]
	return !initialised
}

// loneWell reports whether the Machine of cluster i that stands alone is well.
func (l *life) loneWell(i int) bool {
	return slices.ContainsFunc(ours(l.cloud.Facts(), key(i)), func(m inmemory.MachineFacts) bool {
		return m.Tags[fleet.TagPool] == key(i).Name+"-lone" && available(m)
	})
}

// comes waits until all is as Git says.
func (l *life) comes(when string) {
	if l.failed() {
		return
	}
	l.pace = 3 * pace
	began, missing := time.Now(), ""
	var since time.Time
	most := patience
	if l.waves != nil {
		most *= 3 // one after the other, in the window of each hour
	}
	if !l.until(began.Add(most), nil, func() bool {
		l.skipDeparted()
		if missing = l.missing(); missing != "" {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= stays
	}) {
		l.violate("ConvergesToDesired: %s, after %s: %s", when, most, missing)
		return
	}
	l.logf("as Git says %s, after %s", when, time.Since(began))
}

// skipDeparted has people go on without clusters that were deleted before their change was done: others wait for
// them until somebody does.
func (l *life) skipDeparted() {
	if l.waves == nil {
		return
	}
	l.problems() // read the status
	for _, d := range l.told.status.Fleet.Rollout.Departed {
		if l.waves.skipped[d.Cluster].Equal(d.Since) {
			continue
		}
		if l.waves.skipped == nil {
			l.waves.skipped = make(map[fleet.Key]time.Time)
		}
		r := fleet.Request{
			Kind: fleet.RequestRelease, Release: fleet.ReleaseSkip, Cluster: d.Cluster, Reason: "it is gone", By: "You <you@example.com>", At: time.Now().UTC().Truncate(time.Second),
		}
		err := status.NewRequests(&l.branch).Ask(context.Background(), r)
		if l.logf("asked: %s: %v", r, err); err == nil {
			l.waves.skipped[d.Cluster] = d.Since
		}
	}
}

// rests sees that nothing is done any more.
func (l *life) rests(when string) {
	if l.failed() {
		return
	}
	l.pace = resync
	l.until(time.Now().Add(time.Minute), nil, nil) // the last report is written
	changes, commits, said := l.changes.Load(), l.branch.count(), l.branch.texts()
	l.until(time.Now().Add(rest), nil, nil)
	if n := l.changes.Load() - changes; n > 0 {
		l.violate("NothingToDoAtRest: %s: %d changes", when, n)
	}
	if n := l.branch.count() - commits; n > 0 {
		l.violate("SameFactsNoCommit: %s: %d commits: %s", when, n, cmp.Diff(said, l.branch.texts()))
	}
}

// What the status branch told after so many commits.
type told struct {
	commits int
	status  status.Status
	err     error
}

// problems says what the agent finds wrong with what Git says, and what has
// vanished from there.
func (l *life) problems() string {
	if n := l.branch.count(); n != l.told.commits {
		_, t, _ := l.branch.Read(context.Background())
		l.told.commits = n
		l.told.status, l.told.err = status.Read(t)
	}
	s, err := l.told.status, l.told.err
	switch {
	case err != nil:
		return fmt.Sprintf("the status cannot be read: %v", err)
	case len(s.Fleet.Problems)+len(s.Fleet.Orphans) > 0:
		return fmt.Sprintf("the status has problems %v and orphans %v", s.Fleet.Problems, s.Fleet.Orphans)
	}
	return ""
}

// unsaid says what the status branch does not say yet.
func (l *life) unsaid() string {
	s := l.told.status
	if why := l.wavesDone(); why != "" {
		return why
	}
	for i, w := range l.wishes {
		c, ok := s.Cluster(key(i))
		switch {
		case w.gone && w.deleted && !ok:
			continue
		case w.gone && w.deleted:
			return fmt.Sprintf("%s still has a status", key(i))
		case !ok:
			return fmt.Sprintf("%s has no status", key(i))
		case w.deleted && c.Report.Phase != fleet.PhaseDeleted, !w.deleted && c.Report.Phase != fleet.PhaseProvisioned:
			return fmt.Sprintf("%s is said to be %s, waiting for %q, %s", key(i), c.Report.Phase, c.Report.Waiting, c.Report.Failure)
		case c.Report.Failure != "" || len(c.Report.Waiting) > 0:
			return fmt.Sprintf("%s is said to wait for %q, %s", key(i), c.Report.Waiting, c.Report.Failure)
		}
		if _, err := l.secrets.Get(context.Background(), key(i), fleet.ClusterCA); w.deleted && err == nil {
			return fmt.Sprintf("the secrets of %s are there", key(i))
		}
	}
	return ""
}
