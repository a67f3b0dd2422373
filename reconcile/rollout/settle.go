package rollout

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// waves is what is decided of a fleet to which something comes in waves.
type waves struct {
	settled  bool      // nothing is new since
	none     bool      // nothing comes in waves, and no cluster waits
	at       time.Time // when that was decided
	wake     time.Time // when time alone makes it another; zero: never
	stages   []fleet.StageStatus
	releases []fleet.Request   // that people made and that stand
	granted  []grantedRelease  // those of them that count already
	departed []fleet.Departure // never changed in place
}

// unsettle has the waves decided again at the end of the decision.
func (s *State) unsettle() { s.waves.settled, s.waves.none = false, false }

// settle decides which clusters may get their newest definition, and says why the others may not.
func (d *Decision) settle(now time.Time) {
	s := &d.State
	if !s.config.Waves.Declared() {
		d.endStaging(now)
		return
	}
	w := &s.waves
	if w.settled && !now.Before(w.at) && (w.wake.IsZero() || now.Before(w.wake)) {
		return
	}
	for k, c := range s.clusters.all() {
		was := c.wave
		c = c.measured(now)
		if c.next != nil && c.definition != nil && c.nextDigest == c.wave.digest { // it differs in nothing that waits
			c = c.take(now, c.wave.stage)
			d.Changed = append(d.Changed, k)
		}
		if c.wave != was {
			s.clusters.put(k, c)
		}
	}
	s.dropDepartures()
	g := gatesAt(&s.config.Waves, now)
	groups := s.groups(g)
	if d.grant(groups) {
		groups = s.groups(g)
		d.StatusChanged, d.AnswersDue = true, true
	}
	said := w.stages
	w.settled, w.at, w.wake, w.stages = true, now, g.next(), nil
	var before hold
	for _, of := range groups {
		if of.first {
			before = hold{}
		} else if before.why == "" {
			before = s.unplaced()
		}
		if len(of.candidates) == 0 {
			continue
		}
		var c stageResult
		c, before = runStage(of.stage, of.candidates, before, now)
		w.wake = earlier(w.wake, c.wake, now)
		for i, f := range of.candidates {
			if f.left {
				continue
			}
			d.setVerdict(f.key, c.verdicts[i], now)
		}
		c.status.Since = s.stageSince(of.candidates, c.status.Since)
		w.stages = append(w.stages, c.status)
	}
	if !slices.EqualFunc(said, w.stages, sameStage) {
		d.StatusChanged, d.AnswersDue = true, d.AnswersDue || len(w.releases) > 0
	}
}

// unplaced stops later stages while a cluster that the newest revision has a problem with, or may have, is known
// by name alone: its labels, and so its stage, are not known.
func (s *State) unplaced() hold {
	for k, c := range s.clusters.seenNotable() {
		switch {
		case cmp.Or(c.definition, c.next) != nil:
		case len(c.problems) > 0:
			return hold{why: "the stage of cluster " + k.String() + " is not known: the newest revision has a problem with it, and no earlier definition of it is rendered"}
		case c.damaged != "" && len(s.folders) > 0:
			return hold{why: "the stage of cluster " + k.String() + " is not known: its file on the status branch cannot be read, and the newest revision has a problem with a folder that may be its own"}
		}
	}
	return hold{}
}

// endStaging gives each cluster its newest definition: fleet.yaml has no stages, windows or freezes.
func (d *Decision) endStaging(now time.Time) {
	s := &d.State
	if s.waves.none {
		return
	}
	s.waves = waves{releases: s.waves.releases, none: true}
	for _, k := range keysOf(s.clusters.seenNotable(), func(c *cluster) bool { return c.next != nil }) {
		s.clusters.put(k, s.clusters.of(k).take(now, ""))
		d.Changed, d.StatusChanged = append(d.Changed, k), true
	}
}

