package rollout

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// peopleAfter returns the people of what waits of c, a cluster that was old before a revision that
// authors wrote. Where something waited before, who wrote that wrote a part of what waits now.
func (c cluster) peopleAfter(old cluster, authors []string) *fleet.WavePeople {
	was := old.wave.people
	switch {
	case c.next == nil:
		return nil
	case was != nil && was.Of == c.nextDigest:
		return &fleet.WavePeople{Of: was.Of, Authors: was.Authors, Approvals: was.Approvals}
	case was != nil:
		authors = slices.Concat(authors, was.Authors, was.Later)
	}
	if len(authors) == 0 {
		return nil
	}
	return &fleet.WavePeople{Of: c.nextDigest, Authors: sortedPeople(authors)}
}

// waitsSince returns the revision that was followed in s when something began to wait of now, a cluster that
// was old then.
func (s State) waitsSince(old, now cluster) fleet.Revision {
	switch {
	case now.next == nil:
		return fleet.Revision{}
	case !old.wave.before.IsZero():
		return old.wave.before
	}
	return s.applied
}

// Unattributed returns the revisions that were followed when something began to wait of which no agent asked who
// wrote it, each once: who wrote the commits since then may have written what waits.
func (s State) Unattributed() []fleet.Revision {
	var out []fleet.Revision
	for _, c := range s.clusters.all() {
		if from := c.wave.before; !from.IsZero() && c.wave.people == nil && !slices.Contains(out, from) {
			out = append(out, from)
		}
	}
	return out
}

// peopleWhile returns the people of c while a revision that authors wrote cannot be used for it. What
// they wrote is a part of what waits once that revision, or a later one, can be used.
func (c cluster) peopleWhile(authors []string) *fleet.WavePeople {
	if len(authors) == 0 {
		return c.wave.people
	}
	p := fleet.WavePeople{Of: c.wanted()}
	if was := c.wave.people; was != nil {
		p = *was
	}
	p.Later = sortedPeople(slices.Concat(p.Later, authors))
	return &p
}

// peopleOnce returns the people of c once it took what waited: those of revisions after that.
func (c cluster) peopleOnce() *fleet.WavePeople {
	if p := c.wave.people; p != nil && len(p.Later) > 0 {
		return &fleet.WavePeople{Of: c.nextDigest, Later: p.Later}
	}
	return nil
}

func sortedPeople(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// people returns those of what waits of c. Those of something else do not count.
func (c cluster) people() fleet.WavePeople {
	if p := c.wave.people; p != nil && p.Of == c.wanted() {
		return *p
	}
	return fleet.WavePeople{Of: c.wanted()}
}

// approvalsOf returns how many people have to approve what r approves; zero: anyone may.
func approvalsOf(groups []group, r fleet.Request) int {
	if r.Release != fleet.ReleaseApprove {
		return 0
	}
	i := slices.IndexFunc(groups, func(g group) bool { return g.stage.Name == r.Stage })
	if i < 0 {
		return 0
	}
	return groups[i].stage.Approvals
}

// releasedBy returns c once r counts for what waits in it, how many more people have to approve, and
// whether r counts. The last of the needed people releases it. Reviews, whose authors the agent
// compared, count together or not at all.
func (c cluster) releasedBy(r fleet.Request, needed int) (out cluster, missing int, counts bool) {
	if needed > len(r.Reviewers) {
		p, by := c.people(), r.Approver()
		if len(r.Reviewers) > 0 || r.Wrote(p.Authors) {
			return c, 0, false
		}
		if !slices.ContainsFunc(p.Approvals, r.IsBy) {
			p.Approvals = append(slices.Clone(p.Approvals), by)
			c.wave.people = &p
		}
		if missing = needed - len(p.Approvals); missing > 0 {
			return c, missing, true
		}
	}
	c.wave.release = fleet.WaveRelease{Way: r.Release, Of: c.wanted(), Stage: r.Stage != ""}
	return c, 0, true
}

// uncounted says why r would approve nothing of what waits in its stage; empty: it would.
func (s State) uncounted(r fleet.Request) string {
	groups := s.groups(gatesAt(&s.config.Waves, s.waves.at))
	needed := approvalsOf(groups, r)
	switch n := len(r.Reviewers); {
	case needed <= n:
		return ""
	case n > 0:
		return fmt.Sprintf("%d reviewed, and stage %s needs the approval of %s", n, r.Stage, people(needed))
	}
	by, wrote, did := r.Approver(), false, false
	for _, g := range groups {
		for _, f := range g.candidates {
			switch {
			case g.stage.Name != r.Stage || !f.unapproved():
			case r.Wrote(f.people.Authors):
				wrote = true
			case slices.ContainsFunc(f.people.Approvals, r.IsBy):
				did = true
			default:
				return ""
			}
		}
	}
	switch {
	case did:
		return fmt.Sprintf("%s approved already: stage %s needs the approval of another person", by.By, r.Stage)
	case wrote:
		return fmt.Sprintf("%s wrote a part of what waits in stage %s: it needs the approval of another person", by.By, r.Stage)
	}
	return ""
}

// approved returns who approved all that waits for approval, and how many people are missing.
func (r *stageRun) approved() (by []string, missing int) {
	if r.stage.Approvals == 0 {
		return nil, 0
	}
	first := true
	for _, f := range r.candidates {
		if !f.unapproved() {
			continue
		}
		var these []string
		for _, a := range f.people.Approvals {
			if first || slices.Contains(by, a.By) {
				these = append(these, a.By)
			}
		}
		by, first = these, false
		missing = max(missing, 1, r.stage.Approvals-len(f.people.Approvals))
	}
	return by, missing
}

// unapprovedWhy says whose approval the stage waits for. A review counts where it can be of all that
// waits.
func (r *stageRun) unapprovedWhy() string {
	reviewers := strings.Join(r.stage.Reviewers, ", ")
	unknown := func(f candidate) bool { return f.unapproved() && f.origin.Of != f.wanted }
	reviewed := len(r.stage.Reviewers) > 0 && !slices.ContainsFunc(r.candidates, unknown)
	if r.stage.Approvals == 0 {
		text := "stage " + r.stage.Name + " waits for the approval of a person"
		if reviewed {
			text += ", which a review by one of " + reviewers + " is"
		}
		return text
	}
	by, missing := r.approved()
	text := "stage " + r.stage.Name + " waits for the approval of " + people(missing) + " who wrote no part of it"
	if len(by) > 0 {
		text += ", besides " + strings.Join(by, ", ")
	}
	if reviewed {
		text += fmt.Sprintf("; or for reviews by %d of %s", r.stage.Approvals, reviewers)
	}
	return text
}

func people(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}
