package fleet

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Waves say how and when changes reach the clusters of a fleet. The zero Waves let
// all changes start at once.
type Waves struct {
	Stages  []Stage
	Classes []ClassStages // for clusters of these classes instead of Stages
	Windows []Window
	Freezes []Freeze
}

// Declared reports whether anything waits at all.
func (w *Waves) Declared() bool {
	return len(w.Stages)+len(w.Classes)+len(w.Windows)+len(w.Freezes) > 0
}

// AsksAuthors reports whether it matters who wrote what waits.
func (w *Waves) AsksAuthors() bool {
	asks := func(s Stage) bool { return s.Approvals > 0 }
	return slices.ContainsFunc(w.Stages, asks) || slices.ContainsFunc(w.Classes, func(c ClassStages) bool { return slices.ContainsFunc(c.Stages, asks) })
}

// ClassStages are the stages of the clusters of one ClusterClass. The last one selects all that
// the others do not.
type ClassStages struct {
	Class  Key
	Stages []Stage
}

// RestStage is the name of the last stage, of clusters that no other selects. They are changed
// one at a time where there are others, and all at once where there is none.
const RestStage = "rest"

// A Stage is a part of a fleet, and how it takes what changed. A cluster belongs to the first
// that selects it.
type Stage struct {
	Name   string
	Select labels.Selector // over the labels of Clusters
	// AtOnce and Percent say how many of its clusters are changed at a time: so many, or so much
	// of the stage, rounded down, and at least one. Both zero: all.
	AtOnce, Percent int
	// Soak is how long the next stage waits once this one is done.
	Soak time.Duration
	// Failures is how many clusters may fail before nothing more begins.
	Failures int
	// Deadline is how long a cluster may take before it counts as failed; zero: for ever.
	Deadline time.Duration
	// Approval says that a person has to approve of what waits before it begins.
	Approval bool
	// Approvals is how many different people have to approve, who wrote nothing of what waits; zero:
	// one person, who may have written it.
	Approvals int
	// Reviewers are the accounts on the forge whose review of what changed is such an approval.
	Reviewers []string
}

// Limit returns how many of so many clusters are changed at a time.
func (s *Stage) Limit(clusters int) int {
	switch {
	case s.AtOnce > 0:
		return s.AtOnce
	case s.Percent > 0:
		return max(1, clusters*s.Percent/100)
	}
	return max(1, clusters)
}

// A Window is when changes of clusters may begin. Of a cluster that none selects they may
// begin at any time, and of one that several select while one of them is open.
type Window struct {
	Name     string // for people
	Select   labels.Selector
	Schedule Schedule
}

// A Schedule says when a window is open.
type Schedule interface {
	// At reports whether it is open at t, and until when that stays so; zero: permanently.
	At(t time.Time) (open bool, until time.Time)
}

// A Freeze is when no change begins.
type Freeze struct {
	Select      labels.Selector
	From, Until time.Time // From is within, Until is not
	Reason      string    // for people
}
