package rollout

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// applyRevision takes in what was seen of the newest revision.
func (d *Decision) applyRevision(r Revision, at time.Time) {
	s := &d.State
	switch {
	case r.Unavailable != "":
		d.delay(r)
		return
	case s.late != (late{}):
		s.late, d.StatusChanged = late{}, true
	}
	refused := r.Refused
	if r.Fleet != nil {
		if err := s.Renamed(*r.Fleet); err != nil {
			refused = err.Error()
		}
	}
	switch {
	case refused != "":
		d.refuse(r.Revision, refused)
	case r.Fleet != nil:
		d.advance(*r.Fleet, r.Authors, at)
		s.problems = append(s.problems, r.Notices...)
	}
}

// delay notes that the newest revision cannot be got yet.
func (d *Decision) delay(r Revision) {
	l := late{r.Revision, fleet.Problem{
		Message: "the newest revision " + r.Revision.String() + " cannot be got yet: " + oneLine(r.Unavailable),
		Hint:    "everything stays at the last revision that was good; the agent tries again by itself",
	}}
	if l != d.State.late {
		d.State.late, d.StatusChanged = l, true
	}
}

// refuse notes that rev can never be used. Clusters keep their targets.
func (d *Decision) refuse(rev fleet.Revision, why string) {
	s := &d.State
	problems := []fleet.Problem{{Message: why, Hint: "everything stays at the last revision that was good"}}
	if s.refused != rev || !slices.Equal(s.problems, problems) {
		d.StatusChanged = true
	}
	s.refused, s.problems = rev, problems
}

// Renamed says why f cannot follow: all that exists carries the fleet's id, and under
// another one it would be created a second time and the first forgotten.
func (s State) Renamed(f fleet.Fleet) error {
	if s.id == "" || f.ID == s.id || s.clusters.len() == 0 {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, "follow revision "+f.Revision.String(),
		"its fleet is called %q, and everything that exists belongs to fleet %q: put metadata.name: %s into fleet.yaml, or start with --fleet-id %s where fleet.yaml has no name",
		f.ID, s.id, s.id, s.id)
}

