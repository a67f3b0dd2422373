package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// recall returns what is held to before the first revision: the clusters that
// the status branch tells of, known by name alone.
func recall(s status.Status) desired {
	d := desired{fleet: s.Fleet.Fleet, applied: s.Fleet.Applied, clusters: make(map[fleet.Key]held, len(s.Clusters))}
	for _, c := range s.Clusters {
		k := c.Report.Cluster
		d.clusters[k] = held{recorded: &c.Report, orphan: slices.Contains(s.Fleet.Orphans, k)}
	}
	for _, c := range s.Damaged {
		d.clusters[c.Cluster] = held{damaged: c.Err.Error(), orphan: true}
	}
	return d
}

// desired is what the agent holds to. It is a value: advance makes a new one.
type desired struct {
	revision fleet.Revision // newest that was rendered; zero before the first
	applied  fleet.Revision // the same; before the first, what the agent before held to
	fleet    fleet.ID       // of the newest revision; before the first, of the record
	clusters map[fleet.Key]held
	problems []fleet.Problem // of the newest revision
	escrow   fleet.Escrow    // of the newest revision
	history  fleet.HistoryBound
	home     fleet.Home // of the newest revision
	drift    fleet.DriftPolicy
	sources  []fleet.PinnedSource // of the newest revision
}

// held is one cluster that the agent knows.
type held struct {
	cluster  *fleet.Cluster  // the definition held to; nil: known by name alone, nothing is done
	recorded *fleet.Report   // where cluster is nil: says where its last good definition may be found
	problems []fleet.Problem // why the newest revision is not applied
	inGit    bool            // the newest revision has it, good or broken
	orphan   bool            // vanished from Git and left alone
	pruned   bool            // vanished from Git and to be deleted
	behind   bool            // no pass has found it at rest as it is held to
	damaged  string          // why the status branch cannot tell what became of it; nothing is done then
}

// overlay returns the folder that the cluster was last rendered from.
func (h held) overlay() string {
	switch {
	case h.cluster != nil:
		return h.cluster.Overlay
	case h.recorded != nil:
		return h.recorded.Overlay
	}
	return ""
}

// deleting reports whether deletion was asked for, or had begun when the record
// was written.
func (h held) deleting() bool {
	if h.cluster != nil {
		return h.cluster.Delete
	}
	return h.recorded != nil && (h.recorded.Phase == fleet.PhaseDeleting || h.recorded.Phase == fleet.PhaseDeleted)
}

// abandoned reports whether the cluster is to be forgotten, once Git does not
// have it any more.
func (h held) abandoned() bool {
	if h.cluster != nil {
		return h.cluster.Abandon
	}
	return h.recorded != nil && h.recorded.Phase == fleet.PhaseAbandoned
}

// advance returns what is held to once f is the newest revision, and the keys
// whose definition or standing changed, sorted.
//
// A definition that is equal to the one held is not taken: its revision stays
// the one that brought the last change. A cluster that f has a problem with
// stays at its last good definition. One that f does not mention becomes an
// orphan, unless its deletion was asked for before or f says to prune.
//
// A cluster whose folder another overlay includes did not vanish: see keepParts.
func (d desired) advance(f fleet.Fleet) (desired, []fleet.Key) {
	f = d.keepParts(f)
	next := desired{
		revision: f.Revision, applied: f.Revision, fleet: f.ID, clusters: make(map[fleet.Key]held, len(f.Clusters)),
		problems: slices.Clone(f.Problems), escrow: f.Config.Escrow, history: f.Config.StatusHistory, home: f.Config.Home, drift: f.Config.Drift, sources: f.Config.Sources,
	}
	for i := range f.Clusters {
		c := &f.Clusters[i]
		old := d.clusters[c.Key]
		switch {
		case old.cluster != nil && old.inGit && same(c, old.cluster.Digest, old.cluster.Overlay):
			c = old.cluster
		case old.recorded != nil && !old.orphan && !old.deleting() && same(c, old.recorded.Digest, old.recorded.Overlay):
			c = at(c, old.recorded.Revision)
		}
		next.clusters[c.Key] = held{cluster: c, inGit: true, damaged: old.damaged}
	}
	var vanished []fleet.Key
	for k, old := range d.clusters {
		if _, ok := next.clusters[k]; ok {
			continue
		}
		if problems := concerning(f.Problems, k, old.overlay()); len(problems) > 0 {
			next.clusters[k] = held{cluster: old.cluster, recorded: old.recorded, problems: problems, inGit: true, damaged: old.damaged}
			continue
		}
		h := held{cluster: old.cluster, recorded: old.recorded, pruned: old.pruned, orphan: !old.pruned, damaged: old.damaged}
		switch {
		case old.deleting() || old.abandoned():
			h.orphan = false
		case !old.orphan && !old.pruned:
			vanished = append(vanished, k)
		}
		next.clusters[k] = h
	}
	slices.SortFunc(vanished, fleet.Key.Compare)
	next.prune(f, vanished)
	changed := d.changed(next)
	d.mark(next, changed)
	return next, changed
}

