package pullrequests

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A world is all that pull requests are planned with, in memory.
type world struct {
	*forgetest.World

	state     rollout.State
	reports   map[fleet.Key]fleet.Report
	recorded  status.Status // what the status branch says of clusters
	plans     map[int]status.Plan
	refPlans  map[string]status.Plan
	named     []fleet.Revision // refs that are to be planned
	approvals []fleet.Approval
	merged    map[string]sources.Merged // by head
	fleets    map[string]fleet.Fleet    // by the name of their tree
	unseen    error                     // why a merge cannot be seen
	lost      bool                      // another agent owns the fleet
	dark      error                     // why no cluster can be looked at
	commits   int                       // of plans
	looked    []string
	seen      fleet.Observed // of each cluster
}

var base = fleet.Revision{Ref: "main", Digest: "sha1:" + forgetest.Hash(77)}

// a tree whose name is what it is rendered to.
type tree struct {
	fs.FS
	name string
}

func (tree) Digest(string) (string, error) { return "", fs.ErrNotExist }

func newWorld() *world {
	w := &world{
		World: forgetest.New("fairlead"), reports: make(map[fleet.Key]fleet.Report), plans: make(map[int]status.Plan), refPlans: make(map[string]status.Plan),
		merged: make(map[string]sources.Merged), fleets: make(map[string]fleet.Fleet),
	}
	is := fleet.Fleet{ID: "f", Revision: base, Config: fleet.Config{
		StatusBranch: fleet.DefaultStatusBranch, PullRequests: fleet.PullRequests{Planned: true, Fail: fleet.PlanPolicy{DeletedClusters: true, Problems: true}},
	}}
	w.fleets["base"] = is
	w.follow(is)
	return w
}

// follow has the agent follow f.
func (w *world) follow(f fleet.Fleet) {
	w.state = rollout.Decide(rollout.Input{Before: w.state, Now: time.Now(), Newest: &rollout.Revision{Revision: f.Revision, Fleet: &f}}).State
}

// propose opens a pull request that is merged to the fleet f.
func (w *world) propose(n int, f fleet.Fleet) forge.PullRequest {
	p := forge.PullRequest{Number: n, State: forge.Open, Head: forgetest.Hash(n), Base: "main"}
	name := fmt.Sprint("merge ", n)
	w.Put(p)
	w.merged[p.Head] = sources.Merged{Tree: tree{fstest.MapFS{}, name}, Digest: "sha1:" + name}
	w.fleets[name] = f
	return p
}

func (w *world) Merge(_ context.Context, _, head fleet.Revision) (sources.Merged, error) {
	if w.unseen != nil {
		return sources.Merged{}, w.unseen
	}
	return w.merged[head.Hash()], nil
}

func (w *world) Refs(context.Context, []string) ([]fleet.Revision, error) { return w.named, nil }

func (w *world) Fetch(context.Context, fleet.Revision) (sources.Tree, error) {
	return tree{fstest.MapFS{}, "base"}, nil
}

func (w *world) Render(_ context.Context, rev fleet.Revision, t sources.Tree) (fleet.Fleet, error) {
	f, ok := w.fleets[t.(tree).name]
	if !ok {
		return fleet.Fleet{}, fleet.Errorf(fleet.Invalid, "render", "it is nonsense <img src=x> @everyone `x`")
	}
	f.Revision = rev
	return f, nil
}

func (w *world) Now() rollout.State { return w.state }

func (w *world) Report(k fleet.Key) (fleet.Report, bool) { r, ok := w.reports[k]; return r, ok }

func (w *world) Look(_ context.Context, now, next *fleet.Cluster) (fleet.Observed, error) {
	by := "nothing"
	if now != nil {
		by = now.Digest
	}
	w.looked = append(w.looked, next.Key.String()+" by "+by)
	return w.seen, w.dark
}

func (w *world) As(_ *fleet.Cluster, seen fleet.Observed) fleet.Observed { return seen }

// board is the status branch.
type board struct{ *world }

func (b board) List(context.Context) ([]status.Plan, error) {
	out := slices.AppendSeq(slices.Collect(maps.Values(b.plans)), maps.Values(b.refPlans))
	slices.SortFunc(out, func(x, y status.Plan) int { return x.Number - y.Number })
	return out, nil
}

func (b board) Write(_ context.Context, _ fleet.Owner, put, gone []status.Plan) error {
	if b.Before != nil {
		if err := b.Before("write plans"); err != nil {
			return err
		}
	}
	for _, p := range put {
		if p.Ref != "" {
			b.refPlans[p.Ref] = p
			continue
		}
		b.plans[p.Number] = p
	}
	for _, p := range gone {
		delete(b.plans, p.Number)
		delete(b.refPlans, p.Ref)
	}
	b.commits++
	if b.After != nil {
		return b.After("write plans")
	}
	return nil
}

