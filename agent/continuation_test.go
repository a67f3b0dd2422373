package agent

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// TestStartDoesWhatARunningAgentDoes: for every state in which an agent can run there is one from which it starts,
// and both do the same. Two agents live the same days: good, refused and unavailable revisions, broken and
// removed clusters, requests, numbers of machines, a silent source. One of them is stopped and started again at
// any time, without its last status. Both hold each cluster to the same, in the same order, and in the end both tell the
// same, and have answered the same requests.
func TestStartDoesWhatARunningAgentDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		days := rapid.SliceOfN(rapid.Custom(aDay), 4, 16).Draw(rt, "days")
		var ran, started *course
		synctest.Test(t, func(t *testing.T) { ran = liveDays(t, days, false) })
		synctest.Test(t, func(t *testing.T) { started = liveDays(t, days, true) })
		if diff := cmp.Diff(ran.held, started.held); diff != "" {
			rt.Fatalf("what clusters are held to (-by the agent that runs +by the one that starts):\n%s", diff)
		}
		if diff := cmp.Diff(ran.told, started.told); diff != "" {
			rt.Fatalf("what is told (-by the agent that runs +by the one that starts):\n%s", diff)
		}
	})
}

// An event is what happens on a day.
type event struct {
	What  string
	A, B  string // what becomes of clusters a and b in a revision
	Prune bool
	Early int // seconds until a restart
}

func aDay(t *rapid.T) event {
	fate := rapid.SampledFrom([]string{"same", "same", "new", "broken", "removed"})
	return event{
		What: rapid.SampledFrom([]string{
			"push", "push", "push", "refused", "unavailable", "silent", "restart", "restart", "restart", "suspend", "resume", "scale", "fails",
		}).Draw(t, "what"),
		A: fate.Draw(t, "a"), B: fate.Draw(t, "b"), Prune: rapid.Bool().Draw(t, "prune"), Early: rapid.IntRange(0, 60).Draw(t, "early"),
	}
}

// A course is how an agent lived.
type course struct {
	held map[string][]string // what each cluster was held to, one after the other
	told []string
}

