package pullrequests

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
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

// If fleet.yaml has forks planned, they take no place of the repository's own branches: neither among those that
// are planned, nor of the work that is done at once, nor of the requests that the forge allows.
func TestStrangersComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		is := w.fleets["base"]
		is.Config.PullRequests.Forks = true
		is.Revision.Digest = "sha1:" + forgetest.Hash(78)
		w.fleets["base"] = is
		w.follow(is)
		own := w.propose(1, is)
		h := &hangs{world: w, merges: map[string]bool{}, tries: map[string][]time.Duration{}}
		for n := 1001; n <= 3000; n++ {
			p := w.propose(n, is)
			p.Fork = true
			w.Put(p)
			h.merges[fmt.Sprint("merge ", n)] = true
		}
		calls := w.count()
		q := w.start()
		q.p.Renderer = h
		ctx, stop := context.WithCancel(t.Context())
		q.Poll(ctx)
		if s, _ := w.Of(own.Head); s.Verdict != forge.Success {
			t.Errorf("the status of a branch of the repository is %+v", s)
		}
		if n := len(q.jobs); n != 2 {
			t.Errorf("%d pull requests of strangers are planned at once", n)
		}
		if calls["status"] > 201 {
			t.Errorf("2,000 pull requests of strangers cost %v", calls)
		}
		for n := 3001; n <= 3020; n++ { // strangers push again and again, and none of it was tried before
			fork := forge.PullRequest{Number: n, State: forge.Open, Head: forgetest.Hash(n), Base: "main", Fork: true}
			w.Put(fork)
			w.merged[fork.Head] = w.merged[forgetest.Hash(3000)]
			late := w.propose(n-2900, is)
			if q.Poll(ctx); q.jobs[status.Plan{Number: n - 2900}.Name()] != nil {
				t.Fatal("a branch of the repository waits")
			}
			if s, _ := w.Of(late.Head); s.Verdict != forge.Success {
				t.Errorf("the status of a branch that comes later is %+v", s)
			}
		}
		failing := w.propose(200, is)
		h.merges["merge 200"] = true
		for began := time.Now(); time.Since(began) < 20*time.Minute; {
			q.Poll(ctx)
			time.Sleep(time.Second)
		}
		delete(h.merges, "merge 200")
		for began := time.Now(); time.Since(began) < 40*time.Minute; {
			q.Poll(ctx)
			time.Sleep(time.Second)
		}
		if s, _ := w.Of(failing.Head); s.Verdict != forge.Success {
			t.Errorf("the status of a branch that could not be planned before is %+v", s)
		}
		approved := forge.PullRequest{Number: 3001, State: forge.Open, Head: forgetest.Hash(3001), Base: "main", Fork: true}
		w.merged[approved.Head] = w.merged[own.Head]
		w.approvals = append(w.approvals, fleet.Approval{PullRequest: 3001, Kind: fleet.ApprovePlan, Head: approved.Head})
		for range 3 {
			q.Poll(ctx)
		}
		if s, _ := w.Of(approved.Head); s.Verdict != forge.Success {
			t.Errorf("the status of a fork that somebody approved is %+v", s)
		}
		stop()
		q.wait()
	})
}
