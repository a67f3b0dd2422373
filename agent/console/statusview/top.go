package statusview

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A Load is how much a cluster has to do, by the status branch.
type Load struct {
	Cluster  string     `json:"cluster"`
	Phase    string     `json:"phase"`
	Machines int        `json:"machines"`
	Changes  int        `json:"changes"`           // machines to be made, replaced or removed
	Since    *time.Time `json:"since,omitempty"`   // since when something waits or is not as it should be
	Waiting  string     `json:"waiting,omitempty"` // for what
	NotReady int        `json:"notReady"`

	key fleet.Key
}

// The orders of loads.
const (
	ByWaiting  = "waiting"  // the longest first
	ByChanges  = "changes"  // the most first
	ByMachines = "machines" // the most first
)

// Orders are all of them.
func Orders() []string { return []string{ByWaiting, ByChanges, ByMachines} }

// Loads returns what the clusters of s have to do, in an order; those that are equal by it
// are sorted by name.
func Loads(s status.Status, order string) []Load {
	out := make([]Load, 0, len(s.Clusters))
	for _, c := range s.Clusters {
		out = append(out, loadOf(c, s.Fleet.Rollout))
	}
	slices.SortStableFunc(out, func(a, b Load) int {
		by := 0
		switch order {
		case ByChanges:
			by = cmp.Compare(b.Changes, a.Changes)
		case ByMachines:
			by = cmp.Compare(b.Machines, a.Machines)
		default:
			by = earlier(a.Since, b.Since)
		}
		return cmp.Or(by, a.key.Compare(b.key))
	})
	return out
}

// earlier compares times; none comes last.
func earlier(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

func loadOf(c status.Cluster, r fleet.RolloutStatus) Load {
	report := c.Report
	l := Load{
		Cluster: report.Cluster.String(), Phase: string(report.Phase), Machines: len(report.Machines),
		Waiting: MessageOf(report, false), key: report.Cluster,
	}
	for _, p := range report.Pools {
		l.Changes += max(0, p.Desired-p.UpToDate, p.Current-p.UpToDate, p.Current-p.Desired)
		l.NotReady += max(0, p.Desired-p.Ready)
	}
	note := func(at time.Time) {
		if !at.IsZero() && (l.Since == nil || at.Before(*l.Since)) {
			l.Since = &at
		}
	}
	for _, cond := range c.Cluster.Status.Conditions {
		if !Good(cond) {
			note(cond.LastTransitionTime.Time)
		}
	}
	if w, waits := r.Wait(report.Cluster); waits {
		note(w.Since)
		l.Waiting = cmp.Or(l.Waiting, WaitText(w))
	}
	return l
}