// liveDays has an agent live days.
func liveDays(t *testing.T, days []event, restarts bool) *course {
	out := &course{held: map[string][]string{}}
	first := scaledFleet(digits(1), &fleet.Scaling{Min: 1, Max: 9})
	first.Clusters[0].Digest = "a"
	first.Clusters = append(first.Clusters, clusterOf(keyB, digits(1), "b"))
	w := newWorld(first)
	w.desired = 2
	silent := false // the source
	hush := func(now bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		silent = now
	}
	w.onPass = func(c *fleet.Cluster) {
		delete(w.phases, c.Key)
		if c.Delete {
			w.phases[c.Key] = fleet.PhaseDeleted
		}
		k, now := c.Key.String(), held(c)
		if n := len(out.held[k]); n == 0 || out.held[k][n-1] != now {
			out.held[k] = append(out.held[k], now)
		}
	}
	r := &repository{branches: map[string]fstest.MapFS{}, heads: map[string]int{}}
	begin := func() (stop func()) {
		gone := &atomic.Bool{}
		p := w.parts()
		p.Source = sometimes{w, &silent}
		p.Reconciler = func(func(fleet.Key) error, func(fleet.Key)) reconcile.Passes { return placed{w} }
		p.StatusBranch = func(name string) (StatusBranch, error) { return r.open(name, gone), nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
		return func() {
			gone.Store(true)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	stop := begin()
	time.Sleep(2 * time.Minute)
	people := silentBranch{r, "status", make(chan struct{}, 1), &atomic.Bool{}}
	a, b, newest := "a", "b", 1
	for i, day := range days {
		left := 3 * time.Minute
		suspend := fleet.Request{Kind: fleet.RequestSuspend, Cluster: keyA, By: "Ada", At: time.Now()}
		switch day.What {
		case "push", "refused", "unavailable":
			newest++
			f := scaledFleet(digits(newest), &fleet.Scaling{Min: 1, Max: 9})
			f.Config.StatusBranch, f.Config.Prune = "status", fleet.Prune{Enabled: day.Prune, Limit: 5}
			template := f.Clusters[0]
			f.Clusters = nil
			become := func(of *fleet.Cluster, fate string, content *string) {
				if fate == "new" {
					*content = fmt.Sprint(newest)
				}
				of.Digest = *content
				switch fate {
				case "broken":
					f.Problems = append(f.Problems, fleet.Problem{Overlay: of.Overlay, Cluster: of.Key, File: of.Overlay + "/cluster.yaml", Message: "spec is wrong"})
				case "removed":
				default:
					f.Clusters = append(f.Clusters, *of)
				}
			}
			become(&template, day.A, &a)
			second := clusterOf(keyB, digits(newest), "b")
			become(&second, day.B, &b)
			w.mu.Lock()
			w.fleets[f.Revision.Digest], w.head = f, f.Revision
			switch day.What {
			case "refused":
				w.refused[w.head.Digest] = fleet.Errorf(fleet.Invalid, "render", "fleet.yaml is wrong")
			case "unavailable":
				w.refused[w.head.Digest] = fleet.Errorf(fleet.Unavailable, "fetch", "no answer")
			}
			w.mu.Unlock()
		case "silent": // for a while
			hush(true)
			time.Sleep(time.Duration(day.Early) * time.Second)
			if restarts && day.Prune {
				stop()
				stop = begin()
			}
			time.Sleep(10 * time.Minute)
			hush(false)
			left = 20 * time.Minute
		case "suspend":
			_ = status.NewRequests(people).Ask(t.Context(), suspend) // it may be suspended already
		case "resume":
			_ = status.NewRequests(people).Withdraw(t.Context(), suspend, "")
		case "scale":
			if err := status.NewScales(people).Set(t.Context(), fleet.Scale{Cluster: keyA, Pool: "md", Replicas: 1 + i%9}); err != nil {
				t.Fatal(err)
			}
		case "fails":
			w.mu.Lock()
			w.desired++
			w.mu.Unlock()
		case "restart":
			if restarts {
				stop()
				stop = begin()
			}
		}
		if i+1 < len(days) && days[i+1].What == "restart" {
			left = time.Duration(day.Early) * time.Second
		}
		time.Sleep(left)
	}
	w.mu.Lock()
	maps.DeleteFunc(w.refused, func(_ string, why error) bool { return fleet.KindOf(why) == fleet.Unavailable })
	w.mu.Unlock()
	time.Sleep(30 * time.Minute)
	stop()
	_, files := r.read("status")
	s, err := status.Read(hashed{files})
	if err != nil {
		t.Fatal(err)
	}
	out.told = tellsOf(s)
	return out
}

func digits(n int) string { return fmt.Sprintf("%040d", n) }

// held says what c, as a pass has it, is held to.
func held(c *fleet.Cluster) string {
	words := []string{c.Digest}
	if c.Delete {
		words = append(words, "deleted")
	}
	if c.Suspension != nil {
		words = append(words, "suspended: "+c.Suspension.Reason)
	}
	for _, p := range c.Workers {
		words = append(words, fmt.Sprintf("%s has %d", p.Name, p.Replicas))
	}
	return strings.Join(words, ", ")
}

// tellsOf returns what s says, without times and the number of the process.
func tellsOf(s status.Status) []string {
	f := s.Fleet
	out := []string{
		fmt.Sprintf("owner %s, epoch %d", s.Owner.Agent, s.Owner.Epoch),
		fmt.Sprintf("fleet %s at %s, newest %s, broken %t, behind %v, orphans %v", f.Fleet, f.Applied.Hash(), f.Revision.Hash(), f.Broken, f.Behind, f.Orphans),
	}
	for _, p := range f.Problems {
		out = append(out, "problem: "+p.String())
	}
	for _, c := range s.Clusters {
		// The digest and not the revision: one that was removed and put back before any status said so keeps its revision if the
		// agent started in between.
		r := c.Report
		out = append(out, fmt.Sprintf("cluster %s: %s at %s, problems %v, failure %q, waiting %v", r.Cluster, r.Phase, r.Digest, r.Problems, r.Failure, r.Waiting))
	}
	for _, q := range s.Requests {
		out = append(out, fmt.Sprintf("request %s: %s %s", q, q.Answer.State, q.Answer.Message))
	}
	for _, n := range s.Scales {
		out = append(out, n.String())
	}
	return out
}

// A sometimes is a source that is silent at times.
type sometimes struct {
	*world
	silent *bool
}

func (s sometimes) Resolve(ctx context.Context) (fleet.Revision, error) {
	s.mu.Lock()
	silent := *s.silent
	s.mu.Unlock()
	if silent {
		return fleet.Revision{}, fleet.Errorf(fleet.Unavailable, "resolve", "no answer")
	}
	return s.world.Resolve(ctx)
}

// A handle is a branch as one process has it: once that is gone, it writes nothing more.
type handle struct {
	silentBranch
	gone *atomic.Bool
}

func (h handle) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if h.gone.Load() {
		return fleet.Revision{}, fleet.Errorf(fleet.Unavailable, "commit", "the process was killed")
	}
	return h.silentBranch.Commit(ctx, base, c)
}

// open returns the branch called name for a process, as agent/wiring does.
func (r *repository) open(name string, gone *atomic.Bool) StatusBranch {
	at := func(name string) handle {
		return handle{silentBranch{r, name, make(chan struct{}, 1), &atomic.Bool{}}, gone}
	}
	b := status.Watch(at(name))
	arbiter := status.NewArbiter(b)
	requests, scales := status.NewRequests(b), status.NewScales(b)
	requests.Owner, scales.Owner = arbiter.In, arbiter.In
	return StatusBranch{
		Arbiter: arbiter, Requests: requests, Scales: scales,
		Locate: func(ctx context.Context) (status.Location, error) {
			_, t, err := b.Read(ctx)
			if err != nil {
				return status.Location{}, err
			}
			return status.Locate(t)
		},
		MoveTo: func(ctx context.Context, to string) error { return status.Move(ctx, b, at(to), to) },
		Post: func(ctx context.Context, id fleet.ID, was string, owner fleet.Owner) error {
			return status.Post(ctx, at(fleet.DefaultStatusBranch), id, was, name, owner)
		},
		Signpost: func(ctx context.Context, id fleet.ID) error {
			return status.Signpost(ctx, at(fleet.DefaultStatusBranch), id, name)
		},
		Read: func(ctx context.Context) (status.Status, error) {
			_, t, err := b.Read(ctx)
			if err != nil {
				return status.Status{}, err
			}
			return status.Read(t)
		},
		ReadCluster: status.NewReader(b).ReadCluster,
		Writer: func(owner fleet.Owner, n *status.Notifications) sources.StatusWriter {
			return status.NewWriter(b, status.Options{Owner: owner, OwnerIn: arbiter.In, Notifications: n})
		},
	}
}

// A placed world says in its reports where clusters are in Git.
type placed struct{ *world }

func (p placed) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	res := p.world.Pass(ctx, c, known)
	res.Report.Overlay = c.Overlay
	return res
}
