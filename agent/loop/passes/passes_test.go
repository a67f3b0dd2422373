package passes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/loop/decisions"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/rollout"
)

var key = fleet.Key{Namespace: "prod", Name: "a"}

// world is what passes are made with, and notes what is done with it.
type world struct {
	decisions *decisions.Decisions
	result    reconcile.Result
	begin     error          // why no pass may be made
	during    func()         // called in the middle of a pass
	recorded  fleet.Report   // what the status branch says
	over      *fleet.Cluster // of the last pass
	known     fleet.Memory   // likewise
	done      []string
	after     time.Duration // of the last AddAfter
}

func (w *world) Close() {}

func (w *world) note(format string, args ...any) {
	w.done = append(w.done, fmt.Sprintf(format, args...))
}

func (w *world) Add(fleet.Key)     {}
func (w *world) AddBulk(fleet.Key) {}

func (w *world) AddAfter(k fleet.Key, d time.Duration) {
	w.note("queue")
	w.after = d
}

func (w *world) BeginPass(context.Context) (func(), error) {
	return func() { w.note("end") }, w.begin
}

func (w *world) ConfirmHandOver(context.Context) { w.note("confirm") }

func (w *world) Pass(_ context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	w.note("pass")
	w.over, w.known = c, known
	if w.during != nil {
		w.during()
	}
	return w.result
}

func (w *world) Forget(fleet.Key) { w.note("forget") }

func (w *world) Passed(_ context.Context, phase fleet.Phase, _ []fleet.Action, _ error, _ time.Duration) {
	w.note("count %s", phase)
}

// newWorld returns a world with cluster c of Git, if any.
func newWorld(c ...fleet.Cluster) *world {
	w := &world{}
	w.decisions = decisions.New(w, reports.New())
	w.push("1", c...)
	return w
}

func (w *world) push(digest string, c ...fleet.Cluster) {
	rev := fleet.Revision{Ref: "main", Digest: "sha1:" + digest}
	w.decisions.DecideBulk(rollout.Input{Newest: &rollout.Revision{Revision: rev, Fleet: &fleet.Fleet{ID: "f", Revision: rev, Clusters: c}}})
}

func (w *world) maker(o Options) *Maker {
	o.Resync = 10 * time.Minute
	return New(o, Parts{
		Reconciler: w, Fleet: w.decisions, Queue: w, Claim: w,
		Protect: func(_ context.Context, c *fleet.Cluster) (*fleet.Cluster, []fleet.Problem) {
			return c, []fleet.Problem{{Message: "it is the agent's home"}}
		},
		Recorded: func(context.Context, fleet.Key) (fleet.Report, error) { return w.recorded, nil },
		Did:      func(actions []fleet.Action) { w.note("did %d", len(actions)) },
		Sized:    func(context.Context, *fleet.Cluster, fleet.Report) { w.note("size") },
		Metrics:  w, Log: slog.New(slog.DiscardHandler),
	})
}

func (w *world) took() []string {
	out := w.done
	w.done = nil
	return out
}

func expect(t *testing.T, reason string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func cluster() fleet.Cluster {
	return fleet.Cluster{Key: key, Overlay: "clusters/a", Digest: "x", Provider: "inmemory"}
}

func report(phase fleet.Phase) fleet.Report { return fleet.Report{Cluster: key, Phase: phase} }

func TestMake(t *testing.T) {
	w := newWorld(cluster())
	w.result = reconcile.Result{Report: report(fleet.PhaseWorkers), After: time.Second}
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "what is done with a pass", w.took(), []string{"pass", "end", "count Workers", "did 0", "size", "confirm", "queue"})
	expect(t, "it is looked at again when the pass says", w.after, time.Second)
	got, seen := w.decisions.Report(key)
	expect(t, "it is seen", seen, true)
	expect(t, "its report tells the definition, and problems", got, fleet.Report{
		Cluster: key, Phase: fleet.PhaseWorkers, Digest: "x", Problems: []fleet.Problem{{Message: "it is the agent's home"}},
	})
	expect(t, "it is behind", w.decisions.Now().Status().Behind, []fleet.Key{key})
	w.result = reconcile.Result{Report: report(fleet.PhaseProvisioned)}
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "at rest", w.decisions.Now().Status().Behind, []fleet.Key(nil))
	if w.after < 9*time.Minute || w.after > 11*time.Minute {
		t.Errorf("it is looked at again after %s", w.after)
	}
}

