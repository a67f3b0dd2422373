package sources

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// A Compactor is a Branch whose history can be shortened.
type Compactor interface {
	// Compact replaces the history of base, if it is longer than c allows, by one with the
	// same content. The new history keeps the newest commits and, for each file, the last
	// commit that changed it. It returns the new head, or base where the history is short
	// enough, and what the history is then. A branch that is not at base any more is an
	// error of kind Conflict, and nothing happened. Unauthorized says that the server does
	// not allow to replace history, Unanswered that the history may have been replaced.
	Compact(ctx context.Context, base fleet.Revision, c Compaction) (fleet.Revision, History, error)
}

// A History says how long a branch's line of commits is: from its head to its first commit,
// or to the last compaction.
type History struct {
	Commits int
	Oldest  time.Time // of the oldest of these commits
}

// A Compaction says how much of a history is kept.
type Compaction struct {
	Bound    fleet.HistoryBound
	Now      time.Time
	Message  string // message of the commit that replaces older ones
	Trailers []string
}

// Keeps returns how many commits of a history are kept, given their times, the newest
// first. The last one is the beginning of the history. All are kept until the bound is
// exceeded by a quarter, so that compactions are rare.
func (c Compaction) Keeps(times []time.Time) int {
	line := times[:max(len(times)-1, 0)]
	if n := len(line); n == 0 || !c.Due(History{Commits: n, Oldest: line[n-1]}) {
		return len(times)
	}
	keep := len(line)
	if c.Bound.Commits > 0 {
		keep = min(keep, c.Bound.Commits)
	}
	for c.Bound.Age > 0 && keep > 1 && line[keep-1].Before(c.Now.Add(-c.Bound.Age)) {
		keep--
	}
	return keep
}

// Due reports whether h exceeds the bound by a quarter.
func (c Compaction) Due(h History) bool {
	return c.Bound.Commits > 0 && h.Commits > c.Bound.Commits+c.Bound.Commits/4 ||
		c.Bound.Age > 0 && h.Oldest.Before(c.Now.Add(-c.Bound.Age-c.Bound.Age/4))
}
