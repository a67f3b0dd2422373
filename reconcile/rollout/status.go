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
	Orphans  []fleet.Key     // removed from Git, or with tags of the fleet and never in Git; sorted
	Sources  []fleet.PinnedSource
	Rollout  fleet.RolloutStatus
	Clusters int // that are known
	Blocked  int // that vanished, that the fleet asks to delete, and that are left alone
}

// Status returns what people learn of the fleet.
func (s State) Status() Status {
	out := Status{
		Fleet: s.id, Revision: s.Newest(), Applied: s.applied, Broken: len(s.problems) > 0 && s.late.revision.IsZero(), // the content of a late one is not known
		Problems: s.currentProblems(), Sources: s.config.Sources, Rollout: s.Rollout(), Clusters: s.clusters.len(),
	}
	for k, c := range s.clusters.seenNotable() {
		if c.behind {
			out.Behind = append(out.Behind, k)
		}
		if c.orphan && (c.damaged == "" || c.gone) {
			out.Orphans = append(out.Orphans, k)
		}
		if c.damaged != "" {
			out.Damaged = append(out.Damaged, fleet.Problem{
				Cluster: k, Message: "nothing is done to the cluster: " + c.damaged,
				Hint: "on the status branch, put the file back as it was; docs/operations/disaster-recovery.md says what is lost where that cannot be",
			})
		}
		if c.next != nil && c.definition == nil && c.recorded == nil {
			out.Problems = append(out.Problems, unheld(k, c.next))
		}
	}
	if s.config.Prune.Enabled {
		out.Blocked = len(out.Orphans)
	}
	out.Orphans = sorted(append(out.Orphans, s.unknown...))
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
	return problems
}

// unheld is the problem of a cluster that waits for its turn for next and is left alone until then:
// its last target is lost.
func unheld(k fleet.Key, next *fleet.Cluster) fleet.Problem {
	return fleet.Problem{
		Overlay: next.Overlay, Cluster: k,
		Message: "the cluster is left alone until its turn for revision " + next.Revision.String() + ": the revision with its present definition cannot be used any more, so Fairlead neither repairs it nor renews its certificates",
		Hint:    "restore that revision, or run fairlead release " + k.String() + " --now --reason TEXT to apply the newest one now",
	}
}

// applyTagged takes in which clusters with tags of the fleet providers have.
func (s *State) applyTagged(news map[string][]fleet.Key) {
	tagged := maps.Clone(s.tagged)
	if tagged == nil {
		tagged = make(map[string][]fleet.Key)
	}
	maps.Copy(tagged, news)
	s.tagged = tagged
}

// findUnknown finds the clusters that providers in use have and Git never had.
func (d *Decision) findUnknown() {
	s := &d.State
	if len(s.tagged) == 0 {
		return
	}
	var now []fleet.Key
	for _, name := range s.Providers() {
		for _, k := range s.tagged[name] {
			if !s.Has(k) {
				now = append(now, k)
			}
		}
	}
	if now = sorted(now); !slices.Equal(now, s.unknown) {
		s.unknown, d.StatusChanged = now, true
	}
}
