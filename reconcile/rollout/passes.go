package rollout

import (
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// A Pass is what a pass over a cluster found.
type Pass struct {
	Target    Target       // that the pass was over
	Report    fleet.Report // the newest one, with what this pass could not see
	AtRest    bool         // nothing was to be done or waited for
	Rotations map[fleet.SecretName]fleet.RotationState
}

// lastPass is the last pass over a cluster that something is asked of.
type lastPass struct {
	requests  []fleet.Request           // that were accepted then
	rotations map[fleet.Rotation]string // with these requests
	granted   map[fleet.SecretName]fleet.RotationState
}

// applyPass takes in a pass.
func (d *Decision) applyPass(p Pass, in Input) {
	s := &d.State
	k := p.Report.Cluster
	if _, known := s.clusters.get(k); !known {
		return
	}
	d.serve(k, &p.Report)
	now := s.clusters.of(k)
	if s.config.Waves.Declared() && now.definition != nil && now.definition == p.Target.of.definition {
		if w := now.wave.passed(p, in.Now); w != now.wave {
			d.StatusChanged = d.StatusChanged || w.arrived != now.wave.arrived || !w.at.Equal(now.wave.at)
			now.wave = w
			s.clusters.put(k, now)
			s.unsettle()
		}
	}
	if now.behind && p.AtRest && now.next == nil && now.is(p.Target.of) && s.config.Drift == p.Target.drift {
		now.behind = false
		s.clusters.put(k, now)
		d.StatusChanged = true
	}
	if len(p.Target.Requests) == 0 || p.Target.Cluster == nil {
		return
	}
	s.lastPasses = maps.Clone(s.lastPasses)
	if s.lastPasses == nil {
		s.lastPasses = make(map[fleet.Key]lastPass)
	}
	s.lastPasses[k] = lastPass{p.Target.Requests, p.Target.Cluster.Rotate, p.Rotations}
	for _, r := range p.Target.Requests {
		d.AnswersDue = d.AnswersDue || r.Open() && s.fulfil(r, p.Report, in.Now).State != r.Answer.State
	}
}

// is reports whether c has the target of o.
func (c cluster) is(o cluster) bool {
	return c.definition == o.definition && c.inGit == o.inGit && slices.Equal(c.problems, o.problems)
}

// markBehind marks the clusters that are behind: those that were so before, and those
// that changed and whose last report is not of their target.
func (s *State) markBehind(before State, changed []fleet.Key) {
	s.clusters = s.clusters.mapped(func(k fleet.Key, c cluster) cluster {
		old := before.clusters.of(k)
		_, isNew := slices.BinarySearchFunc(changed, k, fleet.Key.Compare)
		c.behind = !c.orphan && (old.behind || c.next != nil || isNew && !c.atRest(old))
		return c
	})
}

// atRest reports whether the record by which old is known tells that the cluster is as
// c says.
func (c cluster) atRest(old cluster) bool {
	r, wanted := old.recorded, c.definition
	return r != nil && old.definition == nil && !old.orphan && wanted != nil && sameDefinition(wanted, r.Digest, r.Overlay) &&
		!wanted.Delete && !wanted.Abandon && r.Phase == fleet.PhaseProvisioned && r.Failure == "" && len(r.Problems)+len(c.problems) == 0
}

// forgetGone forgets those of keys that Git does not have.
func (d *Decision) forgetGone(keys []fleet.Key) {
	for _, k := range keys {
		if c, known := d.State.clusters.get(k); known && !c.inGit {
			d.forget(k)
		}
	}
}

// forget has nothing known of cluster k any more.
func (d *Decision) forget(k fleet.Key) {
	s := &d.State
	s.clusters.delete(k)
	if _, ok := s.lastPasses[k]; ok {
		s.lastPasses = maps.Clone(s.lastPasses)
		delete(s.lastPasses, k)
	}
	d.Forgotten, d.StatusChanged = append(d.Forgotten, k), true
}
