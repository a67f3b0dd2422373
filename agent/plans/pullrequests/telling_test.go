package pullrequests

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// refusingOne takes no plan of pull request 2, and none at all while it is away.
type refusingOne struct {
	board

	away  bool
	asked *int
}

func (b refusingOne) Write(ctx context.Context, of fleet.Owner, put, gone []status.Plan) error {
	*b.asked++
	for _, p := range put {
		if p.Number == 2 {
			return fleet.Errorf(fleet.Exhausted, "write the status of pull request 2", "too large")
		}
	}
	if b.away {
		return fleet.Errorf(fleet.Unavailable, "write plans", "no")
	}
	return b.board.Write(ctx, of, put, gone)
}

// A plan that cannot be written keeps no other from being written and told, and no file from going.
func TestOneThatCannotBeWritten(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	w.propose(2, w.fleets["base"])
	q := w.start()
	q.p.Plans = refusingOne{board: board{w}, asked: new(int)}
	w.settled(t, q)
	if s, _ := w.Of(p.Head); s.Verdict != forge.Success || len(w.own(1)) != 1 {
		t.Errorf("the status of another one is %+v, comments %q", s, w.own(1))
	}
	w.Put(forge.PullRequest{Number: 1, State: forge.Closed, Head: p.Head, Base: "main"})
	w.settled(t, q)
	if _, there := w.plans[1]; there {
		t.Error("the plan of one that was closed stays")
	}
}

// A server that takes no plan is not asked about each.
func TestNoneCanBeWritten(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 9; n++ {
		w.propose(n, w.fleets["base"])
	}
	q, asked := w.start(), 0
	q.p.Plans = refusingOne{board: board{w}, away: true, asked: &asked}
	if q.Poll(t.Context()); asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}

// unreachable shows a cluster whose API server does not answer, as it says.
type unreachable struct{ *world }

func (unreachable) Look(context.Context, *fleet.Cluster, *fleet.Cluster) (fleet.Observed, error) {
	return fleet.Observed{
		Infrastructure: fleet.Infrastructure{Exists: true, Ready: true, Machines: []fleet.Machine{
			{Name: "a-cp-1", Role: fleet.RoleControlPlane, ProviderID: "x://1", State: fleet.MachineRunning},
		}},
		Workload: fleet.Workload{Message: "dial 10.0.0.7:6443"},
	}, nil
}

// What API servers answer is not told where others read it, also if it is what something waits for.
func TestWordsOfWaiting(t *testing.T) {
	w := newWorld()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	after := w.fleets["base"]
	after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f"}}
	p := w.propose(1, after)
	q := w.start()
	q.p.Apart = true
	q.p.Looker = unreachable{w}
	w.settled(t, q)
	if said := w.own(1); len(said) != 1 || strings.Contains(said[0]+w.plans[1].Text, "10.0.0.7") {
		t.Errorf("of a plan: %s", said)
	}
	// merged, and it waits
	p.State, p.Result = forge.Merged, forgetest.Hash(91)
	w.Put(p)
	w.merged[p.Result] = sources.Merged{Digest: "sha1:merge 1", Contained: true}
	after.Revision.Digest = "sha1:" + forgetest.Hash(91)
	w.follow(after)
	w.reports[k] = fleet.Report{Waiting: []string{"the API server does not answer: dial 10.0.0.7:6443"}}
	w.settled(t, q)
	if said := w.own(1); len(said) != 1 || strings.Contains(said[0], "10.0.0.7") {
		t.Errorf("of a result: %s", said)
	}
}

// A ref that was merged, and has another head since, is not called merged while that head cannot be planned.
func TestMergedRefWithANewHead(t *testing.T) {
	const ref = "refs/heads/proposals/x"
	w := newWorld()
	f := w.fleets["base"]
	f.Config.PullRequests.Refs = []string{"refs/heads/proposals/*"}
	w.fleets["base"] = f
	w.follow(f)
	head := func(n int) fleet.Revision { return fleet.Revision{Ref: ref, Digest: "sha1:" + forgetest.Hash(n)} }
	p := w.propose(1, f)
	w.Put(forge.PullRequest{Number: 1, State: forge.Closed})
	q := w.start()
	w.named = []fleet.Revision{head(1)}
	w.settled(t, q)
	if w.refPlans[ref].Verdict != "success" {
		t.Fatal(w.refPlans)
	}
	is := w.merged[p.Head]
	is.Contained = true
	w.merged[p.Head] = is
	w.push(78)
	w.settled(t, q)
	if w.refPlans[ref].Verdict != "done" {
		t.Fatal(w.refPlans)
	}
	before := w.refPlans[ref].Text
	w.named = []fleet.Revision{head(2)} // not merged
	w.unseen = fleet.Errorf(fleet.Unavailable, "merge", "it does not answer")
	// the plan of the former head was not done yet, as where clusters take hours
	old := w.refPlans[ref]
	old.Verdict = "merged"
	w.refPlans[ref] = old
	w.settled(t, q)
	if now := w.refPlans[ref]; now.Text != before {
		t.Errorf("head 2 is not merged, and it says (%s): %s", now.Verdict, now.Text)
	}
}

// That plans are late for a limit is told no more once pull requests are not planned.
func TestLimitedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.propose(1, w.fleets["base"])
		q := w.start()
		limited := false
		q.p.Limited = func(is bool) { limited = is }
		w.Before = func(call string) error {
			return fleet.Errorf(fleet.Unavailable, call, "%w", &forge.Limited{Until: time.Now().Add(10 * time.Minute)})
		}
		q.Poll(t.Context())
		f := w.fleets["base"]
		f.Config.PullRequests.Planned = false
		f.Revision.Digest = "sha1:" + forgetest.Hash(78)
		w.follow(f)
		w.Before = nil
		for range 30 {
			time.Sleep(time.Minute)
			q.Poll(t.Context())
		}
		if limited {
			t.Error("it is still told")
		}
	})
}

// A head without a plan does not get the status of the plan before it.
func TestStatusIsOfItsHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		h := &hangs{world: w, merges: map[string]bool{"merge 2": true}, tries: map[string][]time.Duration{}}
		q := w.start()
		q.p.Renderer = h
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		q.Poll(ctx)
		p.Head = forgetest.Hash(2)
		w.merged[p.Head] = sources.Merged{Tree: tree{nil, "merge 2"}, Digest: "sha1:merge 2"}
		w.Put(p)
		q.Poll(ctx)
		if s, sets := w.Of(p.Head); sets != 0 {
			t.Errorf("a head without a plan has the status %+v", s)
		}
	})
}

// A plan that is not on the status branch, which is read after a restart, is not told.
func TestRecordedBeforeItIsTold(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	w.Before = func(call string) error {
		if call == "write plans" {
			return fleet.Errorf(fleet.Unavailable, call, "no")
		}
		return nil
	}
	w.settled(t, w.start())
	if s, sets := w.Of(p.Head); sets != 0 {
		t.Errorf("its status is %+v", s)
	}
}
