package agent

import (
	"slices"
	"time"

	"fairlead.dev/agent/pivot"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// An Outlook is what an agent would hold clusters to, were a revision the newest.
type Outlook struct {
	Clusters []*fleet.Cluster           // held to as the revision has them, sorted
	Memory   map[fleet.Key]fleet.Memory // of each of them
	Pruned   []fleet.Report             // vanished and to be deleted, as last reported, sorted
	Orphans  []fleet.Key                // vanished and left alone, sorted
	Problems []fleet.Problem
}

// KeepParts returns f with a problem at both ends for each overlay that includes
// the folder of a cluster that is live by what the status branch says, and without
// the clusters of such overlays. Foresee does that itself; this is for those who
// show a part of a fleet, and take it from the whole.
func KeepParts(s status.Status, f fleet.Fleet) fleet.Fleet {
	return recorded(s).KeepParts(f)
}

// Foresee returns what an agent would make of f at now, after what the status branch
// says. Agents decide by the same function.
func Foresee(s status.Status, f fleet.Fleet, now time.Time) Outlook {
	before := recorded(s)
	if err := before.Renamed(f); err != nil {
		return Outlook{Problems: []fleet.Problem{{File: "fleet.yaml", Field: "metadata.name", Message: err.Error()}}}
	}
	state := rollout.Decide(rollout.Input{Before: before, Now: now, Newest: &rollout.Revision{Revision: f.Revision, Fleet: &f}}).State
	asked := rollout.Decide(rollout.Input{
		Before: state, Now: now, Requests: &rollout.Requests{List: s.Requests}, Sizes: &rollout.Sizes{List: s.Scales},
	}).State
	told := state.Status()
	out := Outlook{Memory: make(map[fleet.Key]fleet.Memory, len(f.Clusters)), Orphans: told.Orphans, Problems: slices.Concat(told.Problems, told.Damaged)}
	home, _ := pivot.HomeOf(s.Owner.Agent)
	for i := range f.Clusters {
		t, _ := asked.Target(f.Clusters[i].Key)
		if t.Why != "" {
			continue // nobody knows what an agent would do
		}
		c := t.Cluster
		if c.Delete && c.Key == home {
			c = kept(c)
			out.Problems = append(out.Problems, inhabited(home))
		}
		last, _ := s.Cluster(c.Key)
		out.Clusters = append(out.Clusters, c.WithResidence(last.Report.Residence))
		out.Memory[c.Key] = last.Report.Memory
	}
	for _, c := range s.Clusters {
		switch t, _ := state.Target(c.Report.Cluster); {
		case !t.Pruned:
		case c.Report.Cluster == home:
			out.Problems = append(out.Problems, inhabited(home))
		default:
			out.Pruned = append(out.Pruned, c.Report)
		}
	}
	return out
}