// advance makes f the newest revision. Changed are the clusters whose target is another
// one, or no target any more.
//
// A definition that is equal to the present one does not replace it: its revision stays
// the one that brought the last change. A cluster that f has a problem with stays at
// its last good definition. One that f does not mention becomes an orphan, unless its
// deletion was asked for before or f says to prune.
//
// One whose control plane may not go to the version that f has is one that f has a problem
// with. A cluster whose folder another overlay includes did not vanish: see RefuseIncluders.
func (d *Decision) advance(f fleet.Fleet, authors []string, at time.Time) {
	before := d.State
	f, refused := before.refuseVersions(before.RefuseIncluders(f))
	s := &d.State
	s.id, s.revision, s.applied, s.refused, s.orphansUnknown = f.ID, f.Revision, f.Revision, fleet.Revision{}, false
	s.config, s.problems = f.Config, slices.Clone(f.Problems)
	s.folders = slices.DeleteFunc(slices.Clone(f.Problems), func(p fleet.Problem) bool { return p.Cluster != fleet.Key{} || p.Overlay == "" })
	clusters := make(map[fleet.Key]cluster, len(f.Clusters))
	for i := range f.Clusters {
		c := &f.Clusters[i]
		old := before.clusters.of(c.Key)
		if f.Config.Waves.Declared() {
			_, known := before.clusters.get(c.Key)
			now := old.heldBack(c, known)
			now.wave.before = before.waitsSince(old, now)
			now.wave.origin, now.wave.people = before.originOf(&f, old, now), nil
			if f.Config.Waves.AsksAuthors() {
				now.wave.people = now.peopleAfter(old, authors)
			}
			clusters[c.Key] = now
			continue
		}
		clusters[c.Key] = cluster{definition: old.replacedBy(c), inGit: true, damaged: old.damaged, serves: old.serves}
	}
	var vanished []fleet.Key
	for k, old := range before.clusters.all() {
		if _, ok := clusters[k]; ok {
			continue
		}
		problems := problemsOf(f.Problems, k, old.overlay())
		switch {
		case old.orphan && old.damaged == "": // a folder that is broken does not show that it is back
			problems = slices.DeleteFunc(problems, func(p fleet.Problem) bool { return p.Cluster != k })
		case old.pruned: // a problem of the whole fleet does not show it either
			problems = slices.DeleteFunc(problems, func(p fleet.Problem) bool { return p.Cluster != k && p.Overlay == "" })
		}
		if len(problems) > 0 {
			old = old.unpruned()
			people := old.peopleWhile(authors)
			if !f.Config.Waves.AsksAuthors() {
				people = nil
			}
			old.wave.before, old.wave.people = cmp.Or(old.wave.before, before.applied), people
			clusters[k] = cluster{definition: old.definition, recorded: old.recorded, problems: problems, inGit: true, damaged: old.damaged, next: old.next, nextDigest: old.nextDigest, wave: old.wave, serves: old.serves, refused: refused[k]}
			continue
		}
		c := cluster{definition: old.definition, recorded: old.recorded, pruned: old.pruned, orphan: !old.pruned, damaged: old.damaged, wave: old.wave, serves: old.serves}
		c.gone = old.damaged != "" && (old.gone || len(s.folders) == 0)
		switch {
		case old.deleting() || old.abandoned():
			c.orphan = false
		case !old.orphan && !old.pruned && !before.orphansUnknown:
			vanished = append(vanished, k)
		}
		clusters[k] = c
	}
	s.clusters = newClusterMap(clusters)
	s.prune(f, sorted(vanished))
	if f.Revision == before.applied {
		s.problems = append(s.problems, before.unpruned...)
	}
	s.unpruned = unprunedOf(s.problems)
	s.noteDepartures(before, at)
	s.renameStages(before)
	changed := before.changed(*s)
	s.markBehind(before, changed)
	d.Changed, d.StatusChanged = append(d.Changed, changed...), true
}

// replacedBy returns the definition of a cluster that the newest revision defines as c:
// the one from before where that is the same.
func (old cluster) replacedBy(c *fleet.Cluster) *fleet.Cluster {
	switch {
	case old.definition != nil && old.inGit && sameDefinition(c, old.definition.Digest, old.definition.Overlay):
		return old.definition
	case old.recorded != nil && !old.orphan && !old.deleting() && sameDefinition(c, old.recorded.Digest, old.recorded.Overlay):
		return atRevision(c, old.recorded.Revision)
	}
	return c
}

// sameDefinition reports whether c is the definition with that digest, of that overlay.
func sameDefinition(c *fleet.Cluster, digest, overlay string) bool {
	return c.Digest == digest && c.Overlay == overlay
}

// atRevision returns c with the revision that brought it.
func atRevision(c *fleet.Cluster, rev fleet.Revision) *fleet.Cluster {
	out := *c
	out.Revision = rev
	return &out
}

// problemsOf returns the problems that keep cluster k, of folder overlay, from being
// applied. A problem without a place may concern any cluster.
func problemsOf(problems []fleet.Problem, k fleet.Key, overlay string) []fleet.Problem {
	var out []fleet.Problem
	for _, p := range problems {
		switch {
		case p.Cluster == k,
			p.Cluster == fleet.Key{} && p.Overlay == overlay,
			p.Cluster == fleet.Key{} && p.Overlay == "":
			out = append(out, p)
		}
	}
	return out
}

// changed returns the keys of next that a pass has something new to say about, sorted.
func (s State) changed(next State) []fleet.Key {
	var out []fleet.Key
	for k, n := range next.clusters.all() {
		o, ok := s.clusters.get(k)
		same := ok && s.config.Drift == next.config.Drift && o.definition == n.definition && o.next == n.next && o.refused == n.refused &&
			o.inGit == n.inGit && o.orphan == n.orphan && slices.Equal(o.problems, n.problems)
		if !same {
			out = append(out, k)
		}
	}
	return sorted(out)
}
