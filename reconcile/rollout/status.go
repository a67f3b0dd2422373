package rollout

import (
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// A Status is what people learn of a fleet as a whole.
type Status struct {
	Fleet    fleet.ID
	Revision fleet.Revision // newest that was seen
	Applied  fleet.Revision // newest that targets follow from
	Broken   bool           // Problems are of Revision itself: not all of it is applied
	Behind   []fleet.Key    // not yet as Applied says, sorted
	Problems []fleet.Problem
	Damaged  []fleet.Problem // a problem for each cluster of which nothing is known, sorted
	Orphans  []fleet.Key     // vanished from Git, or with tags of the fleet and never in Git; sorted
	Sources  []fleet.PinnedSource
	Rollout  fleet.RolloutStatus
	Clusters int // that are known
	Blocked  int // that vanished, that the fleet asks to delete, and that are left alone
}

// Status returns what people learn of the fleet.
func (s State) Status() Status {
	vanished := s.orphans()
	out := Status{
		Fleet: s.id, Revision: s.Newest(), Applied: s.applied, Broken: len(s.problems) > 0,
		Behind:   s.keysOf(func(c cluster) bool { return c.behind }),
		Problems: s.currentProblems(), Damaged: s.damaged(), Orphans: s.allOrphans(vanished),
		Sources: s.config.Sources, Rollout: s.Rollout(), Clusters: len(s.clusters),
	}
	if !s.late.revision.IsZero() {
		out.Broken = false // what is in it nobody knows
	}
	if s.config.Prune.Enabled {
		out.Blocked = len(vanished)
	}
	return out
}

// currentProblems returns the problems of the newest revision, and of what cannot be got yet.
func (s State) currentProblems() []fleet.Problem {
	problems := slices.Clone(s.problems)
	if !s.late.revision.IsZero() {
		problems = append(problems, s.late.problem)
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.unavailable), fleet.Key.Compare) {
		problems = append(problems, s.unavailable[k])
	}
	return append(problems, s.unheld()...)
}

// unheld returns a problem for each cluster that waits for its turn and is left alone until then:
// the definition that it is held to is lost.
func (s State) unheld() []fleet.Problem {
	var out []fleet.Problem
	for _, k := range s.keysOf(func(c cluster) bool { return c.next != nil && c.definition == nil && c.recorded == nil }) {
		next := s.clusters[k].next
		out = append(out, fleet.Problem{
			Overlay: next.Overlay, Cluster: k,
			Message: "the cluster is left alone until its turn for revision " + next.Revision.String() + ": the revision with its present definition cannot be used any more, so Fairlead neither repairs it nor renews its certificates",
			Hint:    "restore that revision, or run fairlead release " + k.String() + " --now --reason TEXT to apply the newest one now",
		})
	}
	return out
}

// orphans returns the clusters that vanished and are left alone, sorted.
func (s State) orphans() []fleet.Key {
	return s.keysOf(func(c cluster) bool { return c.orphan })
}

// allOrphans returns vanished, the clusters that vanished from Git, and those that
// providers in use have and Git never had, sorted.
func (s State) allOrphans(vanished []fleet.Key) []fleet.Key {
	out := slices.Clone(vanished)
	for _, name := range s.Providers() {
		for _, k := range s.tagged[name] {
			if _, known := s.clusters[k]; !known {
				out = append(out, k)
			}
		}
	}
	return sorted(out)
}

// applyTagged takes in which clusters with tags of the fleet providers have.
func (d *Decision) applyTagged(news map[string][]fleet.Key) {
	if len(news) == 0 {
		return
	}
	s := &d.State
	before := s.allOrphans(nil)
	tagged := maps.Clone(s.tagged)
	if tagged == nil {
		tagged = make(map[string][]fleet.Key)
	}
	maps.Copy(tagged, news)
	s.tagged = tagged
	d.StatusChanged = d.StatusChanged || !slices.Equal(before, s.allOrphans(nil))
}
