package desired

import (
	"slices"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// A Fleet is what an agent would work towards.
type Fleet struct {
	Clusters []*fleet.Cluster           // as the revision has them, sorted
	Memory   map[fleet.Key]fleet.Memory // of each of them
	Pruned   []fleet.Report             // vanished and to be deleted, as last reported, sorted
	Orphans  []fleet.Key                // vanished and left alone, sorted
	Problems []fleet.Problem
	Turns    []Turn // of what comes in waves, sorted
}

// A Turn is when a cluster of Fleet gets the definition of Fleet, in a rollout.
type Turn struct {
	Cluster fleet.Key
	Stage   string
	Wait    fleet.Wait // why not now; zero: it comes now, or is under way
	Back    bool       // it goes back to what it was
}

// Recorded returns what is decided before the first revision, by what the status branch
// says of clusters.
func Recorded(s status.Status) rollout.State {
	r := rollout.Record{Fleet: s.Fleet.Fleet, Applied: s.Fleet.Applied, Orphans: s.Fleet.Orphans, Rollout: s.Fleet.Rollout, Problems: s.Fleet.Problems, Damaged: make(map[fleet.Key]string, len(s.Damaged))}
	for _, c := range s.Clusters {
		r.Reports = append(r.Reports, c.Report)
	}
	for _, c := range s.Damaged {
		r.Damaged[c.Cluster] = c.Err.Error()
	}
	return rollout.Recorded(r)
}

// RefuseIncluders returns f with a problem at both ends for each overlay that includes the
// folder of a cluster that is live by what the status branch says, and without the
// clusters of such overlays. Of does that itself; this is for those who show a part of a
// fleet, and take it from the whole.
func RefuseIncluders(s status.Status, f fleet.Fleet) fleet.Fleet {
	return Recorded(s).RefuseIncluders(f)
}

// Of returns what an agent would make of f at now, after what the status branch says.
func Of(s status.Status, f fleet.Fleet, now time.Time) Fleet {
	before := Recorded(s).Alone()
	if err := before.Renamed(f); err != nil {
		return Fleet{Problems: []fleet.Problem{{File: "fleet.yaml", Field: "metadata.name", Message: err.Error()}}}
	}
	state := rollout.Decide(rollout.Input{Before: before, Now: now, Newest: &rollout.Revision{Revision: f.Revision, Fleet: &f}}).State
	asked := rollout.Decide(rollout.Input{
		Before: state, Now: now, Requests: &rollout.Requests{List: s.Requests}, Sizes: &rollout.Sizes{List: s.Scales},
	}).State
	told := state.Status()
	out := Fleet{Memory: make(map[fleet.Key]fleet.Memory, len(f.Clusters)), Orphans: told.Orphans, Problems: slices.Concat(told.Problems, told.Damaged)}
	home, _ := ownership.HomeOf(s.Owner.Agent)
	extras := make(map[string][]fleet.Report) // by namespace: those of clusters with places beside the first
	for _, c := range s.Clusters {
		if ns := c.Report.Cluster.Namespace; len(c.Report.Residence.Extras()) > 0 {
			extras[ns] = append(extras[ns], c.Report)
		}
	}
	for i := range f.Clusters {
		t, _ := asked.Target(f.Clusters[i].Key)
		c := t.Cluster
		if t.Next != nil { // planned is what comes once it is its turn
			c = t.Next
			out.Turns = append(out.Turns, Turn{Cluster: c.Key, Stage: t.Stage, Wait: t.Wait})
		} else if c == nil {
			continue // an older definition counts, which is not in f
		} else if t.Changing {
			out.Turns = append(out.Turns, Turn{Cluster: c.Key, Stage: t.Stage, Back: t.Back})
		} else if t.Why != "" {
			continue // it is not known what an agent would do
		}
		if c.Delete && c.Key == home {
			var p fleet.Problem
			c, p = rollout.ProtectHome(c)
			out.Problems = append(out.Problems, p)
		}
		last, _ := s.Cluster(c.Key)
		out.Clusters = append(out.Clusters, c.WithResidence(last.Report.Residence).WithNeighborPlaces(fleet.NeighborPlacesOf(c.Key, extras[c.Key.Namespace])))
		out.Memory[c.Key] = last.Report.Memory
	}
	for _, c := range s.Clusters {
		switch t, _ := state.Target(c.Report.Cluster); {
		case !t.Pruned:
		case c.Report.Cluster == home:
			_, p := rollout.ProtectHome(&fleet.Cluster{Key: home})
			out.Problems = append(out.Problems, p)
		default:
			out.Pruned = append(out.Pruned, c.Report)
		}
	}
	return out
}
