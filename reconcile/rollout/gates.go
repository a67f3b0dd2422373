package rollout

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
)

// Gates are windows and freezes at one time.
type gates struct {
	waves *fleet.Waves
	now   time.Time
	open  []bool      // of windows
	until []time.Time // of windows
}

func gatesAt(w *fleet.Waves, now time.Time) gates {
	g := gates{waves: w, now: now}
	for _, window := range w.Windows {
		open, until := window.Schedule.At(now)
		g.open, g.until = append(g.open, open), append(g.until, until)
	}
	return g
}

// closedFor says why a change of a cluster with these labels may not begin, and until when; empty: it
// may. A drain that takes at most this long has to be over before the gate closes.
func (g gates) closedFor(l labels.Set, drain time.Duration) (why string, until time.Time) {
	for _, f := range g.waves.Freezes {
		if f.Select.Matches(l) && !g.now.Before(f.From) && g.now.Before(f.Until) {
			return "it is frozen: " + f.Reason, f.Until
		}
	}
	closes, shut, opens, found := time.Time{}, "", time.Time{}, false
	selected := false
	for i, w := range g.waves.Windows {
		if !w.Select.Matches(l) {
			continue
		}
		selected = true
		switch {
		case g.open[i]:
			if !found || closes.Before(g.until[i]) {
				closes = g.until[i]
			}
			found = true
		case opens.IsZero() || g.until[i].Before(opens):
			shut, opens = "its window is closed: "+w.Name, g.until[i]
		}
	}
	if selected && !found {
		return shut, opens
	}
	for _, f := range g.waves.Freezes {
		if f.Select.Matches(l) && g.now.Before(f.From) && (closes.IsZero() || f.From.Before(closes)) {
			closes = f.From
		}
	}
	if drain > 0 && !closes.IsZero() && g.now.Add(drain).After(closes) {
		return "a drain may take " + drain.String() + ", longer than changes may begin", closes
	}
	return "", time.Time{}
}

// closedForChange returns what closedFor returns for a change from one set of labels to another: both have to
// allow it, so that no commit relabels a cluster out of its gates.
func (g gates) closedForChange(from, to labels.Set, drain time.Duration) (why string, until time.Time) {
	if why, until = g.closedFor(from, drain); why != "" {
		return why, until
	}
	return g.closedFor(to, drain)
}

// next returns when a window or a freeze is next another one than now; zero: never.
func (g gates) next() time.Time {
	var at time.Time
	for _, t := range g.until {
		at = earlier(at, t, g.now)
	}
	for _, f := range g.waves.Freezes {
		at = earlier(earlier(at, f.From, g.now), f.Until, g.now)
	}
	return at
}

// longestDrain returns how long taking a machine out may take by what c says; 0: no bound, or
// nothing is drained.
func longestDrain(c *fleet.Cluster) time.Duration {
	if c == nil {
		return 0
	}
	longest := slices.MaxFunc(append(c.Pools(), fleet.Pool{}), func(a, b fleet.Pool) int {
		return a.NodeDrainTimeoutSeconds + a.NodeVolumeDetachTimeoutSeconds - b.NodeDrainTimeoutSeconds - b.NodeVolumeDetachTimeoutSeconds
	})
	return time.Duration(longest.NodeDrainTimeoutSeconds+longest.NodeVolumeDetachTimeoutSeconds) * time.Second
}
