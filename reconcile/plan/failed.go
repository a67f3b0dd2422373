package plan

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// failedRetry is how long a machine that failed to start stays before another is
// tried in its place: want of capacity, the most common reason, takes time to go.
const failedRetry = 5 * time.Minute

// checkFailed marks machines as unhealthy that failed before they ever had a Node: there
// is nothing on them to lose, and they will never run. Machines that a health
// check looks after are its own, but those that another place has capacity for: these are
// replaced at once.
//
// What one machine of a pool fails of fails the others as well, as long as it lasts: one
// machine at a time is tried again for all of them, and each try waits longer than the one
// before it, until a machine joins.
func (f *facts) checkFailed() {
	for _, g := range f.groups {
		if g.pool == nil {
			continue
		}
		failed := slices.DeleteFunc(slices.Clone(g.all), func(m *machine) bool { return !f.failedLongAgo(m) })
		slices.SortStableFunc(failed, func(a, b *machine) int { return f.madeAt(a).Compare(f.madeAt(b)) })
		waits := f.untilRetry(g) > 0
		for i, m := range failed {
			joined := g.joinedSince(f, f.madeAt(m)) // what m failed of has passed
			switch {
			case m.leaving, m.Elsewhere:
			case waits:
				if m.current {
					f.noteRetry(g, m)
				}
				continue
			case len(failed) > 1 && !joined && (i > 0 || f.tries(g, failed)):
				continue
			}
			m.unhealthy = &defect{
				clusterv1.MachineHealthCheckNodeStartupTimeoutReason,
				"failed to start, another is tried in its place" + because(m.Message),
			}
			m.condemned = !m.leaving
			m.isTry = m.condemned && m.current && !joined && !m.Elsewhere
		}
	}
}

// failedLongAgo reports whether m failed to start, and has stayed for failedRetry, unless it is not to wait.
func (f *facts) failedLongAgo(m *machine) bool {
	if m.State != fleet.MachineFailed || m.node != nil || m.checked && !m.Elsewhere || m.duplicate || m.asked() || skipsRemediation(m) {
		return false
	}
	if m.Elsewhere {
		return true
	}
	if f.unreachable && !f.failedFirst(m) {
		return false // a Node is not known to be missing
	}
	since := f.madeAt(m)
	if f.unreachable {
		since = latest(since, f.silentSince(m))
	}
	if left := failedRetry - f.Now.Sub(since); left >= 0 {
		f.wake(left + time.Second)
		return false
	}
	return true
}

// starts reports whether m still has time to join.
func (f *facts) starts(m *machine) bool {
	left := defaultStartup - f.Now.Sub(f.madeAt(m))
	if left > 0 {
		f.wake(left)
	}
	return left > 0
}

// joinedSince reports whether a machine of g that was made at that time or later has joined.
func (g *group) joinedSince(f *facts, at time.Time) bool {
	return slices.ContainsFunc(g.all, func(o *machine) bool { return o.node != nil && !f.madeAt(o).Before(at) })
}

// tries reports whether a machine of g was made and has its time to join.
func (f *facts) tries(g *group, failed []*machine) bool {
	if len(g.pending) > 0 {
		return true
	}
	return slices.ContainsFunc(g.all, func(m *machine) bool {
		return !m.leaving && m.node == nil && !slices.Contains(failed, m) && f.starts(m)
	})
}