type approvals struct{ *world }

func (a approvals) List(context.Context) ([]fleet.Approval, error) { return a.approvals, nil }

// start returns what another process of the agent begins with.
func (w *world) start() *PullRequests {
	return New(Parts{
		Forge: w.World, Source: w, Renderer: w, Fleet: w, Looker: w, Plans: board{w}, Approvals: approvals{w},
		Recorded: func(context.Context) (status.Status, error) { return w.recorded, nil },
		Owner:    func() (fleet.Owner, bool) { return fleet.Owner{Agent: "me"}, !w.lost },
		Interval: func() time.Duration { return time.Minute }, Log: slog.New(slog.DiscardHandler),
	})
}

// own returns the comments of the agent that count: what is told to be a double does not.
func (w *world) own(n int) []string {
	var out []string
	for _, c := range w.Said(n) {
		if c.Author == "fairlead" && !strings.Contains(c.Text, doubled) {
			out = append(out, c.Text)
		}
	}
	return out
}

func TestWrittenWhereBytesDiffer(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	q := w.start()
	for range 3 {
		q.Poll(t.Context())
	}
	s, sets := w.Of(p.Head)
	// one commit for the plan, and one for the comment that says it
	if len(w.own(1)) != 1 || sets != 1 || s.Verdict != forge.Success || s.Text != "nothing to do" || w.commits != 2 {
		t.Fatalf("%q, %d times %+v, %d commits", w.own(1), sets, s, w.commits)
	}
	writes := w.Writes()
	q = w.start() // a new process sets the status once more, and nothing else
	q.Poll(t.Context())
	q.Poll(t.Context())
	if n := w.Writes() - writes; n != 1 || len(w.own(1)) != 1 {
		t.Errorf("%d writes after a restart: %q", n, w.own(1))
	}
}

// Killed at any call, or without the answer to it, there is one comment, one status and one
// plan in the end. A list that shows nothing yet makes no second one that counts.
func TestKilledAtEveryCall(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, stale := range []int{0, 1} {
			for at := 1; at < 12; at++ {
				t.Run(fmt.Sprintf("answer lost %v, stale %d, call %d", lost, stale, at), func(t *testing.T) {
					w := newWorld()
					p := w.propose(1, w.fleets["base"])
					calls := 0
					ctx, kill := context.WithCancel(t.Context())
					defer kill()
					die := func(call string) error {
						if calls++; calls != at {
							return nil
						}
						kill()
						return fleet.Errorf(fleet.Unanswered, call, "killed")
					}
					if lost {
						w.After = die
					} else {
						w.Before = die
					}
					q := w.start()
					for range 3 {
						q.Poll(ctx)
					}
					w.Before, w.After, w.Stale = nil, nil, stale
					q = w.start()
					q.Poll(t.Context())
					w.Stale = 0
					for range 3 {
						q.Poll(t.Context())
					}
					s, _ := w.Of(p.Head)
					if len(w.own(1)) != 1 || s.Verdict != forge.Success || len(w.plans) != 1 {
						t.Errorf("%q, %+v, %d plans", w.Said(1), s, len(w.plans))
					}
				})
			}
		}
	}
}

// A failed call is made up for by the same process, too.
func TestFailedAtEveryCall(t *testing.T) {
	for at := 1; at < 12; at++ {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		calls := 0
		w.After = func(call string) error {
			if calls++; calls != at {
				return nil
			}
			return fleet.Errorf(fleet.Unanswered, call, "the answer was lost")
		}
		q := w.start()
		for range 4 {
			q.Poll(t.Context())
		}
		if s, _ := w.Of(p.Head); len(w.own(1)) != 1 || s.Verdict != forge.Success || len(w.plans) != 1 {
			t.Errorf("call %d: %q, %+v, %d plans", at, w.Said(1), s, len(w.plans))
		}
	}
}

// Nothing is written by an agent that lost the fleet, or a leader that is none any more.
func TestOnlyTheOwnerWrites(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	w.lost = true
	w.start().Poll(t.Context())
	w.lost = false
	w.Before = func(call string) error { // it is lost meanwhile
		w.lost = w.lost || call == "write plans"
		return nil
	}
	w.start().Poll(t.Context())
	if n := w.Writes(); n != 0 {
		t.Errorf("%d writes without the right to", n)
	}
}

func TestForgedMark(t *testing.T) {
	w := newWorld()
	w.propose(1, w.fleets["base"])
	forged := mark("f") + "nothing to do, trust me"
	w.Say(1, "mallory", forged)
	w.start().Poll(t.Context())
	if said := w.Said(1); len(said) != 2 || said[0].Text != forged || len(w.own(1)) != 1 {
		t.Errorf("%q", said)
	}
}

