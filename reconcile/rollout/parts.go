package rollout

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// live reports whether the cluster is one that Git is to keep: a revision that does not
// declare it any more takes something away.
func (s State) live(c cluster) bool {
	known := c.inGit || s.revision.IsZero() && c.recorded != nil
	return known && !c.orphan && !c.pruned && !c.deleting() && !c.abandoned()
}

// RefuseIncluders returns f with a problem at both ends for each overlay that includes the
// folder of a live cluster, and without the clusters of such overlays: who may change
// one folder cannot make the cluster of another one vanish, nor define it. Decide does
// that itself; this is for those who show a part of a fleet, and take it from the whole.
func (s State) RefuseIncluders(f fleet.Fleet) fleet.Fleet {
	at := map[string][]fleet.Key{} // live clusters, by folder
	for _, k := range keysOf(s.clusters.seen(), func(c *cluster) bool { return s.live(*c) }) {
		folder := s.clusters.of(k).overlay()
		at[folder] = append(at[folder], k)
	}
	declared := make(map[fleet.Key]bool, len(f.Clusters))
	for i := range f.Clusters {
		declared[f.Clusters[i].Key] = true
	}
	refused := map[string]bool{} // overlays
	var problems []fleet.Problem
	for _, p := range f.Parts {
		keys := slices.Clone(at[p.Folder])
		for _, k := range p.Clusters {
			if c, known := s.clusters.get(k); known && s.live(c) && !declared[k] && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
		for _, k := range keys {
			problems = append(problems, inclusionProblems(p, k)...)
			for _, by := range p.By {
				refused[by.Folder] = true
			}
		}
	}
	if len(problems) == 0 {
		return f
	}
	f.Problems = slices.Concat(f.Problems, problems)
	f.Parts = nil // each is a problem now
	f.Clusters = slices.DeleteFunc(slices.Clone(f.Clusters), func(c fleet.Cluster) bool { return refused[c.Overlay] })
	return f
}

// inclusionProblems are the problems of p, the folder of live cluster k, and of those that
// include it.
func inclusionProblems(p fleet.Part, k fleet.Key) []fleet.Problem {
	const hint = "move what both share into a folder that is no overlay, and include that one; or exclude the folder in fleet.yaml, so that the other defines the cluster"
	var out []fleet.Problem
	for _, by := range p.By {
		out = append(out, fleet.Problem{
			Overlay: by.Folder, File: by.File, Hint: hint,
			Message: fmt.Sprintf("it includes %s, the folder of the live Cluster %s", p.Folder, k),
		}, fleet.Problem{
			Overlay: p.Folder, Cluster: k, File: p.File, Object: "Cluster " + k.String(), Hint: hint,
			Message: by.Folder + " includes this folder, and with that it would be no cluster of its own any more",
		})
	}
	return out
}
