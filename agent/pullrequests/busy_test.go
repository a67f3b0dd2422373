package pullrequests

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/forge"
	"fairlead.dev/agent/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A stranger who proposes the head of somebody else's pull request takes nothing from its status.
func TestStrangerWithTheSameHead(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	q := w.start()
	w.settled(t, q)
	s, _ := w.Of(p.Head)
	if s.Verdict != forge.Success {
		t.Fatal(s)
	}
	w.Put(forge.PullRequest{Number: 2, State: forge.Open, Head: p.Head, Base: "main", Fork: true, Author: "mallory"})
	w.settled(t, q)
	if s, _ := w.Of(p.Head); s.Verdict != forge.Success {
		t.Errorf("the status of the planned head is %+v", s)
	}
}

// takes is a renderer that takes a while for each merge.
type takes struct {
	*world
	time time.Duration
}

func (s takes) Render(ctx context.Context, rev fleet.Revision, t sources.Tree) (fleet.Fleet, error) {
	if t.(tree).name != "base" {
		select {
		case <-time.After(s.time):
		case <-ctx.Done():
			return fleet.Fleet{}, ctx.Err()
		}
	}
	return s.world.Render(ctx, rev, t)
}

// Where commits come to the followed branch faster than all can be planned again, each pull request is planned
// all the same.
func TestBusyBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for n := 1; n <= 200; n++ {
			w.propose(n, w.fleets["base"])
		}
		q := w.start()
		q.p.Renderer = takes{w, 3 * time.Second} // 150 s for all of them
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		began, pushed := time.Now(), time.Now()
		for n := 300; time.Since(began) < 2*time.Hour; {
			if time.Since(pushed) >= 2*time.Minute {
				n++
				w.push(n)
				pushed = time.Now()
			}
			q.Poll(ctx)
			time.Sleep(time.Second)
		}
		never := 0
		for n := 1; n <= 200; n++ {
			if s, _ := w.Of(forgetest.Hash(n)); s.Verdict != forge.Success {
				never++
			}
		}
		if never > 0 {
			t.Errorf("%d of 200 pull requests have no plan after two hours", never)
		}
	})
}

// A plan that takes longer than commits take to come is made all the same.
func TestLongPlanBusyBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		q := w.start()
		q.p.Renderer = takes{w, 45 * time.Second} // less than patience
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		began, pushed := time.Now(), time.Now()
		for n := 300; time.Since(began) < 2*time.Hour; {
			if time.Since(pushed) >= 40*time.Second {
				n++
				w.push(n)
				pushed = time.Now()
			}
			q.Poll(ctx)
			time.Sleep(time.Second)
		}
		if s, sets := w.Of(p.Head); s.Verdict != forge.Success {
			t.Errorf("after two hours its status was set %d times: %+v", sets, s)
		}
	})
}

// What was pushed to what is followed is planned onto at once, also for a head that could not be planned before.
func TestFixedBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		w.unseen = fleet.Errorf(fleet.Unavailable, "merge", "it does not answer")
		q := w.start()
		for range 33 {
			q.Poll(t.Context())
			time.Sleep(time.Minute)
		}
		w.unseen = nil
		w.push(300)
		began := time.Now()
		for ; time.Since(began) < 2*time.Hour; time.Sleep(time.Minute) {
			q.Poll(t.Context())
			if s, _ := w.Of(p.Head); s.Verdict == forge.Success {
				break
			}
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it is planned %s after what failed was mended", took)
		}
	})
}

// What changes while a plan is made is planned with.
type changing struct {
	*world
	k fleet.Key
}

func (c changing) Look(ctx context.Context, now, next *fleet.Cluster) (fleet.Observed, error) {
	seen, err := c.world.Look(ctx, now, next)
	if len(c.looked) == 1 {
		c.reports[c.k] = fleet.Report{Phase: fleet.PhaseDeleted} // after it was looked at
	}
	return seen, err
}

func TestChangesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		k := fleet.Key{Namespace: "prod", Name: "a"}
		after := w.fleets["base"]
		after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f"}}
		w.propose(1, after)
		q := w.start()
		q.p.Looker = changing{w, k}
		for range 60 {
			q.Poll(t.Context())
			time.Sleep(time.Minute)
		}
		if len(w.looked) < 2 {
			t.Errorf("in an hour it was looked at %d times", len(w.looked))
		}
	})
}

// What a former version planned says its failures to programs, too.
func TestPlanOfFormerVersion(t *testing.T) {
	w := newWorld()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	after := w.fleets["base"]
	after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f"}}
	w.dark = fleet.Errorf(fleet.Unavailable, "look", "dial 10.0.0.7:6443")
	w.propose(1, after)
	w.settled(t, w.start())
	p := w.plans[1]
	p.Said, p.Comment = status.PlanWords{}, "" // the landed main wrote neither; the text is the same there
	w.plans[1] = p
	w.settled(t, w.start())
	if len(w.plans[1].Said.Errors) == 0 {
		t.Errorf("verdict %s, and programs are told no error", w.plans[1].Verdict)
	}
}

