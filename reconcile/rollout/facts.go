package rollout

import (
	"cmp"
	"time"

	"fairlead.dev/fleet"
)

// A fact has what decides whether a cluster may take its newest definition.
type fact struct {
	key      fleet.Key
	wanted   string    // digest of the newest
	held     string    // digest of its present definition
	moving   bool      // it is not complete with that yet
	since    time.Time // when it took that
	arrived  string
	at       time.Time
	trouble  trouble
	out      bool      // it is left alone, and no stage waits for it
	why      string    // of out
	ends     time.Time // of out; zero: with news
	absent   bool      // of out: nothing shows that the newest revision works there, and no request skips it
	now      bool      // a request releases it from stages, windows and freezes
	turn     bool      // a request releases its stage: the same, but not more at once
	approved bool      // a person approved the waiting definition
	came     fleet.WaveOrigin
	people   fleet.WavePeople
	broken   bool   // the newest revision has a problem with it, so nothing shows that the newest revision works there
	unseen   bool   // this agent has not observed it yet
	shut     string // the window or freeze for which it may not begin
	opens    time.Time
}

// unapproved reports whether something waits that somebody may have to approve of.
func (f fact) unapproved() bool { return !f.out && f.held != f.wanted && !f.approved }

// A group is a stage with its clusters, sorted.
type group struct {
	stage fleet.Stage
	facts []fact
	first bool // it waits for no other
}

// groups returns all stages with their clusters, as orderOf has them.
func (s State) groups(g gates) []group {
	o := orderOf(&s.config.Waves)
	out := make([]group, len(o.stages))
	for i, stage := range o.stages {
		out[i] = group{stage: stage, first: o.first[i]}
	}
	for k, c := range s.clusters.all() {
		newest := c.newest()
		if !s.live(c) || newest == nil && c.recorded == nil {
			continue
		}
		i := o.ofChange(c)
		out[i].facts = append(out[i].facts, s.fact(k, c, g))
	}
	return out
}

// newest returns the newest definition of c.
func (c cluster) newest() *fleet.Cluster {
	if c.next != nil {
		return c.next
	}
	return c.definition
}

// fact returns what counts of cluster k.
func (s State) fact(k fleet.Key, c cluster, g gates) fact {
	w := c.wave
	f := fact{
		key: k, wanted: w.digest, held: w.digest, moving: w.moving(), since: w.since, arrived: w.arrived, at: w.at, trouble: w.trouble, came: w.came,
		broken: len(c.problems) > 0, unseen: w.unseen,
	}
	if f.arrived == "" {
		f.arrived = "nothing"
	}
	if c.next != nil {
		if f.wanted = c.nextDigest; f.held == "" {
			f.held = "unknown"
		}
		held := cmp.Or(c.definition, c.next)
		f.shut, f.opens = g.ofChange(held.Labels, c.next.Labels, longestDrain(held))
	}
	f.people = c.people()
	said := c.counted()
	f.approved = said.Way == fleet.ReleaseApprove || said.Way == fleet.ReleaseNow
	switch suspended, until := s.suspended(k, c, g.now); {
	case c.damaged != "":
		f.out, f.absent, f.why = true, true, c.damaged
	case said.Way == fleet.ReleaseNow:
		f.now, f.turn = !said.Stage, said.Stage
	case suspended:
		f.out, f.absent, f.why, f.ends = true, said.Way != fleet.ReleaseSkip, "the cluster is suspended or paused", until
	case w.fresh:
		f.out, f.why = true, "the cluster is being made"
	case said.Way == fleet.ReleaseSkip:
		f.out, f.why = true, "it is skipped"
	}
	return f
}
