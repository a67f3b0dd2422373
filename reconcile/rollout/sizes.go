package rollout

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Sizes are the numbers of machines on the status branch that Git leaves to somebody
// else.
type Sizes struct {
	List   []fleet.Scale // all
	Signed bool          // only what is signed counts
}

// Written is what was just written to the status branch.
type Written struct {
	Sizes   []fleet.Scale
	Dropped []fleet.Scale
}

// applySizes takes in numbers of machines. People may have a say there, and what concerns no
// pool any more is to be dropped.
func (d *Decision) applySizes(q Sizes) {
	counting := d.effective(q)
	d.setSizes(counting)
	for _, n := range slices.Concat(q.List, d.Sign) {
		if !d.State.mayScale(n) && !slices.ContainsFunc(d.Drop, n.SamePool) {
			d.Drop = append(d.Drop, n)
		}
	}
	d.Sign = slices.DeleteFunc(d.Sign, func(n fleet.Scale) bool { return slices.ContainsFunc(d.Drop, n.SamePool) })
}

// effective returns the numbers that count, with what was decided before in the place of
// those that do not: what no key that counts signed, what is older than before, and what
// is gone. What is gone, and what says the same by a key that counts no longer, is to be
// signed once more; the others are ignored.
func (d *Decision) effective(q Sizes) []fleet.Scale {
	var counting []fleet.Scale
	before := d.State.sizes
	for _, n := range q.List {
		held := before[n.Cluster]
		i := slices.IndexFunc(held, n.SamePool)
		why := n.Distrusted
		if i >= 0 && q.Signed && why == "" && n.At.Before(held[i].At) {
			why = "it is older than the one that was there before"
		}
		switch {
		case why == "":
			counting = append(counting, n)
			continue
		case i >= 0 && n.Identical(held[i]):
			d.Sign = append(d.Sign, held[i])
		default:
			d.Ignored = append(d.Ignored, fmt.Sprintf("the number of pool %s of cluster %s has no effect: %s", n.Pool, n.Cluster, why))
		}
		if i >= 0 {
			counting = append(counting, held[i])
		}
	}
	if !q.Signed {
		return counting
	}
	for _, held := range before {
		for _, n := range held {
			if !slices.ContainsFunc(q.List, n.SamePool) {
				counting, d.Sign = append(counting, n), append(d.Sign, n)
			}
		}
	}
	slices.SortFunc(d.Sign, fleet.Scale.Compare)
	slices.SortFunc(counting, fleet.Scale.Compare)
	return counting
}

// setSizes makes list what was decided. The clusters of which something else was decided
// before are changed.
func (d *Decision) setSizes(list []fleet.Scale) {
	now := make(map[fleet.Key][]fleet.Scale)
	for _, n := range list {
		now[n.Cluster] = append(now[n.Cluster], n)
	}
	before := d.State.sizes
	for k, scales := range now {
		if !slices.EqualFunc(scales, before[k], fleet.Scale.Identical) {
			d.Changed = append(d.Changed, k)
		}
	}
	for k := range before {
		if len(now[k]) == 0 {
			d.Changed = append(d.Changed, k)
		}
	}
	d.State.sizes = now
}

// applyWritten takes in what was written to the status branch.
func (d *Decision) applyWritten(w Written) {
	var all []fleet.Scale
	for _, of := range d.State.sizes {
		for _, n := range of {
			if !slices.ContainsFunc(w.Sizes, n.SamePool) && !slices.ContainsFunc(w.Dropped, n.SamePool) {
				all = append(all, n)
			}
		}
	}
	all = append(all, w.Sizes...)
	slices.SortFunc(all, fleet.Scale.Compare)
	d.setSizes(all)
}

// mayScale reports whether n concerns a pool that may be scaled, as far as is known: of
// a cluster that is known by name alone nothing is.
func (s State) mayScale(n fleet.Scale) bool {
	c, known := s.clusters.get(n.Cluster)
	if s.revision.IsZero() || known && c.definition == nil {
		return true
	}
	if !known {
		return false
	}
	p, ok := c.definition.Pool(n.Pool)
	return ok && p.Scaling != nil
}

// Dated returns list as decided at now, for signing: an old decision is known by its
// time. No decision is older than the one that it replaces, whatever the clocks say.
func (s State) Dated(list []fleet.Scale, now time.Time) []fleet.Scale {
	out := slices.Clone(list)
	now = now.UTC().Truncate(time.Second)
	for i, n := range out {
		out[i].At, out[i].Distrusted = now, ""
		held := s.sizes[n.Cluster]
		if j := slices.IndexFunc(held, n.SamePool); j >= 0 && now.Before(held[j].At) {
			out[i].At = held[j].At
		}
	}
	return out
}

// InitialSizes returns the numbers of machines that a pass found of c's pools of which
// none was decided yet. Once they are written down they are known, however many machines
// there are for a while during a rollout.
func (s State) InitialSizes(c *fleet.Cluster, r fleet.Report) []fleet.Scale {
	var found []fleet.Scale
	for _, p := range c.WithScales(s.sizes[c.Key]).Workers { // somebody may have decided since the pass began
		i := slices.IndexFunc(r.Pools, func(r fleet.PoolReport) bool { return r.Name == p.Name })
		if p.Scaling == nil || p.Scaling.Decided || i < 0 {
			continue
		}
		found = append(found, fleet.Scale{Cluster: c.Key, Pool: p.Name, Replicas: r.Pools[i].Desired, Reason: "as it was before anybody scaled it"})
	}
	return found
}

// Scalable returns cluster k as an autoscaler is to see it. passed says that this agent
// has looked at it, and report what it found. The error is of kind NotFound where the
// fleet has no such cluster, and Unavailable where nothing is known of it yet.
func (s State) Scalable(k fleet.Key, report fleet.Report, passed bool) (fleet.Scalable, error) {
	c, known := s.clusters.get(k)
	op := "scale cluster " + k.String()
	switch {
	case !known && s.Newest().IsZero():
		return fleet.Scalable{}, fleet.Errorf(fleet.Unavailable, op, "no revision was rendered yet")
	case !known || c.orphan:
		return fleet.Scalable{}, fleet.Errorf(fleet.NotFound, op, "the fleet has no such cluster")
	case c.definition == nil:
		return fleet.Scalable{}, fleet.Errorf(fleet.Unavailable, op, whyNoDefinition)
	case !passed && slices.ContainsFunc(c.definition.Workers, func(p fleet.Pool) bool { return p.Scaling != nil }):
		return fleet.Scalable{}, fleet.Errorf(fleet.Unavailable, op, "the cluster was not looked at yet")
	}
	return fleet.Scalable{Cluster: c.definition.WithRequests(s.accepted[k]).WithScales(s.sizes[k]), Machines: report.Machines}, nil
}
