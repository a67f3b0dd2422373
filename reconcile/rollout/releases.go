package rollout

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// A grantedRelease is one that counts for what waited, and what came of it, for people.
type grantedRelease struct {
	request fleet.Request
	message string
}

// grant has releases that people made count for what is wanted of their clusters now, each once.
// It reports whether it had any.
func (d *Decision) grant(groups []group) bool {
	s := &d.State
	var kept []grantedRelease
	news := false
	for _, r := range s.waves.releases {
		if i := slices.IndexFunc(s.waves.granted, func(g grantedRelease) bool { return g.request.Identical(r) }); i >= 0 {
			kept = append(kept, s.waves.granted[i])
			continue
		}
		n, more := 0, 0
		needed := approvalsOf(groups, r)
		for _, k := range s.released(r, groups) {
			c, missing, counts := s.clusters.of(k).releasedBy(r, needed)
			if !counts {
				continue
			}
			s.clusters.put(k, c)
			n, more = n+1, max(more, missing)
		}
		if r.Release == fleet.ReleaseSkip && s.skipDeparture(r.Cluster) {
			n = max(n, 1)
		}
		if n > 0 {
			kept, news = append(kept, grantedRelease{r, grantedText(r, n, more)}), true
		}
	}
	s.waves.granted = kept
	return news
}

// released returns the clusters that r is of, where what it is of still waits there.
func (s State) released(r fleet.Request, groups []group) []fleet.Key {
	if r.Stage == "" {
		c, known := s.clusters.get(r.Cluster)
		if !known || r.Of != "" && r.Of != c.wanted() {
			return nil
		}
		return []fleet.Key{r.Cluster}
	}
	i := slices.IndexFunc(groups, func(g group) bool { return g.stage.Name == r.Stage })
	if i < 0 || r.Of != "" && r.Of != waitsOf(groups[i].candidates) {
		return nil
	}
	var out []fleet.Key
	for _, f := range groups[i].candidates {
		if !f.excluded && (f.held != f.wanted || f.moving && r.Release == fleet.ReleaseSkip) {
			out = append(out, f.key)
		}
	}
	return out
}

// grantedText says what became of r, which n clusters go by, and more people have to approve.
func grantedText(r fleet.Request, n, more int) string {
	switch r.Release {
	case fleet.ReleaseApprove:
		if more > 0 {
			return "the approval counts for what waits in " + clusters(n) + "; " + people(more) + " more must approve"
		}
		return "what waits in " + clusters(n) + " is approved"
	case fleet.ReleaseSkip:
		return "others do not wait for " + clusters(n) + ", until their definition changes"
	}
	return "what waits in " + clusters(n) + " comes now"
}

// activeRelease returns what people said of what is wanted of c: a release, or the annotation. What
// they said of something else no longer counts.
func (c cluster) activeRelease() fleet.WaveRelease {
	if r := c.wave.release; r.Way != "" && r.Of == c.wanted() {
		return r
	}
	if n := c.newest(); n != nil && n.RolloutRelease != "" {
		return fleet.WaveRelease{Way: n.RolloutRelease, Of: c.wanted()}
	}
	return fleet.WaveRelease{}
}

// wanted returns the digest of the newest definition of c.
func (c cluster) wanted() string {
	if c.next != nil {
		return c.nextDigest
	}
	return c.wave.digest
}

// waitsOf returns the digest of all that waits in a stage; empty: nothing does.
func waitsOf(candidates []candidate) string {
	var waits []any
	for _, f := range candidates {
		if !f.excluded && f.held != f.wanted {
			waits = append(waits, f.key.String()+"="+f.wanted)
		}
	}
	if len(waits) == 0 {
		return ""
	}
	return fleet.DigestOf(waits...)
}

// admitRelease decides on a release that has no answer.
func (s State) admitRelease(r fleet.Request) fleet.Answer {
	if !s.config.Waves.Declared() {
		return refusal("nothing waits in this fleet: fleet.yaml has neither stages, windows nor freezes")
	}
	if r.Stage != "" {
		return s.admitStage(r)
	}
	c, known := s.clusters.get(r.Cluster)
	switch {
	case r.Release == fleet.ReleaseSkip && s.departed(r.Cluster):
		return fleet.Answer{State: fleet.RequestAccepted}
	case !known:
		return refusal("the fleet has no cluster %s: fairlead status lists them", r.Cluster)
	case r.Release == fleet.ReleaseApprove:
		return refusal("stages are approved, not clusters: fairlead status lists them")
	case c.next == nil && r.Release == fleet.ReleaseNow:
		return refusal("nothing waits for its turn in the cluster")
	case c.next == nil && !c.wave.moving() && c.wave.trouble == (trouble{}):
		return refusal("nothing waits for its turn in the cluster, and it is not being changed")
	case r.Of != "" && r.Of != c.wanted():
		return refusal("something else waits in the cluster by now: look at it, and ask again")
	}
	return fleet.Answer{State: fleet.RequestAccepted}
}

// admitStage decides on a release of a stage.
func (s State) admitStage(r fleet.Request) fleet.Answer {
	i := slices.IndexFunc(s.waves.stages, func(st fleet.StageStatus) bool { return st.Name == r.Stage })
	if i < 0 {
		return refusal("the fleet has no stage %s that has clusters: fairlead status lists them", r.Stage)
	}
	switch st := s.waves.stages[i]; {
	case st.Waiting == 0 && (r.Release != fleet.ReleaseSkip || st.Changing == 0):
		return refusal("nothing waits in stage %s", r.Stage)
	case r.Of != "" && r.Of != st.Digest:
		return refusal("something else waits in stage %s by now: look at it, and ask again", r.Stage)
	case r.Of == "" && r.Release == fleet.ReleaseApprove:
		return refusal("it does not say of what: add of, the digest of stage %s in fleet.yaml of the status branch", r.Stage)
	}
	if why := s.uncounted(r); why != "" {
		return refusal("%s", why)
	}
	return fleet.Answer{State: fleet.RequestAccepted}
}

// fulfilRelease returns the answer to r, which was accepted.
func (s State) fulfilRelease(r fleet.Request) fleet.Answer {
	if i := slices.IndexFunc(s.waves.granted, func(g grantedRelease) bool { return g.request.Identical(r) }); i >= 0 {
		return fleet.Answer{State: fleet.RequestDone, Message: s.waves.granted[i].message}
	}
	if s.waves.settled && slices.ContainsFunc(s.waves.releases, r.Identical) {
		return fleet.Answer{State: fleet.RequestDone, Message: fmt.Sprintf("what %s was of does not wait any more", r)}
	}
	return r.Answer
}

// setReleases makes list the releases that stand.
func (s *State) setReleases(list []fleet.Request) {
	var now []fleet.Request
	for _, r := range list {
		if r.Kind == fleet.RequestRelease && r.InEffect() {
			now = append(now, r)
		}
	}
	if !slices.EqualFunc(now, s.waves.releases, fleet.Request.Identical) {
		s.waves.releases = now
		s.unsettle()
	}
}
