package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/observability/health"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A silentBranch is a status branch of a server that accepts connections, answers reads, and, once it is silent,
// no push. As in sources/git, one call after the other uses it.
type silentBranch struct {
	*repository

	name   string
	turn   chan struct{}
	silent *atomic.Bool
}

func (s silentBranch) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if ctx.Err() != nil {
		return fleet.Revision{}, nil, fleet.Errorf(fleet.Unavailable, "read", "%w", ctx.Err())
	}
	head, t := s.read(s.name)
	return head, hashed{t}, nil
}

// A hashed tree knows the digests of its files.
type hashed struct{ fstest.MapFS }

func (h hashed) Digest(p string) (string, error) {
	content, err := h.ReadFile(p)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content)), err
}

func (s silentBranch) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if !s.silent.Load() {
		return s.commit(s.name, base, c)
	}
	select {
	case <-time.After(2 * time.Minute):
	case <-ctx.Done():
	}
	return fleet.Revision{}, fleet.Errorf(fleet.Unanswered, "push", "the server did not finish its answer")
}

// TestCareWithoutPushes: a server that answers no push stops no care. The agent follows Git, makes passes, and does not
// hang, whatever waits for the status branch: requests, numbers of machines, reports, a signpost, a hand-over.
func TestCareWithoutPushes(t *testing.T) {
	for name, moves := range map[string]bool{"it stays": false, "it is to be moved to another agent": true} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { careWithoutPushes(t, moves) }) })
	}
}

func careWithoutPushes(t *testing.T, moves bool) {
	w := newWorld(scaledFleet("1", nil), scaledFleet("2", &fleet.Scaling{Min: 1, Max: 9}))
	var last time.Time // that a pass was made
	var longest time.Duration
	w.desired = 4
	w.onPass = func(*fleet.Cluster) {
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	r := &repository{branches: map[string]fstest.MapFS{}, heads: map[string]int{}}
	silent := &atomic.Bool{}
	b := silentBranch{r, "status", make(chan struct{}, 1), silent}
	posts := silentBranch{r, fleet.DefaultStatusBranch, make(chan struct{}, 1), silent}
	p := w.parts()
	p.Watchdog = health.NewWatchdog(30 * time.Minute)
	open := p.StatusBranch
	p.StatusBranch = func(string) (StatusBranch, error) {
		out, err := open("status")
		out.Arbiter, out.Requests, out.Scales = status.NewArbiter(b), status.NewRequests(b), status.NewScales(b)
		out.Writer = func(owner fleet.Owner, n *status.Notifications) sources.StatusWriter {
			return status.NewWriter(b, status.Options{Owner: owner, Notifications: n})
		}
		out.Signpost = func(ctx context.Context, id fleet.ID) error { return status.Signpost(ctx, posts, id, "status") }
		return out, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := New(w.options(Options{}), p)
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	last = time.Now()
	time.Sleep(time.Minute)
	expect(t, "the first passes", w.took(), []string{"prod/a 1"})
	if err := status.NewRequests(b).Ask(ctx, fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyB, By: "Ada", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if owner, _ := a.claim.Owner(); moves {
		if err := status.NewArbiter(b).Succeed(ctx, owner, fleet.Succession{}, fleet.Succession{ID: "1", To: "other", Place: "there", Step: fleet.StepReady}); err != nil {
			t.Fatal(err)
		}
	}
	silent.Store(true)
	w.mu.Lock()
	w.head, longest = revision("2"), 0
	w.mu.Unlock()
	for range 6 * 60 {
		time.Sleep(time.Minute)
		if code, text := healthz(p.Watchdog); code != 200 {
			t.Fatalf("the agent is restarted after %s: %s", time.Since(last), text)
		}
	}
	w.mu.Lock()
	longest = max(longest, time.Since(last))
	w.mu.Unlock()
	if longest > 20*time.Minute {
		t.Errorf("no pass is made for %s", longest)
	}
	if got := w.took(); len(got) < 20 || got[len(got)-1] != "prod/a 2" {
		t.Errorf("the passes are %v", got)
	}
	silent.Store(false)
	time.Sleep(20 * time.Minute)
	_, files := r.read("status")
	if _, owned := a.claim.Owner(); owned == moves {
		t.Errorf("after that it owns the fleet: %v", owned)
	}
	if !moves && (files["scales/prod/a/md.yaml"] == nil || len(w.took()) == 0) {
		t.Errorf("after that the branch has %v", files)
	}
	cancel()
	if err := <-done; (err != nil) != moves {
		t.Error(err)
	}
}
