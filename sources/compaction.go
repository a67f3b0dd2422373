package sources

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// A Compactor is a Branch whose history can be made shorter.
type Compactor interface {
	// Compact replaces the history of base, where it is over the bound of c, by one
	// with the same content that keeps the newest commits and, of each file, the last
	// commit that changed it. It returns the new head, or base where the history is
	// within the bound, and what the history is then. If the branch is not at base any
	// more the error is of kind Conflict and nothing happened; Unauthorized says that
	// history cannot be replaced there, Unanswered that it may have been.
	Compact(ctx context.Context, base fleet.Revision, c Compaction) (fleet.Revision, History, error)
}

// A History is how long a branch's line of commits is, from its head to where it began
// or was compacted.
type History struct {
	Commits int
	Oldest  time.Time // of those commits
}

// A Compaction says how much of a history stays.
type Compaction struct {
	Bound    fleet.HistoryBound
	Now      time.Time
	Message  string // of the commit that tells of it
	Trailers []string
}

// Keeps returns how many of the commits of a history stay, given their times, the newest
// first. The last one is where it began. All stay until the bound is passed by a
// quarter, so that compactions are rare.
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

// Due reports whether h passes the bound by a quarter.
func (c Compaction) Due(h History) bool {
	return c.Bound.Commits > 0 && h.Commits > c.Bound.Commits+c.Bound.Commits/4 ||
		c.Bound.Age > 0 && h.Oldest.Before(c.Now.Add(-c.Bound.Age-c.Bound.Age/4))
}
