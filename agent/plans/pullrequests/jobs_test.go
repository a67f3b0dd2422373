package pullrequests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// hangs renders the merges of some pull requests for as long as it is let, as if they pinned a source that
// does not answer.
type hangs struct {
	*world

	merges map[string]bool
	mu     sync.Mutex
	tries  map[string][]time.Duration // that were given up, by how long they took
	failed error                      // nil: it hangs
}

func (h *hangs) Render(ctx context.Context, rev fleet.Revision, t sources.Tree) (fleet.Fleet, error) {
	name := t.(tree).name
	if !h.merges[name] {
		return h.world.Render(ctx, rev, t)
	}
	began := time.Now()
	if h.failed == nil {
		<-ctx.Done()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries[name] = append(h.tries[name], time.Since(began))
	return fleet.Fleet{}, fleet.Errorf(fleet.Unavailable, "render", "it does not answer")
}

// Pull requests that take long keep no others from being planned, and are tried with more patience each
// time, after longer waits.
func TestSomeThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		h := &hangs{world: w, merges: map[string]bool{}, tries: map[string][]time.Duration{}}
		for n := 1; n <= 6; n++ {
			w.propose(n, w.fleets["base"])
			h.merges[fmt.Sprint("merge ", n)] = true
		}
		p := w.propose(9, w.fleets["base"])
		q := w.start()
		q.p.Renderer = h
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		began := time.Now()
		if q.Poll(ctx); time.Since(began) != 30*time.Second {
			t.Errorf("a poll took %s", time.Since(began))
		}
		for s, _ := w.Of(p.Head); s.Verdict != forge.Success && time.Since(began) < time.Hour; s, _ = w.Of(p.Head) {
			q.Poll(ctx)
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("the last one is planned after %s", took)
		}
		for n := 100; time.Since(began) < time.Hour; n++ {
			time.Sleep(30 * time.Second)
			late := w.propose(n, w.fleets["base"])
			q.Poll(ctx)
			if s, _ := w.Of(late.Head); s.Verdict != forge.Success {
				t.Errorf("one that came after %s is not planned in a poll: %+v", time.Since(began), s)
			}
			w.Put(forge.PullRequest{Number: n, State: forge.Closed})
		}
		if s, _ := w.Of(forgetest.Hash(1)); s.Verdict != forge.Error || !strings.Contains(s.Text, "planning took more than ") {
			t.Errorf("the status of one that hangs is %+v", s)
		}
		minutes := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 8 * time.Minute, 8 * time.Minute}
		for name, took := range h.tries {
			if len(took) < 3 || len(took) > len(minutes) || !slices.Equal(took, minutes[:len(took)]) {
				t.Errorf("%s was tried for %s in an hour, want %s", name, took, minutes)
			}
		}
		stop()
		q.wait()
	})
}

// A head that cannot be planned is tried again with the next poll, and then after longer waits; another head
// at once.
func TestWaitsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		h := &hangs{world: w, merges: map[string]bool{"merge 1": true}, tries: map[string][]time.Duration{}, failed: context.DeadlineExceeded}
		q := w.start()
		q.p.Renderer = h
		for range 120 {
			q.Poll(t.Context())
			time.Sleep(30 * time.Second)
		}
		if n := len(h.tries["merge 1"]); n != 7 {
			t.Errorf("it was tried %d times in an hour", n)
		}
		m := w.merged[p.Head]
		p.Head = forgetest.Hash(99)
		w.merged[p.Head] = m
		w.Put(p)
		if q.Poll(t.Context()); len(h.tries["merge 1"]) != 8 {
			t.Error("the new head was not tried")
		}
	})
}

// A plan that is made when its head is another one, or it is closed, is ended and of no use.
func TestPlanOfAnOldHeadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.propose(1, w.fleets["base"])
		h := &hangs{world: w, merges: map[string]bool{"merge 1": true}, tries: map[string][]time.Duration{}}
		q := w.start()
		q.p.Renderer = h
		q.Poll(t.Context())
		p.Head = forgetest.Hash(99)
		w.merged[p.Head] = sources.Merged{Tree: tree{fstest.MapFS{}, "base"}, Digest: "sha1:base"}
		w.Put(p)
		q.Poll(t.Context())
		synctest.Wait() // nobody waits for a plan that is of no use
		if s, _ := w.Of(p.Head); s.Verdict != forge.Success || len(h.tries["merge 1"]) != 1 || h.tries["merge 1"][0] != 30*time.Second {
			t.Errorf("the status of the new head is %+v, the old one was planned for %s", s, h.tries["merge 1"])
		}
	})
}

// A merge whose sources cannot be got yet is no failure of the pull request.
func TestSourcesThatComeLater(t *testing.T) {
	w := newWorld()
	after := w.fleets["base"]
	after.Unavailable = []string{"clusters/a"}
	after.Problems = []fleet.Problem{{File: "clusters/a", Message: "the source cannot be got"}}
	p := w.propose(1, after)
	w.start().Poll(t.Context())
	if s, _ := w.Of(p.Head); s.Verdict != forge.Error || !strings.Contains(s.Text, "the pinned sources of these are not available yet: clusters/a") {
		t.Errorf("%+v", s)
	}
}
