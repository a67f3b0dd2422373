package pullrequests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// desk has what was asked for.
type desk struct {
	*world

	asked []fleet.Request
	calls int
	err   error
}

func (d *desk) Ask(_ context.Context, r fleet.Request) error {
	if d.calls++; d.err == nil {
		r.At = time.Time{}
		d.asked = append(d.asked, r)
	}
	return d.err
}

// A gated world is one in which prod/a waits for an approval of what pull request 1, of carol,
// brought. Bob and dora may give it.
type gated struct {
	*world

	desk *desk
	pull forge.PullRequest
	q    *PullRequests
	// what is followed before and after the merge, and what the head comes to on the first
	from, to fleet.Revision
	merges   map[[2]string]sources.Merged
}

// Merge has what was followed differ in what pull request 1 brought.
func (g *gated) Merge(_ context.Context, onto, head fleet.Revision) (sources.Merged, error) {
	if m, ok := g.merges[[2]string{onto.Digest, head.Digest}]; ok {
		return m, nil
	}
	return sources.Merged{}, fleet.Errorf(fleet.Invalid, "merge", "they have no common history")
}

func newGated(t *testing.T, change ...func(*fleet.Stage)) *gated {
	t.Helper()
	w := newWorld()
	g := &gated{world: w, desk: &desk{world: w}, from: base, to: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(78)}}
	f := w.fleets["base"]
	f.Config.Waves.Stages = []fleet.Stage{{Name: "prod", Select: labels.Everything(), AtOnce: 1, Approval: true, Reviewers: []string{"Dora", "bob", "carol"}}}
	for _, set := range change {
		set(&f.Config.Waves.Stages[0])
	}
	f.Clusters = []fleet.Cluster{waiting("v1")}
	w.state = rollout.State{}
	w.follow(f)
	target, _ := w.state.Target(f.Clusters[0].Key)
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Passes: []rollout.Pass{
		{Target: target, Report: fleet.Report{Cluster: f.Clusters[0].Key, Phase: fleet.PhaseProvisioned}, AtRest: true},
	}}).State
	f.Revision, f.Clusters = g.to, []fleet.Cluster{waiting("v2")}
	w.follow(f)
	g.pull = forge.PullRequest{Number: 1, State: forge.Open, Author: "carol", Head: forgetest.Hash(1), Base: "main"}
	w.Put(g.pull)
	w.plans[1] = status.Plan{Number: 1, Head: g.pull.Head, Clusters: []fleet.Key{waiting("v2").Key}}
	after := sources.Merged{Digest: "sha1:after"}
	g.merges = map[[2]string]sources.Merged{
		{g.from.Digest, "sha1:" + g.pull.Head}: after,
		{g.to.Digest, g.to.Digest}:             {Digest: "sha1:after", Contained: true},
	}
	g.start()
	return g
}

// start has another process of the agent go on.
func (g *gated) start() {
	g.q = g.world.start()
	g.q.p.Source, g.q.p.Requests = g, g.desk
}

func waiting(version string) fleet.Cluster {
	return fleet.Cluster{
		Key: fleet.Key{Namespace: "prod", Name: "a"}, Fleet: "f", Digest: version, Overlay: "clusters/a",
		ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: version, Template: fleet.TemplateHash("1-" + version)},
	}
}

// merge has the forge merge the pull request as it is.
func (g *gated) merge() {
	g.pull.State = forge.Merged
	g.Put(g.pull)
}