// sameStage reports whether a and b say the same.
func sameStage(a, b fleet.StageStatus) bool {
	return slices.Equal(a.Failed, b.Failed) && a.Name == b.Name && a.State == b.State && a.Why == b.Why && a.Until.Equal(b.Until) && a.Since.Equal(b.Since) &&
		a.Clusters == b.Clusters && a.Changing == b.Changing && a.Waiting == b.Waiting && a.Digest == b.Digest &&
		a.Approvals == b.Approvals && slices.Equal(a.Approved, b.Approved)
}

// setVerdict stores the verdict of cluster k, and has it take what waits where it may.
func (d *Decision) setVerdict(k fleet.Key, t verdict, now time.Time) {
	s := &d.State
	c := s.clusters.of(k)
	was, old := c.wave, c.wave.verdict
	c.wave.verdict, c.wave.awaited = t, ""
	if t.why != "" {
		c.wave.awaited = c.nextDigest
	}
	switch {
	case c.next == nil:
		if !c.wave.waits.IsZero() {
			d.StatusChanged = true
		}
		c.wave.waits = time.Time{}
	case t.why == "":
		stage := t.stage
		if stage == fleet.RestStage && len(s.config.Waves.Stages) == 0 {
			stage = ""
		}
		c = c.take(now, stage)
		d.Changed, d.StatusChanged = append(d.Changed, k), true
	case c.wave.waits.IsZero():
		c.wave.waits = now.UTC().Truncate(time.Second)
		d.StatusChanged = true
	case old.why != t.why || !old.until.Equal(t.until):
		d.StatusChanged = true
	}
	if r := c.wave.release; r.Way != "" && (r.Of != c.wanted() || c.next == nil && r.Way != fleet.ReleaseSkip) { // it is over
		c.wave.release = fleet.WaveRelease{}
		d.StatusChanged = true
	}
	if c.wave != was {
		s.clusters.put(k, c)
	}
}

// stageSince returns since when the first of a stage's clusters waits or is being changed.
func (s State) stageSince(candidates []candidate, first time.Time) time.Time {
	for _, f := range candidates {
		if at := s.clusters.of(f.key).wave.waits; !f.excluded && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// Rollout returns what people learn of the rollout of the fleet.
func (s State) Rollout() fleet.RolloutStatus {
	var out fleet.RolloutStatus
	switch {
	case s.revision.IsZero(): // another agent may start before there is one
		return s.rollout
	case !s.config.Waves.Declared():
		return out
	}
	out.Stages, out.Departed = s.waves.stages, s.waves.departed
	for _, k := range keysOf(s.clusters.seen(), func(c *cluster) bool { return s.live(*c) || c.damaged != "" }) {
		c := s.clusters.of(k)
		if c.damaged != "" { // for the next agent, which may find the file put back
			out.Standings = append(out.Standings, fleet.Standing{Cluster: k, Arrived: arrivalUnknown})
			continue
		}
		if w, waits := c.wait(k); waits {
			out.Waiting = append(out.Waiting, w)
		}
		if w := c.wave; w.digest != "" || w.arrived == arrivalUnknown {
			standing := fleet.Standing{
				Cluster: k, Digest: w.digest, Since: w.since, Arrived: w.arrived, At: w.at, Waits: w.waits, Release: w.release, Came: w.origin, Stage: w.stage, Troubled: w.trouble.since, Before: w.before,
			}
			if w.people != nil {
				standing.People = *w.people
			}
			out.Standings = append(out.Standings, standing)
		}
	}
	return out
}

// wait returns what is said of cluster k where something waits for its turn.
func (c cluster) wait(k fleet.Key) (fleet.Wait, bool) {
	if c.next == nil {
		return fleet.Wait{}, false
	}
	t := c.wave.verdict
	return fleet.Wait{
		Cluster: k, Stage: t.stage, Revision: c.next.Revision, Digest: c.nextDigest, Why: t.why, Until: t.until, Since: c.wave.waits,
	}, true
}