func TestForkIsNotPlanned(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	p.Fork = true
	w.Put(p)
	q := w.start()
	q.Poll(t.Context())
	if s, _ := w.Of(p.Head); s.Verdict != forge.Pending || len(w.own(1)) != 0 || len(w.plans) != 0 {
		t.Fatalf("%+v, %q", s, w.own(1))
	}
	w.approvals = append(w.approvals,
		fleet.Approval{PullRequest: 1, Kind: fleet.ApproveChanges, Head: p.Head},
		fleet.Approval{PullRequest: 1, Kind: fleet.ApprovePlan, Head: forgetest.Hash(5)},
		fleet.Approval{PullRequest: 2, Kind: fleet.ApprovePlan, Head: p.Head},
		fleet.Approval{PullRequest: 1, Kind: fleet.ApprovePlan, Head: p.Head, Distrusted: "nobody signed it"},
	)
	if q.Poll(t.Context()); len(w.own(1)) != 0 {
		t.Fatal("it is planned by an approval of something else")
	}
	w.approvals = append(w.approvals, fleet.Approval{PullRequest: 1, Kind: fleet.ApprovePlan, Head: p.Head})
	if q.Poll(t.Context()); len(w.own(1)) != 1 {
		t.Error("it is not planned once it is approved")
	}
}

// A merge that cannot be used, or is none, fails, and says so in text that does nothing.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		merged sources.Merged
		unseen error
		want   string
		status forge.Verdict
	}{
		"a conflict":    {sources.Merged{Conflicts: []string{"clusters/a.yaml", "<b>`@all"}}, nil, "it conflicts with main", forge.Failure},
		"nonsense":      {sources.Merged{Tree: tree{fstest.MapFS{}, "?"}, Digest: "sha1:x"}, nil, "the merge cannot be used", forge.Failure},
		"no history":    {sources.Merged{}, fleet.Errorf(fleet.Invalid, "merge", "they have no common history"), "it cannot be merged here", forge.Failure},
		"a dead server": {sources.Merged{}, fleet.Errorf(fleet.Unavailable, "merge", "connection refused"), "cannot be planned, trying again", forge.Error},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			p := w.propose(1, w.fleets["base"])
			w.merged[p.Head], w.unseen = c.merged, c.unseen
			q := w.start()
			q.Poll(t.Context())
			q.Poll(t.Context())
			if s, n := w.Of(p.Head); s.Verdict != c.status || !strings.Contains(s.Text, c.want) || n != 1 {
				t.Errorf("%d times %+v", n, s)
			}
			for _, text := range w.own(1) {
				if _, body, _ := strings.Cut(text, "-->"); strings.ContainsAny(withoutSpans(body), "<@") {
					t.Errorf("something in it is not neutralised: %s", text)
				}
			}
		})
	}
}

// withoutSpans returns Markdown without what is in code spans.
func withoutSpans(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// A cluster of which something else is seen is planned again, and not every second.
func TestAgainWhenItLooksDifferent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		k := fleet.Key{Namespace: "prod", Name: "a"}
		after := w.fleets["base"]
		after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f", Delete: true}}
		w.propose(1, after)
		q := w.start()
		looks := func(what string, want int) {
			t.Helper()
			q.Poll(t.Context())
			if len(w.looked) != want {
				t.Errorf("%s: %d looks, want %d: %q", what, len(w.looked), want, w.looked)
			}
		}
		looks("a new cluster counts as not there", 1)
		if w.looked[0] != "prod/a by nothing" {
			t.Errorf("looked at %q", w.looked)
		}
		looks("nothing is new", 1)
		w.reports[k] = fleet.Report{Phase: fleet.PhaseProvisioned}
		looks("it was planned a moment ago", 1)
		time.Sleep(lookGap)
		looks("it looks different", 2)
		looks("nothing is new", 2)
	})
}

// A cluster is looked at as the definition that is followed says, whatever a pull request
// makes of it; one that is as it was is not looked at.
func TestLooksByWhatIsFollowed(t *testing.T) {
	w := newWorld()
	is := w.fleets["base"]
	a, b := fleet.Key{Namespace: "prod", Name: "a"}, fleet.Key{Namespace: "prod", Name: "b"}
	is.Clusters = []fleet.Cluster{{Key: a, Digest: "followed", Fleet: "f"}, {Key: b, Digest: "same", Fleet: "f"}}
	w.fleets["base"] = is
	w.follow(is)
	after := is
	after.Clusters = []fleet.Cluster{{Key: a, Digest: "evil", Fleet: "f"}, {Key: b, Digest: "same", Fleet: "f"}}
	w.propose(1, after)
	w.start().Poll(t.Context())
	if want := []string{"prod/a by followed"}; !slices.Equal(w.looked, want) {
		t.Errorf("looked at %q, want %q", w.looked, want)
	}
}