// mark marks the clusters of next that are behind: those that were so before, and
// those that changed and whose last report is not of what they are held to now.
func (d desired) mark(next desired, changed []fleet.Key) {
	for k, n := range next.clusters {
		old := d.clusters[k]
		_, isNew := slices.BinarySearchFunc(changed, k, fleet.Key.Compare)
		n.behind = !n.orphan && (old.behind || isNew && !n.atRest(old))
		next.clusters[k] = n
	}
}

// atRest reports whether the record that old is known by tells that the cluster is
// as h says.
func (h held) atRest(old held) bool {
	r, c := old.recorded, h.cluster
	return r != nil && old.cluster == nil && !old.orphan && c != nil && same(c, r.Digest, r.Overlay) &&
		!c.Delete && !c.Abandon && r.Phase == fleet.PhaseProvisioned && r.Failure == "" && len(r.Problems)+len(h.problems) == 0
}

// behind returns the clusters that are not yet as they are held to, sorted.
func (d desired) behind() []fleet.Key {
	var out []fleet.Key
	for k, h := range d.clusters {
		if h.behind {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// renamed says why f cannot follow: all that exists carries the fleet's id, and
// under another it would be created a second time and the first forgotten.
func (d desired) renamed(f fleet.Fleet) error {
	if d.fleet == "" || f.ID == d.fleet || len(d.clusters) == 0 {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, "follow revision "+f.Revision.String(),
		"its fleet is called %q, and everything that exists belongs to fleet %q: put metadata.name: %s into fleet.yaml, or start with --fleet-id %s where fleet.yaml has no name",
		f.ID, d.fleet, d.fleet, d.fleet)
}

// same reports whether c is the definition with that digest, of that overlay.
func same(c *fleet.Cluster, digest, overlay string) bool {
	return c.Digest == digest && c.Overlay == overlay
}

// at returns c with the revision that brought it.
func at(c *fleet.Cluster, rev fleet.Revision) *fleet.Cluster {
	out := *c
	out.Revision = rev
	return &out
}

// prune marks the clusters that vanished with f for deletion, if f says so and
// it is safe to believe.
func (d *desired) prune(f fleet.Fleet, vanished []fleet.Key) {
	if len(vanished) == 0 {
		return
	}
	refuse := func(message, hint string) {
		d.problems = append(d.problems, fleet.Problem{File: "fleet.yaml", Message: message, Hint: hint})
	}
	names := make([]string, len(vanished))
	for i, k := range vanished {
		names[i] = k.String()
	}
	list := strings.Join(names, ", ")
	switch limit := f.Config.Prune.Limit; {
	case len(f.Clusters) == 0 && len(f.Problems) == 0:
		refuse("the revision has no clusters at all: nothing is deleted, "+list+" stay as they are",
			"put the files back, or delete a cluster with the annotation "+fleet.DeleteAnnotation)
	case !f.Config.Prune.Enabled:
	case len(vanished) > limit:
		refuse(fmt.Sprintf("%d clusters vanished and prune.limit is %d: nothing is deleted, %s stay as they are", len(vanished), limit, list),
			"put the files back, and remove them again with a higher limit or in steps")
	default:
		for _, k := range vanished {
			h := d.clusters[k]
			if h.cluster != nil && h.cluster.Protect {
				continue
			}
			h.orphan, h.pruned = false, true
			if h.cluster != nil {
				h.cluster = deleted(h.cluster)
			}
			d.clusters[k] = h
		}
	}
}

// deleted returns c with the wish to delete it.
func deleted(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Delete = true
	return &out
}

// forgotten returns c with the wish to abandon it.
func forgotten(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Abandon = true
	return &out
}

// restored returns h with c as its definition, found at the recorded revision.
func (h held) restored(c *fleet.Cluster) held {
	switch {
	case h.inGit || !h.pruned && !h.deleting():
		if h.abandoned() {
			c = forgotten(c)
		}
	case h.pruned && c.Protect:
		h.pruned, h.orphan = false, true
	default:
		c = deleted(c)
	}
	h.cluster, h.recorded = c, nil
	return h
}

// changed returns the keys of next that a pass has something new to say about.
func (d desired) changed(next desired) []fleet.Key {
	var out []fleet.Key
	for k, n := range next.clusters {
		o, ok := d.clusters[k]
		same := ok && d.drift == next.drift && o.cluster == n.cluster && o.inGit == n.inGit && o.orphan == n.orphan && slices.Equal(o.problems, n.problems)
		if !same {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// orphans returns the clusters that vanished and are left alone, sorted.
func (d desired) orphans() []fleet.Key {
	var out []fleet.Key
	for k, h := range d.clusters {
		if h.orphan {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// providers returns the names of the infrastructure providers in use, sorted.
func (d desired) providers() []string {
	names := make(map[string]bool)
	for _, h := range d.clusters {
		if h.cluster != nil {
			names[h.cluster.Provider] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// concerning returns the problems that keep cluster k, of folder overlay, from
// being applied. A problem without a place may concern any cluster.
func concerning(problems []fleet.Problem, k fleet.Key, overlay string) []fleet.Problem {
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
