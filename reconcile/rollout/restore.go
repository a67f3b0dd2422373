package rollout

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// MissingDefinitions returns the older revisions that hold last good definitions, each
// with the clusters that need one, sorted. Such a cluster is known by name alone: it is broken in the
// newest revision, or was half deleted when an agent ended. Until its definition is
// found, nothing is done to it.
func (s State) MissingDefinitions() map[fleet.Revision][]fleet.Key {
	wanted := make(map[fleet.Revision][]fleet.Key)
	if s.revision.IsZero() { // nothing is done before the first, and all are known by name alone
		return wanted
	}
	for _, k := range keysOf(s.clusters.seenNotable(), (*cluster).lacksDefinition) {
		rev := s.clusters.of(k).recorded.Revision
		wanted[rev] = append(wanted[rev], k)
	}
	return wanted
}

// lacksDefinition reports whether the last good definition is to be found.
func (c cluster) lacksDefinition() bool { return c.definition == nil && c.recorded != nil && !c.orphan }

// lost reports whether the last good definition is not there any more, and another one waits.
func (c cluster) lost() bool { return c.definition == nil && c.recorded == nil && c.next != nil }

// restore takes in what came of an older revision: the last good definitions of
// clusters, or that these are not there yet, or never.
func (d *Decision) restore(r Revision) {
	s := &d.State
	keys := s.MissingDefinitions()[r.Revision]
	if len(keys) == 0 {
		return
	}
	f, lost := fleet.Fleet{}, r.Refused
	if r.Fleet != nil {
		f = *r.Fleet
		if err := s.Renamed(f); err != nil {
			lost = err.Error()
		}
	}
	for _, k := range keys {
		later := r.Unavailable
		i := slices.IndexFunc(f.Clusters, func(c fleet.Cluster) bool { return c.Key == k })
		if i < 0 && slices.Contains(f.Unavailable, s.clusters.of(k).overlay()) {
			later = lateError(f).Error()
		}
		switch over := s.clusters.of(k).deletedAndGone(); {
		case later != "" && !over:
			d.postpone(k, r.Revision, later)
		case later == "" && lost == "" && i >= 0:
			// Its folder may have been built for another revision that has it only as a
			// part; this one is where it is found again.
			s.clusters.put(k, s.clusters.of(k).restored(atRevision(&f.Clusters[i], r.Revision)))
			d.Changed = append(d.Changed, k)
		case over:
			d.forget(k)
		default:
			d.giveUp(k, r.Revision, lost)
		}
	}
	d.StatusChanged = true
}

// lateError says what f lacks, in the words of its first problem of that kind.
func lateError(f fleet.Fleet) error {
	i := slices.IndexFunc(f.Problems, func(p fleet.Problem) bool { return slices.Contains(f.Unavailable, p.Overlay) })
	if i < 0 {
		return fleet.Errorf(fleet.Unavailable, "render "+f.Revision.Short(), "something that it needs cannot be got")
	}
	return fleet.Errorf(fleet.Unavailable, "render "+f.Revision.Short(), "%s", f.Problems[i].Message)
}

// deletedAndGone reports whether the cluster was deleted and Git no longer has it: no
// definition is needed to forget it.
func (c cluster) deletedAndGone() bool {
	return c.recorded != nil && c.recorded.Phase == fleet.PhaseDeleted && !c.inGit
}

// restored returns c with the definition found at the recorded revision.
func (c cluster) restored(definition *fleet.Cluster) cluster {
	switch {
	case c.inGit || !c.pruned && !c.deleting():
		if c.abandoned() {
			definition = abandoned(definition)
		}
	case c.pruned && definition.Protect:
		c.pruned, c.orphan = false, true
	default:
		c.pruned = c.pruned || !definition.Delete // which the record does not say
		definition = deleted(definition)
	}
	c.definition, c.recorded = definition, nil
	return c
}

// postpone notes that the last good definition of cluster k, of revision rev, cannot be
// got yet. The cluster is left alone until it can.
func (d *Decision) postpone(k fleet.Key, rev fleet.Revision, why string) {
	unavailable := maps.Clone(d.State.unavailable)
	if unavailable == nil {
		unavailable = make(map[fleet.Key]fleet.Problem)
	}
	unavailable[k] = fleet.Problem{
		Overlay: d.State.clusters.of(k).overlay(), Cluster: k,
		Message: "its last good definition, of revision " + rev.String() + ", cannot be got yet, and the cluster is left alone until then: " + oneLine(why),
		Hint:    "repair the newest revision; the agent tries again by itself",
	}
	d.State.unavailable = unavailable
}

// giveUp leaves cluster k unmanaged permanently: nothing good is known of it.
func (d *Decision) giveUp(k fleet.Key, rev fleet.Revision, refused string) {
	s := &d.State
	c := s.clusters.of(k)
	c.recorded = nil
	if c.next != nil { // currentProblems reports it until it is its turn
		s.clusters.put(k, c)
		return
	}
	why := "does not have it"
	if refused != "" {
		why = "is refused: " + oneLine(refused)
	}
	s.problems = append(slices.Clone(s.problems), fleet.Problem{
		Overlay: c.overlay(), Cluster: k,
		Message: "the cluster is left alone: revision " + rev.String() + ", which had its last good definition, " + why,
		Hint:    "repair the newest revision",
	})
	s.clusters.put(k, c)
}

// dropResolved forgets the problems of last good definitions that are found, or not needed
// any more.
func (s *State) dropResolved(d *Decision) {
	over := func(k fleet.Key, _ fleet.Problem) bool { return !s.clusters.of(k).lacksDefinition() }
	for k, p := range s.unavailable {
		if over(k, p) {
			s.unavailable = maps.Clone(s.unavailable)
			maps.DeleteFunc(s.unavailable, over)
			d.StatusChanged = true
			return
		}
	}
}

// oneLine returns text on one line, bounded.
func oneLine(text string) string {
	const most = 500
	s := strings.Join(strings.Fields(text), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
