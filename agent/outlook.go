package agent

import (
	"slices"

	"fairlead.dev/agent/pivot"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// An Outlook is what an agent would hold to, were a revision the newest.
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
	return recall(s).keepParts(f)
}

// Foresee returns what an agent would make of f after what the status branch
// says. It is the code by which agents choose.
func Foresee(s status.Status, f fleet.Fleet) Outlook {
	d := recall(s)
	if err := d.renamed(f); err != nil {
		return Outlook{Problems: []fleet.Problem{{File: "fleet.yaml", Field: "metadata.name", Message: err.Error()}}}
	}
	d, _ = d.advance(f)
	out := Outlook{Memory: make(map[fleet.Key]fleet.Memory, len(f.Clusters)), Orphans: d.orphans(), Problems: slices.Concat(d.problems, d.damaged())}
	home, _ := pivot.HomeOf(s.Owner.Agent)
	for i := range f.Clusters {
		h := d.clusters[f.Clusters[i].Key]
		if h.damaged != "" {
			continue // nobody knows what an agent would do
		}
		c := h.cluster
		if c.Delete && c.Key == home {
			c = kept(c)
			out.Problems = append(slices.Clone(out.Problems), inhabited(home))
		}
		c = c.Heeding(s.Requests).Scaled(s.Scales).WithDrift(f.Config.Drift)
		told, _ := s.Cluster(c.Key)
		out.Clusters = append(out.Clusters, c.WithResidence(told.Report.Residence))
		out.Memory[c.Key] = told.Report.Memory
	}
	for _, c := range s.Clusters {
		switch k := c.Report.Cluster; {
		case !d.clusters[k].pruned:
		case k == home:
			out.Problems = append(slices.Clone(out.Problems), inhabited(home))
		default:
			out.Pruned = append(out.Pruned, c.Report)
		}
	}
	return out
}
