package rollout

import (
	"cmp"

	"fairlead.dev/fleet"
)

// A Target is what passes over one cluster work towards.
type Target struct {
	// Cluster is the definition with the accepted requests, the numbers of machines and
	// the drift policy; nil: no definition can be used.
	Cluster    *fleet.Cluster
	Definition *fleet.Cluster  // as its revision has it
	Requests   []fleet.Request // that were accepted
	Next       *fleet.Cluster  // newest definition, which waits for its turn, as Cluster has the present one; nil: nothing waits
	Wait       fleet.Wait      // of Next
	Stage      string          // that the cluster belongs to; empty: nothing comes in waves
	Changing   bool            // it is on its way to Cluster
	Back       bool            // and that is what it was found whole at before
	Problems   []fleet.Problem // why the newest revision is not applied
	InGit      bool            // the newest revision has it, good or broken
	Pruned     bool            // removed from Git and to be deleted
	// Why says, for people, why nothing is done to the cluster; empty: it is worked on.
	Why string

	of    cluster
	drift fleet.DriftPolicy
}

// Why nothing is done to a cluster.
const (
	whyRemoved      = "the cluster was removed from Git and is left alone"
	whyNoDefinition = "no definition of the cluster can be used"
)

// Target returns the target of cluster k, and whether the cluster is known.
func (s State) Target(k fleet.Key) (Target, bool) {
	c, known := s.clusters.get(k)
	t := Target{
		Definition: c.definition, Requests: s.accepted[k], Problems: c.problems, InGit: c.inGit, Pruned: c.pruned,
		of: c, drift: s.config.Drift,
	}
	switch {
	case c.damaged != "":
		t.Why = c.damaged
	case c.orphan:
		t.Why = whyRemoved
	case c.definition == nil:
		t.Why = whyNoDefinition
	}
	if c.definition != nil {
		held := c.definition
		if newest := cmp.Or(c.refused, c.next); newest != nil {
			held = held.WhileWaiting(newest)
		}
		t.Cluster = held.WithRequests(t.Requests).WithScales(s.sizes[k]).WithDrift(s.config.Drift)
	}
	t.Stage, t.Changing = c.wave.ticket.stage, c.next == nil && c.wave.ticket.stage != "" && c.wave.moving()
	t.Back = t.Changing && c.wave.arrived == c.wave.digest
	if c.next != nil {
		t.Next = c.next.WithRequests(t.Requests).WithScales(s.sizes[k]).WithDrift(s.config.Drift)
		t.Wait, _ = c.wait(k)
	}
	return t, known
}
