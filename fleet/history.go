package fleet

import (
	"fmt"
	"time"
)

// A HistoryBound is how much of a branch's history stays. What it does not bound is
// zero; where both are given, the narrower one counts.
type HistoryBound struct {
	Commits int
	Age     time.Duration // whole days
}

// String returns it in words: "100 commits", "30 days", "100 commits and 30 days".
func (b HistoryBound) String() string {
	commits, days := fmt.Sprintf("%d commits", b.Commits), fmt.Sprintf("%d days", b.Age/(24*time.Hour))
	switch {
	case b == HistoryBound{}:
		return "no bound"
	case b.Age == 0:
		return commits
	case b.Commits == 0:
		return days
	}
	return commits + " and " + days
}