// What a former version planned where the Git provider is none that is supported any more does not stay for ever.
func TestPlansWithoutForge(t *testing.T) {
	w := newWorld()
	w.plans[1] = status.Plan{Number: 1, Head: forgetest.Hash(1), Base: "main@sha1:1", Verdict: "success", Summary: "nothing to do"}
	w.named = []fleet.Revision{}
	q := w.start()
	q.p.Forge = nil
	w.settled(t, q)
	if len(w.plans) > 0 {
		t.Errorf("there stay %v", w.plans)
	}
}

// A plan that cannot be written keeps no other from being written.
type picky struct{ board }

func (b picky) Write(ctx context.Context, of fleet.Owner, put, gone []status.Plan) error {
	for _, p := range put {
		if p.Number == 2 {
			return fleet.Errorf(fleet.Exhausted, "write the status of pull request 2", "too large")
		}
	}
	return b.board.Write(ctx, of, put, gone)
}

func TestOneThatCannotBeWritten(t *testing.T) {
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	w.propose(2, w.fleets["base"])
	q := w.start()
	q.p.Plans = picky{board{w}}
	w.settled(t, q)
	if s, _ := w.Of(p.Head); s.Verdict != forge.Success || len(w.own(1)) != 1 {
		t.Errorf("the status of another one is %+v, comments %q", s, w.own(1))
	}
}

// Strangers cannot have the agent spend the requests that the forge allows.
func TestManyStrangers(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 2000; n++ {
		w.Put(forge.PullRequest{Number: n, State: forge.Open, Head: forgetest.Hash(n), Base: "main", Fork: true})
	}
	calls := w.count()
	q := w.start()
	w.settled(t, q)
	if calls["status"] > 200 {
		t.Errorf("2,000 pull requests of strangers cost %v", calls)
	}
}

// dim shows a cluster whose API server does not answer, as it says.
type dim struct{ *world }

func (dim) Look(context.Context, *fleet.Cluster, *fleet.Cluster) (fleet.Observed, error) {
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
	q.p.Looker = dim{w}
	w.settled(t, q)
	if said := w.own(1); len(said) != 1 || strings.Contains(said[0]+w.plans[1].Text, "10.0.0.7") {
		t.Errorf("of a plan: %s", said)
	}
	// merged, and it waits as reconcile/plan/controlplane.go:31 says it
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

// A head without a plan gets no status of the plan before it, and a plan that is not on the status branch is not told.
func TestGuardsOfPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		h := &hangs{world: w, merges: map[string]bool{"merge 2": true}, tries: map[string][]time.Duration{}}
		q := w.start()
		q.p.Renderer = h
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		q.Poll(ctx)
		next := p
		next.Head = forgetest.Hash(2)
		w.merged[next.Head] = sources.Merged{Tree: tree{nil, "merge 2"}, Digest: "sha1:merge 2"}
		w.Put(next)
		q.Poll(ctx)
		if s, sets := w.Of(next.Head); sets != 0 { // k.shown.Head != p.Head
			t.Errorf("a head without a plan has the status %+v", s)
		}
	})
	w := newWorld()
	p := w.propose(1, w.fleets["base"])
	w.Before = func(call string) error {
		if call == "write plans" {
			return fleet.Errorf(fleet.Unavailable, call, "no")
		}
		return nil
	}
	w.settled(t, w.start())
	if s, sets := w.Of(p.Head); sets != 0 { // !k.recorded
		t.Errorf("a plan that is not on the status branch is told: %+v", s)
	}
}

// locked merges as sources/git.Merges does: one at a time, and who waits for the lock does not look at its context.
type locked struct {
	*world
	lock  chan struct{}
	hangs string // head that the server does not send
}

func (l locked) Merge(ctx context.Context, onto, head fleet.Revision) (sources.Merged, error) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if head.Hash() == l.hangs {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return sources.Merged{}, err
	}
	return l.world.Merge(ctx, onto, head)
}

// A head that the Git server does not send keeps no other from being planned, and no poll waiting.
func TestHeadThatIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for n := 1; n <= 4; n++ {
			w.propose(n, w.fleets["base"])
		}
		q := w.start()
		q.p.Source = locked{w, make(chan struct{}, 1), forgetest.Hash(1)}
		errors := map[string]bool{}
		w.Set = func(s forge.Status) {
			if s.Verdict == forge.Error {
				errors[s.Text] = true
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		began, longest := time.Now(), time.Duration(0)
		for n := 300; time.Since(began) < time.Hour; n++ {
			if at := time.Since(began); n%20 == 0 {
				p := w.propose(2, w.fleets["base"]) // somebody pushes now and then
				m := w.merged[p.Head]
				p.Head = forgetest.Hash(n)
				w.merged[p.Head] = m
				w.Put(p)
				_ = at
			}
			poll := time.Now()
			q.Poll(ctx)
			longest = max(longest, time.Since(poll))
			time.Sleep(5 * time.Second)
		}
		if longest > 31*time.Second {
			t.Errorf("a poll took %s", longest)
		}
		told := 0
		for n := 3; n <= 4; n++ {
			if s, sets := w.Of(forgetest.Hash(n)); s.Verdict != forge.Success || sets > 1 {
				told++
				t.Errorf("pull request %d, which is good, is told %d times, at last %+v", n, sets, s)
			}
		}
	})
}