func TestReviewApproves(t *testing.T) {
	for name, c := range map[string]struct {
		given func(t *testing.T, g *gated)
		want  string
	}{
		"a review before the merge": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
		}, "bob, reviewing pull request 1"},
		"a review after it, of a name in other letters": {func(t *testing.T, g *gated) {
			g.merge()
			g.Review(t, 1, "dora", forgetest.Approve)
		}, "dora, reviewing pull request 1"},
		"no review":        {func(_ *testing.T, g *gated) { g.merge() }, ""},
		"it is not merged": {func(t *testing.T, g *gated) { g.Review(t, 1, "bob", forgetest.Approve) }, ""},
		"it is merged elsewhere": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.pull.Base = "next"
			g.merge()
		}, ""},
		"it was closed without a merge": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.pull.State = forge.Closed
			g.Put(g.pull)
		}, ""},
		"somebody who is not named": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "mallory", forgetest.Approve)
			g.merge()
		}, ""},
		"who opened it": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "carol", forgetest.Approve)
			g.merge()
		}, ""},
		"who wrote a commit of it": {func(t *testing.T, g *gated) {
			g.Wrote(1, "carol", "", "Bob")
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
		}, ""},
		"who wrote a commit of it, and another": {func(t *testing.T, g *gated) {
			g.Wrote(1, "carol", "bob")
			g.Review(t, 1, "bob", forgetest.Approve)
			g.Review(t, 1, "dora", forgetest.Approve)
			g.merge()
		}, "dora, reviewing pull request 1"},
		"a comment": {func(t *testing.T, g *gated) {
			g.Say(1, "bob", "approved, LGTM")
			g.Review(t, 1, "bob", forgetest.Remark)
			g.merge()
		}, ""},
		"a review of an older head": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.pull = g.Push(t, g.pull)
			g.merges[[2]string{g.from.Digest, "sha1:" + g.pull.Head}] = sources.Merged{Digest: "sha1:after"}
			g.merge()
		}, ""},
		"it was dismissed": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.Review(t, 1, "bob", forgetest.Withdraw)
			g.merge()
		}, ""},
		"another who is named asks for changes": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.Review(t, 1, "dora", forgetest.Refuse)
			g.merge()
		}, ""},
		"somebody who is not named asks for changes": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.Review(t, 1, "mallory", forgetest.Refuse)
			g.merge()
		}, "bob, reviewing pull request 1"},
		"something else came with it": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			g.merges[[2]string{g.to.Digest, g.to.Digest}] = sources.Merged{Digest: "sha1:more"}
		}, ""},
		"it had nothing to bring": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			g.merges[[2]string{g.from.Digest, "sha1:" + g.pull.Head}] = sources.Merged{Digest: "sha1:after", Contained: true}
		}, ""},
		"it was merged by hand": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			g.merges[[2]string{g.from.Digest, "sha1:" + g.pull.Head}] = sources.Merged{Digest: "sha1:after", Conflicts: []string{"a.yaml"}}
		}, ""},
		"its history is gone": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			delete(g.merges, [2]string{g.from.Digest, "sha1:" + g.pull.Head})
		}, ""},
		"that of a later one is gone": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			g.Put(forge.PullRequest{Number: 2, State: forge.Merged, Head: forgetest.Hash(2), Base: "main"})
			g.plans[2] = status.Plan{Number: 2}
		}, "bob, reviewing pull request 1"},
		"nobody is named any more": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			f := fleet.Fleet{ID: "f", Revision: fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(79)}, Config: g.state.Config(), Clusters: []fleet.Cluster{waiting("v2")}}
			f.Config.Waves.Stages = []fleet.Stage{{Name: "prod", Select: labels.Everything(), AtOnce: 1, Approval: true}}
			g.follow(f)
		}, ""},
		"another agent has the fleet": {func(t *testing.T, g *gated) {
			g.Review(t, 1, "bob", forgetest.Approve)
			g.merge()
			g.Before = func(call string) error {
				g.lost = g.lost || call == "reviews"
				return nil
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(t)
			c.given(t, g)
			of := g.state.Rollout().Stages[0].Digest
			for range 2 {
				g.q.Poll(t.Context())
			}
			var want []fleet.Request
			if c.want != "" {
				want = []fleet.Request{{Kind: fleet.RequestRelease, Stage: "prod", Release: fleet.ReleaseApprove, Of: of, By: c.want}}
			}
			if d := cmp.Diff(want, g.desk.asked); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReviewsOfSeveral: as many reviews as the stage needs are one approval, and fewer are none.
func TestReviewsOfSeveral(t *testing.T) {
	for name, c := range map[string]struct {
		need    int
		wrote   string
		reviews []string
		by      string
		who     []string
	}{
		"one of one":             {1, "", []string{"bob"}, "bob, reviewing pull request 1", []string{"bob"}},
		"one of two":             {2, "", []string{"bob"}, "", nil},
		"two of two":             {2, "", []string{"dora", "bob"}, "bob and dora, reviewing pull request 1", []string{"bob", "dora"}},
		"two of one":             {1, "", []string{"dora", "bob"}, "bob, reviewing pull request 1", []string{"bob"}},
		"two, and one opened it": {2, "", []string{"bob", "carol"}, "", nil},
		"two, and one wrote it":  {2, "dora", []string{"bob", "dora"}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(t, func(s *fleet.Stage) { s.Approvals = c.need })
			g.Wrote(1, c.wrote)
			for _, who := range c.reviews {
				g.Review(t, 1, who, forgetest.Approve)
			}
			g.merge()
			calls := 0
			g.Before = func(call string) error {
				if call == "authors" {
					calls++
				}
				return nil
			}
			for range 3 {
				g.q.Poll(t.Context())
			}
			var want []fleet.Request
			if c.by != "" {
				want = []fleet.Request{{
					Kind: fleet.RequestRelease, Stage: "prod", Release: fleet.ReleaseApprove, Of: g.state.Rollout().Stages[0].Digest, By: c.by, Reviewers: c.who,
				}}
			}
			if d := cmp.Diff(want, g.desk.asked); d != "" {
				t.Error(d)
			}
			if calls != 1 {
				t.Errorf("the forge was asked %d times who wrote it", calls)
			}
		})
	}
}

// TestReviewsBesideARequest: reviews count once the request of another person, which is not enough, is answered.
func TestReviewsBesideARequest(t *testing.T) {
	g := newGated(t, func(s *fleet.Stage) { s.Approvals = 2 })
	for _, who := range []string{"bob", "dora"} {
		g.Review(t, 1, who, forgetest.Approve)
	}
	g.merge()
	g.desk.err = fleet.Errorf(fleet.Conflict, "ask", "it is asked for already")
	g.q.Poll(t.Context())
	g.desk.err = nil
	g.q.Poll(t.Context())
	if n := len(g.desk.asked); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestReviewDuringMove: reviews count on the branch that the status was moved to.
func TestReviewDuringMove(t *testing.T) {
	g := newGated(t)
	g.Review(t, 1, "bob", forgetest.Approve)
	g.merge()
	g.desk.err = fleet.Errorf(fleet.Conflict, "ask", "%w", status.ErrMoved)
	g.q.Poll(t.Context())
	g.desk.err = nil
	g.q.Poll(t.Context())
	if n := len(g.desk.asked); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// What cannot be asked now is asked later, and by another process once more.
func TestReviewApprovesInTheEnd(t *testing.T) {
	g := newGated(t)
	g.Review(t, 1, "bob", forgetest.Approve)
	g.merge()
	g.desk.err = errors.New("nobody answers")
	g.q.Poll(t.Context())
	g.desk.err = nil
	for range 2 {
		g.q.Poll(t.Context())
	}
	if len(g.desk.asked) != 1 {
		t.Fatalf("asked %d times", len(g.desk.asked))
	}
	g.desk.err = fleet.Errorf(fleet.Conflict, "ask", "it is asked for already")
	g.start()
	g.desk.calls = 0
	for range 2 {
		g.q.Poll(t.Context())
	}
	if g.desk.calls != 1 {
		t.Errorf("asked %d times, and somebody had asked already", g.desk.calls)
	}
}

func TestUnreviewed(t *testing.T) {
	g := newGated(t)
	var why string
	g.q.p.Unreviewed = func(text string) { why = text }
	if g.q.Poll(t.Context()); why != "" {
		t.Errorf("reviews count for nothing: %s", why)
	}
	g.q.p.Forge = nil
	if g.q.Poll(t.Context()); why != "stage prod names reviewers, and the source is on no Git provider whose reviews can be read: name one with --forge, or approve with fairlead release prod --approve" {
		t.Errorf("it says %q", why)
	}
}
