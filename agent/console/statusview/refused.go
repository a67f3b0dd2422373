package statusview

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// PhaseRefused is the phase of a cluster of which nothing was ever applied: Git has it, and it
// has problems. The status branch has no file of such a cluster.
const PhaseRefused fleet.Phase = "Refused"

// WithRefused returns s with an entry for each cluster that the problems of the fleet name and
// that has no file.
func WithRefused(s status.Status) status.Status {
	known := make(map[fleet.Key]bool, len(s.Clusters)+len(s.Unread))
	for _, k := range s.Unread {
		known[k] = true
	}
	for i := range s.Clusters {
		known[s.Clusters[i].Report.Cluster] = true
	}
	for _, d := range s.Damaged {
		known[d.Cluster] = true
	}
	refused := make(map[fleet.Key]*status.Cluster)
	var added []*status.Cluster
	for _, p := range s.Fleet.Problems {
		k := p.Cluster
		if k == (fleet.Key{}) || known[k] {
			continue
		}
		if refused[k] == nil {
			refused[k] = &status.Cluster{Report: fleet.Report{Cluster: k, Overlay: p.Overlay, Phase: PhaseRefused, Revision: s.Fleet.Revision}}
			added = append(added, refused[k])
		}
		refused[k].Report.Problems = append(refused[k].Report.Problems, p)
	}
	if len(added) == 0 {
		return s
	}
	s.Clusters = slices.Clone(s.Clusters)
	for _, c := range added {
		s.Clusters = append(s.Clusters, *c)
	}
	slices.SortStableFunc(s.Clusters, func(a, b status.Cluster) int { return a.Report.Cluster.Compare(b.Report.Cluster) })
	return s
}
