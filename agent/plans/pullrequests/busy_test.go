package pullrequests

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

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

// changing has the report of k change while its cluster is looked at for the first time.
type changing struct {
	*world
	k fleet.Key
}

func (c changing) Look(ctx context.Context, now, next *fleet.Cluster) (fleet.Observed, error) {
	seen, err := c.world.Look(ctx, now, next)
	if len(c.looked) == 1 {
		c.reports[c.k] = fleet.Report{Phase: fleet.PhaseDeleted} // later than what is seen
	}
	return seen, err
}

// What changes while a plan is made is planned with.
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
		was := w.propose(5, w.fleets["base"])
		q := w.start()
		w.settled(t, q)
		was.State, was.Result = forge.Merged, forgetest.Hash(6)
		w.Put(was) // what became of it is looked for with each poll
		w.merged[was.Result] = sources.Merged{}
		for n := 1; n <= 4; n++ {
			w.propose(n, w.fleets["base"])
		}
		q.p.Source = locked{w, make(chan struct{}, 1), forgetest.Hash(1)}
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		began, longest := time.Now(), time.Duration(0)
		for n := 300; time.Since(began) < time.Hour; n++ {
			if n%20 == 0 {
				p := w.propose(2, w.fleets["base"]) // somebody pushes now and then
				m := w.merged[p.Head]
				p.Head = forgetest.Hash(n)
				w.merged[p.Head] = m
				w.Put(p)
			}
			poll := time.Now()
			q.Poll(ctx)
			longest = max(longest, time.Since(poll))
			time.Sleep(5 * time.Second)
		}
		if longest > 2*pollTime {
			t.Errorf("a poll took %s", longest)
		}
		for n := 3; n <= 4; n++ {
			if s, sets := w.Of(forgetest.Hash(n)); s.Verdict != forge.Success || sets > 1 {
				t.Errorf("pull request %d, which is good, is told %d times, at last %+v", n, sets, s)
			}
		}
	})
}

// A plan that is under way when the policy changes is ended: what it says is no verdict any more.
func TestPolicyChangesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.propose(1, w.fleets["base"])
		h := &hangs{world: w, merges: map[string]bool{"merge 1": true}, tries: map[string][]time.Duration{}}
		q := w.start()
		q.p.Renderer = h
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); q.wait() }()
		q.Poll(ctx)
		f := w.fleets["base"]
		f.Config.PullRequests.Forks = true
		f.Revision.Digest = "sha1:" + forgetest.Hash(78)
		w.follow(f)
		q.Poll(ctx)
		synctest.Wait()
		if tries := h.tries["merge 1"]; len(tries) == 0 || tries[0] != pollTime {
			t.Errorf("under the former policy it was planned for %s", tries)
		}
	})
}

// endless merges, and ends when it is let go of: no context ends it before.
type endless struct {
	*world

	running, most *atomic.Int32
	over          chan struct{}
}

func (d endless) Merge(context.Context, fleet.Revision, fleet.Revision) (sources.Merged, error) {
	d.most.Store(max(d.most.Load(), d.running.Add(1)))
	<-d.over
	d.running.Add(-1)
	return sources.Merged{}, context.Canceled
}

// Plans that are of no use, and go on, count among those that are made at once.
func TestPlansOfNoUseCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := endless{w, new(atomic.Int32), new(atomic.Int32), make(chan struct{})}
		q := w.start()
		q.p.Source = d
		for n := 100; n < 110; n++ { // each time all heads are others
			for pull := 1; pull <= 3; pull++ {
				w.Put(forge.PullRequest{Number: pull, State: forge.Open, Head: forgetest.Hash(n*10 + pull), Base: "main"})
			}
			q.Poll(t.Context())
		}
		if n := d.most.Load(); n > atOnce {
			t.Errorf("%d were made at once", n)
		}
		close(d.over)
		q.wait()
	})
}