// A pass that was none is not reported.
func TestNoPass(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		o    Options
		w    func(*world)
		key  fleet.Key
		want []string
	}{
		"an unknown cluster":     {key: fleet.Key{Namespace: "prod", Name: "b"}},
		"another cluster's turn": {o: Options{Only: fleet.Key{Namespace: "prod", Name: "b"}}},
		"one that was removed from Git": {w: func(w *world) {
			w.push("2", fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "b"}, Overlay: "clusters/b"})
		}},
		"a pass that is cut short": {ctx: ended, w: func(w *world) { w.begin = context.Canceled }},
		"a pass that nobody makes": {
			w:    func(w *world) { w.result = reconcile.Result{Err: reconcile.ErrPostponed, After: time.Second} },
			want: []string{"pass", "end", "queue"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(cluster())
			if c.w != nil {
				c.w(w)
			}
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if c.key == (fleet.Key{}) {
				c.key = key
			}
			w.maker(c.o).Make(c.ctx, c.key)
			expect(t, "what is done", w.took(), c.want)
			_, seen := w.decisions.Report(c.key)
			expect(t, "it is reported", seen, false)
		})
	}
}

// A pass that fails is told, and what was seen before it stays.
func TestFailedPass(t *testing.T) {
	w := newWorld(cluster())
	w.result = reconcile.Result{Report: report(fleet.PhaseProvisioned)}
	w.maker(Options{}).Make(t.Context(), key)
	w.took()
	failed := report("")
	failed.Failure = "the cloud is away"
	w.result = reconcile.Result{Report: failed, Err: errors.New("away"), After: time.Minute}
	w.maker(Options{}).Make(t.Context(), key)
	got, _ := w.decisions.Report(key)
	expect(t, "what was seen", got.Phase, fleet.PhaseProvisioned)
	expect(t, "and why it is old", got.Failure, "the cloud is away")
	expect(t, "what is done", w.took(), []string{"pass", "end", "count Provisioned", "did 0", "size", "confirm", "queue"})
}

// A cluster that is deleted is forgotten once Git does not have it.
func TestDeleted(t *testing.T) {
	c := cluster()
	c.Delete = true
	w := newWorld(c)
	w.result = reconcile.Result{Report: report(fleet.PhaseDeleted)}
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "it is kept while Git has it", w.decisions.Now().Has(key), true)
	w.push("2", fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "b"}, Overlay: "clusters/b"})
	w.took()
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "it is forgotten afterwards", w.decisions.Now().Has(key), false)
	expect(t, "and not queued", w.took(), []string{"pass", "end", "count Deleted", "did 0"})
}

// A cluster that is forgotten during a pass stays so.
func TestForgotten(t *testing.T) {
	w := newWorld(cluster())
	w.result = reconcile.Result{Report: report(fleet.PhaseProvisioned)}
	w.during = func() {
		w.push("2")
		w.decisions.Decide(rollout.Input{Gone: []fleet.Key{key}})
	}
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "what is done", w.took(), []string{"pass", "end", "forget"})
}

// An abandoned cluster gets no pass. While Git has it, its status says what is left of it.
func TestAbandoned(t *testing.T) {
	c := cluster()
	c.Abandon = true
	w := newWorld(c)
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "no pass", w.took(), []string{"forget"})
	got, _ := w.decisions.Report(key)
	expect(t, "its phase", got.Phase, fleet.PhaseAbandoned)
	expect(t, "it is not waited for", w.decisions.Now().Status().Behind, []fleet.Key(nil))
	w.push("2", fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "b"}, Overlay: "clusters/b"})
	w.maker(Options{}).Make(t.Context(), key)
	expect(t, "it is forgotten afterwards", w.decisions.Now().Has(key), false)
}

// An agent that works on one cluster alone leaves its workers as they are.
func TestOnly(t *testing.T) {
	c := cluster()
	c.Workers, c.KeptPools = []fleet.Pool{{Name: "md-0"}}, []fleet.KeptPool{{Name: "mp-0"}}
	w := newWorld(c)
	w.result = reconcile.Result{Report: report(fleet.PhaseProvisioned)}
	w.maker(Options{Only: key}).Make(t.Context(), key)
	expect(t, "workers are paused", w.over.Workers[0].Paused, true)
	expect(t, "machine pools are paused", w.over.KeptPools[0].Paused, true)
	target, _ := w.decisions.Now().Target(key)
	expect(t, "machine pools, for the pass alone", target.Cluster.KeptPools[0].Paused, false)
	expect(t, "for the pass alone", target.Cluster.Workers[0].Paused, false)
}
