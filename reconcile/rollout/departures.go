package rollout

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// noteDepartures notes the clusters that were in a stage before and are no longer, while what they
// began may still count there. If nothing waits that waited before, what waits is another try: a
// cluster that left with a failure no longer halts its stage, and later stages wait all the same.
func (s *State) noteDepartures(before State, now time.Time) {
	o := orderOf(&before.config.Waves)
	if before.revision.IsZero() { // the record does not say what the stages were
		o = orderOf(&s.config.Waves)
	}
	out := slices.Clone(before.waves.departed)
	for k, old := range before.clusters.all() {
		soak := o.stages[o.leftIn(old.wave.stage)].Soak
		if before.live(old) && !s.live(s.clusters.of(k)) && old.activeRelease().Way != fleet.ReleaseSkip && !old.wave.over(soak, now) {
			out = append(without(out, k), old.wave.departure(k, soak, now))
		}
	}
	same := func(c cluster) bool { return s.awaits(c) && c.nextDigest == c.wave.awaited }
	for i := range out {
		if out[i].Trouble != "" && len(s.keysOf(same)) == 0 {
			out[i].At, out[i].Trouble = time.Time{}, ""
		}
	}
	slices.SortFunc(out, func(a, b fleet.Departure) int { return a.Cluster.Compare(b.Cluster) })
	s.waves.departed = out
}

// dropDepartures forgets those that count no longer: their soak is over, they are whole again, or
// nothing waits for them.
func (s *State) dropDepartures(now time.Time) {
	if len(s.waves.departed) == 0 {
		return
	}
	o := orderOf(&s.config.Waves)
	idle := len(s.keysOf(s.awaits)) == 0 || len(o.stages) == 1 // that of the rest
	s.waves.departed = slices.DeleteFunc(slices.Clone(s.waves.departed), func(left fleet.Departure) bool {
		c := s.clusters.of(left.Cluster)
		soaked := !left.At.IsZero() && left.Trouble == "" && !now.Before(left.At.Add(o.stages[o.leftIn(left.Stage)].Soak))
		return idle || soaked || s.live(c) && !c.wave.fresh
	})
}

// awaits reports whether a definition waits that c was not whole with before.
func (s *State) awaits(c cluster) bool {
	return s.live(c) && c.next != nil && c.nextDigest != c.wave.arrived
}

// without returns list without cluster k.
func without(list []fleet.Departure, k fleet.Key) []fleet.Departure {
	return slices.DeleteFunc(slices.Clone(list), func(d fleet.Departure) bool { return d.Cluster == k })
}

// departed reports whether cluster k left a stage, and its change still counts there.
func (s *State) departed(k fleet.Key) bool {
	return slices.ContainsFunc(s.waves.departed, func(d fleet.Departure) bool { return d.Cluster == k })
}

// renameStages follows stages that only have another name than before.
func (s *State) renameStages(before State) {
	o, n := orderOf(&before.config.Waves), orderOf(&s.config.Waves)
	names := make(map[string]string)
	for i, old := range o.stages {
		if _, kept := n.named(old.Name); kept {
			continue
		}
		for j, stage := range n.stages {
			if _, there := o.named(stage.Name); !there && n.class[j] == o.class[i] && stage.Select.String() == old.Select.String() {
				names[old.Name] = stage.Name
			}
		}
	}
	if len(names) == 0 {
		return
	}
	s.clusters = s.clusters.mapped(func(_ fleet.Key, c cluster) cluster {
		c.wave.stage = cmp.Or(names[c.wave.stage], c.wave.stage)
		return c
	})
	s.waves.departed = slices.Clone(s.waves.departed)
	for i := range s.waves.departed {
		left := &s.waves.departed[i]
		left.Stage = cmp.Or(names[left.Stage], left.Stage)
	}
}

// departure returns what counts of cluster k in the stage in which it took what it has.
func (w wave) departure(k fleet.Key, soak time.Duration, now time.Time) fleet.Departure {
	out := fleet.Departure{Cluster: k, Stage: w.stage, Since: w.since}
	if w.moving() {
		out.Trouble = w.trouble.plane
		return out
	}
	out.At, out.Trouble = w.at, w.trouble.failed(w.at, soak, now)
	return out
}

// leftCandidate returns what counts of a cluster in a stage that it left.
func leftCandidate(d fleet.Departure) candidate {
	return candidate{key: d.Cluster, moving: d.At.IsZero(), since: d.Since, at: d.At, trouble: trouble{any: d.Trouble}, left: true, excluded: true, absent: true}
}

// began returns the stage in which a cluster took what it has, as its index, and whether that is
// over: it is whole with that, and its soak has passed.
func (o order) began(w wave, now time.Time) (i int, over bool) {
	i, known := o.named(w.stage)
	return i, !known || w.over(o.stages[i].Soak, now)
}

// leftIn returns the stage of that name, as its index. For one that fleet.yaml does not have, that
// is the first: taking a stage away ends no change.
func (o order) leftIn(name string) int {
	if i, known := o.named(name); known {
		return i
	}
	return o.others
}

// named returns the stage called name, as its index.
func (o order) named(name string) (i int, known bool) {
	i = slices.IndexFunc(o.stages, func(s fleet.Stage) bool { return s.Name == name })
	return max(i, 0), i >= 0
}
