package rollout

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// departed has the clusters that left a stage before their change there was over. It is never changed.
type departed map[fleet.Key]fleet.Departure

func departedOf(list []fleet.Departure) departed {
	out := make(departed, len(list))
	for _, d := range list {
		out[d.Cluster] = d
	}
	return out
}

// all returns them, sorted.
func (d departed) all() iter.Seq2[fleet.Key, fleet.Departure] {
	return func(yield func(fleet.Key, fleet.Departure) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(d), fleet.Key.Compare) {
			if !yield(k, d[k]) {
				return
			}
		}
	}
}

func (d departed) list() []fleet.Departure {
	var out []fleet.Departure
	for _, left := range d.all() {
		out = append(out, left)
	}
	return out
}

// without returns d without those that which is true of.
func (d departed) without(which func(fleet.Key, fleet.Departure) bool) departed {
	out := maps.Clone(d)
	maps.DeleteFunc(out, which)
	return out
}

// noteDepartures notes the clusters that were in a stage before and are no longer, while what they
// began may still count there. What waited then, and waits still, comes after them.
func (s *State) noteDepartures(before State) {
	out := maps.Clone(before.waves.departed)
	if out == nil {
		out = departed{}
	}
	n, o, now := len(out), orderOf(&before.config.Waves), before.waves.at
	for k, old := range before.clusters.all() {
		w := old.wave
		if !before.live(old) || s.live(s.clusters.of(k)) || old.activeRelease().Way == fleet.ReleaseSkip {
			continue
		}
		if i, over := o.began(w, now); !over {
			out[k] = fleet.Departure{Cluster: k, Stage: w.stage, Since: w.since, At: w.wholeAt(), Trouble: w.troubleIn(o.stages[i].Soak, now)}
		}
	}
	s.waves.departed = out
	if len(out) == n {
		return
	}
	s.clusters = s.clusters.mapped(func(k fleet.Key, c cluster) cluster {
		if c.next != nil && before.clusters.of(k).wave.awaited == c.nextDigest {
			c.wave.behind = c.nextDigest
		}
		return c
	})
}

// dropDepartures forgets those that count no longer: their soak is over, they are whole again, or
// nothing waits for them. A newer definition of what waited is another try: a failure is then no
// reason to halt, and later stages wait all the same.
func (s *State) dropDepartures(now time.Time) {
	if len(s.waves.departed) == 0 {
		return
	}
	waits, same := false, false
	for _, c := range s.clusters.all() {
		if s.live(c) && c.next != nil && c.nextDigest != c.wave.arrived {
			waits, same = true, same || c.wave.behind == c.nextDigest
		}
	}
	o := orderOf(&s.config.Waves)
	out := s.waves.departed.without(func(k fleet.Key, left fleet.Departure) bool {
		c, known := s.clusters.get(k)
		return !waits || len(s.config.Waves.Stages)+len(s.config.Waves.Classes) == 0 || known && s.live(c) && !c.wave.fresh ||
			!left.At.IsZero() && left.Trouble == "" && !now.Before(left.At.Add(o.stages[o.leftIn(left)].Soak))
	})
	for k, left := range out {
		if left.Trouble != "" && !same {
			left.At, left.Trouble = time.Time{}, ""
			out[k] = left
		}
	}
	s.waves.departed = out
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
			if _, there := o.named(stage.Name); !there && n.classAt(j) == o.classAt(i) && stage.Select.String() == old.Select.String() {
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
	out := maps.Clone(s.waves.departed)
	for k, left := range out {
		left.Stage = cmp.Or(names[left.Stage], left.Stage)
		out[k] = left
	}
	s.waves.departed = out
}

// departedCandidate returns what counts of cluster k in the stage that it left.
func departedCandidate(k fleet.Key, left fleet.Departure) candidate {
	return candidate{key: k, moving: left.At.IsZero(), since: left.Since, at: left.At, trouble: trouble{any: left.Trouble}, left: true, excluded: true, absent: true}
}

// leaves returns what counts of f in the stage in which it took what it has, while something waits
// for it in another one.
func (f candidate) leaves(w wave, soak time.Duration, now time.Time) candidate {
	return departedCandidate(f.key, fleet.Departure{Since: w.since, At: w.wholeAt(), Trouble: w.troubleIn(soak, now)})
}

// began returns the stage in which a cluster took what it has, as its index, and whether that is
// over: it is whole with that, and its soak has passed.
func (o order) began(w wave, now time.Time) (i int, over bool) {
	i, known := o.named(w.stage)
	return i, !known || w.over(o.stages[i].Soak, now)
}

// classAt returns the class that stage i is of; zero: of none.
func (o order) classAt(i int) (class fleet.Key) {
	from := -1
	for k, at := range o.classes {
		if from < at && at <= i && i < o.others {
			class, from = k, at
		}
	}
	return class
}

// leftIn returns the stage that a cluster left, as its index. For one that fleet.yaml no longer has,
// that is the first: taking a stage away ends no change.
func (o order) leftIn(left fleet.Departure) int {
	if i, known := o.named(left.Stage); known {
		return i
	}
	return o.others
}

// named returns the stage called name, as its index.
func (o order) named(name string) (i int, known bool) {
	i = slices.IndexFunc(o.stages, func(s fleet.Stage) bool { return s.Name == name })
	return max(i, 0), i >= 0
}
