package rollout

import (
	"slices"

	"fairlead.dev/fleet"
)

// repair takes in the records of clusters that could not be read before. What such a
// cluster went through, and where it lives, was not known, so nothing was done to it.
func (d *Decision) repair(records map[fleet.Key]*fleet.Report) {
	if len(records) == 0 {
		return
	}
	s := &d.State
	for k, record := range records {
		c, known := s.clusters.get(k)
		if !known || c.damaged == "" {
			continue
		}
		if record == nil && !c.inGit {
			s.clusters.delete(k)
		} else {
			s.clusters.put(k, c.repaired(record).brokenBy(s.folders))
		}
		d.Changed, d.StatusChanged = append(d.Changed, k), true
	}
}

// brokenBy returns c once its record says of which folder it is: one of a folder with problems is not gone from Git.
func (c cluster) brokenBy(folders []fleet.Problem) cluster {
	if c.inGit || c.recorded == nil || c.gone {
		return c
	}
	c.problems = slices.DeleteFunc(slices.Clone(folders), func(p fleet.Problem) bool { return p.Overlay != c.recorded.Overlay })
	if len(c.problems) > 0 {
		c.inGit, c.orphan = true, false
	}
	return c
}

// repaired returns c once its record can be read, or is gone. What is new waits for its turn in stages, as if the record
// had been read at the start.
func (c cluster) repaired(record *fleet.Report) cluster {
	c.damaged = ""
	if record == nil {
		return c
	}
	c.serves = servedVersion(record)
	old := cluster{recorded: record, serves: c.serves, wave: waveOf(record, fleet.Standing{Arrived: arrivalUnknown}, "")}
	switch {
	case c.definition == nil:
		c.recorded, c.wave = record, old.wave
		c.orphan = !c.inGit && !c.deleting()
	case sameDefinition(c.definition, record.Digest, record.Overlay):
		c.definition, c.wave = atRevision(c.definition, record.Revision), old.wave
	case c.orphan: // if it is put back, what is new waits
		c.definition, c.recorded, c.wave = nil, record, old.wave
	case !c.pruned:
		held := old.heldBack(c.definition, true)
		held.problems, held.inGit, held.refused, held.behind = c.problems, c.inGit, c.refused, c.behind
		return held
	}
	return c
}
