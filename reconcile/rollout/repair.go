package rollout

import (
	"slices"

	"fairlead.dev/fleet"
)

// repair takes in the records of clusters that could not be read before. What such a
// cluster went through, and where it lives, nobody knew, so nothing was done to it.
func (d *Decision) repair(records map[fleet.Key]*fleet.Report) {
	if len(records) == 0 {
		return
	}
	s := &d.State
	s.cloneClusters()
	for k, record := range records {
		c, known := s.clusters[k]
		if !known || c.damaged == "" {
			continue
		}
		if s.clusters[k] = c.repaired(record); record == nil && !c.inGit {
			delete(s.clusters, k)
		}
		d.Changed, d.StatusChanged = append(d.Changed, k), true
	}
}

// repaired returns c once its record can be read, or is gone.
func (c cluster) repaired(record *fleet.Report) cluster {
	c.damaged = ""
	if record != nil {
		c.serves = servedVersion(record)
	}
	switch {
	case record == nil:
	case c.definition == nil:
		c.recorded = record
		c.orphan = !c.inGit && !c.deleting()
	case sameDefinition(c.definition, record.Digest, record.Overlay):
		c.definition = atRevision(c.definition, record.Revision)
	}
	return c
}

// damaged returns a problem for each cluster of which nothing is known, sorted.
func (s State) damaged() []fleet.Problem {
	var out []fleet.Problem
	for k, c := range s.clusters {
		if c.damaged != "" {
			out = append(out, fleet.Problem{
				Cluster: k, Message: "nothing is done to the cluster: " + c.damaged,
				Hint: "on the status branch, put the file back as it was; docs/operations/disaster-recovery.md says what is lost where that cannot be",
			})
		}
	}
	slices.SortFunc(out, func(a, b fleet.Problem) int { return a.Cluster.Compare(b.Cluster) })
	return out
}
