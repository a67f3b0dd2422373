package rollout

import (
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// A wave is the place of a cluster in staged rollouts. Digests are of
// fleet.Cluster.RolloutDigest.
type wave struct {
	of      *fleet.Cluster // the definition with that digest
	digest  string         // of the definition; empty: not known yet
	since   time.Time      // when the cluster took the definition; zero: before staging
	arrived string         // of the definition with which it was last complete
	at      time.Time      // when it was complete; zero: before staging
	unseen  bool           // it is from the record, and this agent has not observed the cluster
	fresh   bool           // it was never complete: it is being created
	waits   time.Time      // since when a definition waits
	trouble trouble        // of the last reconciliation
	verdict verdict        // of the waiting definition
	release fleet.WaveRelease
	origin  fleet.WaveOrigin  // of the waiting definition; zero: no review approves it
	people  *fleet.WavePeople // of the waiting definition; never changed; nil: no one is known
	stage   string            // in which the cluster took the definition; empty: not known
	before  fleet.Revision    // that was followed when something began to wait; zero: nothing waits, or not known
	awaited string            // digest of what waited when that was last decided; empty: nothing did
}

// arrivalUnknown is the digest of a cluster that was not found complete since a record was read that does not say how far
// it was.
const arrivalUnknown = "unknown"

// arrivedNowhere is the digest of a cluster that goes back to nothing: it was not found complete with anything that is known.
const arrivedNowhere = "nothing"

// A trouble is a finding of a reconciliation that makes a cluster count as failed.
type trouble struct {
	plane string    // its control plane is lost; empty: it is there
	any   string    // something of it is; empty: all of it is there
	since time.Time // when any was found first; zero: not known, or nothing was
}

// failed says why a cluster counts as failed at now that was whole at the time at: something of it was
// lost within soak, and is still. Empty: it does not.
func (t trouble) failed(at time.Time, soak time.Duration, now time.Time) string {
	since := t.since
	if since.IsZero() {
		since = now
	}
	if since.Before(at) {
		since = at
	}
	if at.IsZero() || !since.Before(at.Add(soak)) {
		return ""
	}
	return t.any
}

// over reports whether a cluster that took what it has in a stage with that soak is done with it: it is
// whole, and has soaked.
func (w wave) over(soak time.Duration, now time.Time) bool {
	return !w.moving() && !now.Before(w.at.Add(soak)) && w.trouble.failed(w.at, soak, now) == ""
}

// A verdict says whether a cluster may take the waiting definition, and if not, why and until when.
type verdict struct {
	stage string
	why   string // empty: it may
	until time.Time
}

// moving reports whether the cluster has not been found complete since it took its definition.
func (w wave) moving() bool {
	return !w.fresh && w.digest != "" && (w.arrived != w.digest || w.at.Before(w.since))
}

// waveOf returns what a record says of a cluster. What was there before anything came in waves
// counts as arrived, unless it was just being made.
func waveOf(r *fleet.Report, s fleet.Standing, awaited string) wave {
	w := wave{stage: s.Stage, before: s.Before, awaited: awaited, unseen: true, digest: s.Digest, since: s.Since, arrived: s.Arrived, at: s.At, waits: s.Waits, release: s.Release, origin: s.Came, trouble: troubleOf(*r)}
	w.trouble.since = s.Troubled
	if s.People.Of != "" {
		w.people = &s.People
	}
	if s.Digest == "" {
		m := r.Milestones
		if w.fresh = !m.Began.IsZero() && m.Provisioned.IsZero(); w.fresh {
			w.arrived = ""
		}
	} else {
		w.fresh = s.Arrived == ""
	}
	return w
}

// troubleOf returns what a report says of a cluster that may have failed. One without a phase
// says nothing: it could not be observed.
func troubleOf(r fleet.Report) trouble {
	var t trouble
	for _, c := range r.Conditions {
		switch {
		case c.Status != fleet.False:
		case c.Type == clusterv1.ClusterControlPlaneAvailableCondition:
			t.plane = "its control plane is not available"
		case c.Type == clusterv1.ClusterAvailableCondition:
			t.any = "it is not available"
		}
	}
	return t
}

// heldBack returns the cluster once the newest revision defines it as c and something may have
// to wait: what is new is taken at once where it does not come in waves.
func (old cluster) heldBack(c *fleet.Cluster, known bool) cluster {
	taken := old.replacedBy(c)
	out := cluster{definition: taken, inGit: true, damaged: old.damaged, wave: old.wave, serves: old.serves}
	if !known || old.pruned || old.deleting() || old.abandoned() || old.damaged != "" && old.definition == nil && old.recorded == nil && old.next == nil {
		out.wave = wave{fresh: true}
		return out
	}
	if taken == old.definition || taken.Delete || taken.Abandon || old.wave.fresh {
		return out
	}
	if old.recorded != nil && sameDefinition(taken, old.recorded.Digest, old.recorded.Overlay) {
		return out
	}
	digest := taken.RolloutDigest()
	if digest == old.wave.digest {
		return out
	}
	out.definition, out.recorded, out.next, out.nextDigest = old.definition, old.recorded, taken, digest
	if old.next != nil && sameDefinition(taken, old.next.Digest, old.next.Overlay) {
		out.next = old.next
	}
	return out
}

// measured returns c with the digest of its definition, once that is known.
func (c cluster) measured(now time.Time) cluster {
	if c.definition == nil || c.wave.of == c.definition {
		return c
	}
	w := &c.wave
	before, known := w.digest, w.digest != ""
	w.of, w.digest = c.definition, c.definition.RolloutDigest()
	if former := c.definition.FormerRolloutDigest(); before == former { // an older version wrote it
		before = w.digest
		if w.arrived == former {
			w.arrived = w.digest
		}
	}
	switch {
	case known && before != w.digest: // it was taken, and that was not recorded; or digests are made otherwise
		w.since = now.UTC().Truncate(time.Second)
	case !known && w.arrived == arrivalUnknown:
		w.since = now.UTC().Truncate(time.Second)
	case !known && !w.fresh:
		w.arrived = w.digest
	}
	return c
}

// take returns c with what waited as its target, in that stage. Without any stages that is empty: stages
// that are added later count the cluster by its labels.
func (c cluster) take(now time.Time, stage string) cluster {
	if c.wave.arrived == arrivalUnknown && c.nextDigest != c.wave.digest {
		c.wave.arrived = arrivedNowhere
	}
	if c.nextDigest != c.wave.digest || c.definition == nil {
		c.wave.since, c.wave.stage = now.UTC().Truncate(time.Second), stage
	}
	c.wave.of, c.wave.digest, c.wave.waits, c.wave.trouble = c.next, c.nextDigest, time.Time{}, trouble{}
	c.wave.origin, c.wave.people, c.wave.before = fleet.WaveOrigin{}, c.peopleOnce(), fleet.Revision{}
	c.definition, c.recorded, c.next, c.nextDigest = c.next, nil, nil, ""
	c.behind = true
	return c
}

// passed returns w after a pass over the cluster's target.
func (w wave) passed(p Pass, now time.Time) wave {
	if p.Report.Phase != "" {
		t := troubleOf(p.Report)
		switch {
		case t.any == "":
		case w.trouble.any != "":
			t.since = w.trouble.since
		default:
			t.since = now.UTC().Truncate(time.Second)
		}
		w.trouble, w.unseen = t, false
	}
	if !p.AtRest || w.digest == "" || w.digest == w.arrived && !w.at.Before(w.since) && !w.fresh {
		return w
	}
	w.arrived = w.digest
	if w.at = now.UTC().Truncate(time.Second); w.fresh && w.since.IsZero() {
		w.at = time.Time{}
	}
	if w.at.Before(w.since) { // whatever clocks say
		w.at = w.since
	}
	w.fresh = false
	return w
}

// suspended reports whether nothing of the cluster is to be changed at now, and until when.
func (s State) suspended(k fleet.Key, c cluster, now time.Time) (bool, time.Time) {
	i := slices.IndexFunc(s.accepted[k], func(r fleet.Request) bool {
		return r.Kind == fleet.RequestSuspend && (r.Until.IsZero() || now.Before(r.Until))
	})
	switch n := c.newest(); {
	case n == nil && i < 0:
		return false, time.Time{}
	case n != nil && n.Paused:
		return true, time.Time{}
	case i >= 0:
		return true, s.accepted[k][i].Until
	case n.Suspension != nil && !n.Suspension.Over(now):
		return true, n.Suspension.Until
	}
	return false, time.Time{}
}
