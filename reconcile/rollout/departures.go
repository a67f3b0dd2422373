package rollout

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// noteDepartures notes the clusters whose change may still count where they took it; dropDepartures
// forgets those that are there. If nothing waits that waited before, what waits is another try: a
// cluster that left with a failure no longer halts its stage, and later stages wait all the same.
func (s *State) noteDepartures(before State, now time.Time) {
	o := orderOf(&before.config.Waves)
	if before.revision.IsZero() { // the record does not say what the stages were
		o = orderOf(&s.config.Waves)
	}
	out := slices.Clone(before.waves.departed)
	for k, old := range before.clusters.all() {
		soak := o.stages[o.leftIn(old.wave.stage)].Soak
		if !before.live(old) || old.activeRelease().Way == fleet.ReleaseSkip || old.wave.over(soak, now) && old.damaged == "" {
			continue
		}
		left := old.wave.departure(k, soak, now)
		if old.damaged != "" && old.newest() != nil {
			left.Stage = o.stageOf(old).Name
		}
		out = append(out, left)
	}
	same := keysOf(s.clusters.seenNotable(), func(c *cluster) bool { return c.next != nil && c.nextDigest == c.wave.awaited })
	for i := range out {
		if out[i].Trouble != "" && len(same) == 0 {
			out[i].At, out[i].Trouble = time.Time{}, ""
		}
	}
	s.waves.departed = out
}

// dropDepartures forgets those of clusters that are there and count by themselves, and all once nothing
// waits for them.
func (s *State) dropDepartures() {
	if len(s.waves.departed) == 0 {
		return
	}
	waiting := keysOf(s.clusters.seenNotable(), func(c *cluster) bool { return c.next != nil })
	idle := len(waiting) == 0 || len(s.config.Waves.Stages)+len(s.config.Waves.Classes) == 0
	s.waves.departed = slices.DeleteFunc(slices.Clone(s.waves.departed), func(left fleet.Departure) bool {
		c := s.clusters.of(left.Cluster)
		return idle || s.live(c) && (!c.wave.fresh || c.damaged != "")
	})
}

// skipDeparture goes on without cluster k, and reports whether it left a stage.
func (s *State) skipDeparture(k fleet.Key) bool {
	if !s.departed(k) {
		return false
	}
	s.waves.departed = slices.DeleteFunc(slices.Clone(s.waves.departed), func(d fleet.Departure) bool { return d.Cluster == k })
	return true
}

// departed reports whether cluster k left a stage, and its change still counts there.
func (s *State) departed(k fleet.Key) bool {
	return slices.ContainsFunc(s.waves.departed, func(d fleet.Departure) bool { return d.Cluster == k })
}

// renameStages follows stages that select the same under another name.
func (s *State) renameStages(before State) {
	o, n := orderOf(&before.config.Waves), orderOf(&s.config.Waves)
	names := make(map[string]string)
	for i, old := range o.stages {
		j := -1
		for k, stage := range n.stages {
			if n.class[k] == o.class[i] && stage.Select.String() == old.Select.String() && (j < 0 || stage.Name == old.Name) {
				j = k
			}
		}
		if j >= 0 && n.stages[j].Name != old.Name {
			names[old.Name] = n.stages[j].Name
		}
	}
	if len(names) == 0 {
		return
	}
	s.clusters = s.clusters.mapped(func(_ fleet.Key, c cluster) cluster {
		c.wave.stage = cmp.Or(names[c.wave.stage], c.wave.stage)
		return c
	})
	for i := range s.waves.departed {
		left := &s.waves.departed[i] // noteDepartures copied them
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
