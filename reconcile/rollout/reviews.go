package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
)

// A Reviewable is what waits in a stage for the approval of a person, which a review can be:
// where all of it came from is known.
type Reviewable struct {
	Stage     string
	Of        string             // digest of all that waits in the stage, as in its status
	Reviewers []string           // who may approve of it
	Approvals int                // how many of them have to, as the stage says; zero: one
	Origins   []fleet.WaveOrigin // each once, without Of
}

// Reviewable returns what reviews can approve of now.
func (s State) Reviewable() []Reviewable {
	var out []Reviewable
	asks := func(st fleet.Stage) bool { return st.Approval && len(st.Reviewers) > 0 }
	if !slices.ContainsFunc(orderOf(&s.config.Waves).stages, asks) {
		return nil
	}
	for _, g := range s.groups(gatesAt(&s.config.Waves, s.waves.at)) {
		of := waitsOf(g.candidates)
		if !asks(g.stage) || of == "" {
			continue
		}
		r := Reviewable{Stage: g.stage.Name, Of: of, Reviewers: g.stage.Reviewers, Approvals: g.stage.Approvals}
		known := true
		for _, f := range g.candidates {
			if !f.unapproved() {
				continue
			}
			from := f.origin
			known = known && from.Of == f.wanted
			if from.Of = ""; !slices.Contains(r.Origins, from) {
				r.Origins = append(r.Origins, from)
			}
		}
		if known && len(r.Origins) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// originOf returns where what waits of now came from, a cluster that was old in s before f. It is zero
// where that is not one step of Git, or is not known: something waited before and was not approved,
// or could not be used, or came while no agent was there. It is zero as well where f changes who
// may approve, or how many have to: no change names its own reviewer.
func (s State) originOf(f *fleet.Fleet, old, now cluster) fleet.WaveOrigin {
	waited := old.wave.origin
	switch {
	case now.next == nil:
		return fleet.WaveOrigin{}
	case waited.Of == now.nextDigest:
		return waited
	case s.revision == f.Revision || !old.inGit || len(old.problems) > 0:
		return fleet.WaveOrigin{}
	case old.next != nil && (old.wave.release.Way != fleet.ReleaseApprove || old.wave.release.Of != old.nextDigest):
		return fleet.WaveOrigin{}
	}
	before, after := orderOf(&s.config.Waves).stageOf(old), orderOf(&f.Config.Waves).stageOf(now)
	if len(after.Reviewers) == 0 || before.Approvals != after.Approvals || !slices.Equal(before.Reviewers, after.Reviewers) {
		return fleet.WaveOrigin{}
	}
	return fleet.WaveOrigin{Of: now.nextDigest, From: s.revision, To: f.Revision}
}

// An order is all stages of a fleet: of classes, then of all others, the last one that of the rest.
type order struct {
	stages  []fleet.Stage
	first   []bool            // it waits for no other
	class   []fleet.Key       // that it is for; zero: for those of none
	classes map[fleet.Key]int // their first stage
	others  int               // first stage of all others
}

func orderOf(w *fleet.Waves) order {
	o := order{classes: make(map[fleet.Key]int)}
	add := func(class fleet.Key, stages []fleet.Stage) (from int) {
		from = len(o.stages)
		for i, stage := range stages {
			o.stages, o.first, o.class = append(o.stages, stage), append(o.first, i == 0), append(o.class, class)
		}
		return from
	}
	for _, of := range w.Classes {
		o.classes[of.Class] = add(of.Class, of.Stages)
	}
	rest := fleet.Stage{Name: fleet.RestStage, Select: labels.Everything()}
	if len(w.Stages) > 0 {
		rest.AtOnce = 1
	}
	o.others = add(fleet.Key{}, append(slices.Clone(w.Stages), rest))
	return o
}

// of returns the stage of a cluster that is defined so, as its index. Nil is one that is known
// by name alone.
func (o order) of(c *fleet.Cluster) int {
	i := o.others
	var l labels.Set
	if c != nil {
		l = c.Labels
		if t := c.Topology; t != nil {
			if at, ok := o.classes[t.Class]; ok {
				i = at
			}
		}
	}
	for !o.stages[i].Select.Matches(l) { // the last one selects all
		i++
	}
	return i
}

// ofChange returns the stage of c, as its index. If something waits, that is the later one of the
// stages before and after it: no commit relabels a cluster into an earlier stage.
func (o order) ofChange(c cluster) int {
	i := o.of(c.newest())
	if c.next == nil || c.definition == nil {
		return i
	}
	return max(i, o.of(c.definition))
}

func (o order) stageOf(c cluster) fleet.Stage { return o.stages[o.ofChange(c)] }
