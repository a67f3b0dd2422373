package sources_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

func TestKeeps(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		reason  string
		commits int // one an hour
		bound   fleet.HistoryBound
		want    int
	}{
		"none":     {"no bound keeps all", 1000, fleet.HistoryBound{}, 1000},
		"empty":    {"nothing is nothing", 0, fleet.HistoryBound{Commits: 100}, 0},
		"within":   {"the bound is passed by less than a quarter", 126, fleet.HistoryBound{Commits: 100}, 126},
		"passed":   {"by more than a quarter", 127, fleet.HistoryBound{Commits: 100}, 100},
		"young":    {"a quarter more than 100 hours", 126, fleet.HistoryBound{Age: 100 * time.Hour}, 126},
		"old":      {"older than that", 128, fleet.HistoryBound{Age: 100 * time.Hour}, 101},
		"both":     {"the narrower bound counts", 1000, fleet.HistoryBound{Commits: 50, Age: 100 * time.Hour}, 50},
		"both age": {"the narrower bound counts", 1000, fleet.HistoryBound{Commits: 500, Age: 100 * time.Hour}, 101},
		"ancient":  {"the newest stays", 1000, fleet.HistoryBound{Age: time.Second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			times := make([]time.Time, c.commits)
			for i := range times {
				times[i] = now.Add(-time.Duration(i) * time.Hour)
			}
			got := sources.Compaction{Bound: c.bound, Now: now}.Keeps(times)
			if got != c.want {
				t.Errorf("%d are kept, want %d: %s", got, c.want, c.reason)
			}
		})
	}
}
