package rollout

import "fairlead.dev/fleet"

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
			s.clusters.put(k, c.repaired(record))
		}
		d.Changed, d.StatusChanged = append(d.Changed, k), true
	}
}

// repaired returns c once its record can be read, or is gone. What is new waits for its turn in stages, as if the record
// had been read at the start.
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
		c.definition, c.wave = atRevision(c.definition, record.Revision), repairedWave(record)
	case c.next == nil && !c.orphan && !c.pruned:
		old := cluster{recorded: record, serves: c.serves, wave: repairedWave(record)}
		held := old.heldBack(c.definition, true)
		held.problems, held.inGit, held.refused, held.behind = c.problems, c.inGit, c.refused, c.behind
		return held
	}
	return c
}

// repairedWave returns what a record that could not be read at the start says of a cluster.
func repairedWave(record *fleet.Report) wave {
	w := waveOf(record, fleet.Standing{}, "")
	if !w.fresh {
		w.arrived = arrivalUnknown
	}
	return w
}
