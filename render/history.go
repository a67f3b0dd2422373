package render

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
)

// HistoryManifest is spec.status.history of ConfigFile.
type HistoryManifest struct {
	Commits *int `json:"commits,omitempty"`
	Days    *int `json:"days,omitempty"`
}

// Bounds of HistoryManifest. Below the least the result would be unreadable.
const (
	leastCommits = 100
	mostCommits  = 1_000_000
	mostDays     = 3650
)

// checkedHistory returns how much of the history of the status branch stays; zero: all.
func checkedHistory(m *HistoryManifest, fail func(field, message, hint string)) fleet.HistoryBound {
	var b fleet.HistoryBound
	if m == nil {
		return b
	}
	if m.Commits == nil && m.Days == nil {
		fail("spec.status.history", "it has no limit", "give commits, days or both, or remove it")
	}
	if n := m.Commits; n != nil {
		b.Commits = *n
		if *n < leastCommits || *n > mostCommits {
			fail("spec.status.history.commits", fmt.Sprintf("%d is not from %d to %d", *n, leastCommits, mostCommits), "write the number of commits that the status branch keeps")
		}
	}
	if n := m.Days; n != nil {
		b.Age = time.Duration(min(max(*n, 1), mostDays)) * 24 * time.Hour
		if *n < 1 || *n > mostDays {
			fail("spec.status.history.days", fmt.Sprintf("%d is not from 1 to %d", *n, mostDays), "write the number of days for which the status branch keeps commits")
		}
	}
	return b
}
