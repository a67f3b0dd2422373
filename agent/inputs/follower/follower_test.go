package follower

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/agent/loop/decisions"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

var (
	keyA = fleet.Key{Namespace: "prod", Name: "a"}
	keyB = fleet.Key{Namespace: "prod", Name: "b"}
)

func rev(n string) fleet.Revision { return fleet.Revision{Ref: "main", Digest: "sha1:" + n} }

// world is a source, its renderer, and a fleet that follows it.
type world struct {
	mu        sync.Mutex
	head      string
	away      error                  // why the source does not answer
	missing   map[string]error       // why a revision cannot be got
	stale     bool                   // the renderer could read more
	unread    error                  // why the status branch cannot be read
	lost      error                  // the fleet is another agent's
	damaged   error                  // why the file of keyB cannot be read
	approvals int                    // that a stage needs
	frozen    bool                   // no change begins
	anonymous error                  // why it is not known who wrote a revision
	lacking   map[string][]fleet.Key // clusters that a revision has a problem with
	done      []string
	unready   string
	decisions *decisions.Decisions
	trigger   Trigger
}

func newWorld() *world {
	w := &world{head: "1", missing: map[string]error{}, lacking: map[string][]fleet.Key{}}
	w.decisions = decisions.New(w, reports.New())
	return w
}

// set changes the world.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) note(what string) { w.set(func() { w.done = append(w.done, what) }) }

// took returns what was done since the last call.
func (w *world) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.done
	w.done = nil
	return out
}

func (w *world) Add(fleet.Key)     {}
func (w *world) AddBulk(fleet.Key) {}

func (w *world) Resolve(context.Context) (fleet.Revision, error) {
	w.note("poll")
	w.mu.Lock()
	defer w.mu.Unlock()
	return rev(w.head), w.away
}

func (w *world) Fetch(_ context.Context, r fleet.Revision) (sources.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return nil, w.missing[r.Hash()]
}

func (w *world) Render(_ context.Context, r fleet.Revision, _ sources.Tree) (fleet.Fleet, error) {
	w.note("render " + r.Hash())
	w.mu.Lock()
	defer w.mu.Unlock()
	f := fleet.Fleet{ID: "f", Revision: r}
	if w.approvals > 0 {
		f.Config.Waves.Stages = []fleet.Stage{{Name: "prod", Select: labels.Everything(), Approval: true, Approvals: w.approvals}}
	}
	if w.frozen {
		f.Config.Waves.Freezes = []fleet.Freeze{{Select: labels.Everything(), Until: time.Now().AddDate(1, 0, 0), Reason: "sales"}}
	}
	for _, k := range []fleet.Key{keyA, keyB} {
		if slices.Contains(w.lacking[r.Hash()], k) {
			f.Problems = append(f.Problems, fleet.Problem{Overlay: "clusters/" + k.String(), Message: "broken"})
			continue
		}
		c := fleet.Cluster{Key: k, Overlay: "clusters/" + k.String(), Revision: r, Digest: r.Digest}
		if w.frozen {
			c.Infrastructure.Spec = []byte(`{"of":"` + r.Hash() + `"}`)
		}
		f.Clusters = append(f.Clusters, c)
	}
	return f, nil
}

func (w *world) Authors(_ context.Context, from, to fleet.Revision) ([]string, error) {
	w.note("authors from " + from.Hash() + " to " + to.Hash())
	w.mu.Lock()
	defer w.mu.Unlock()
	return []string{"ada@example.com"}, w.anonymous
}

func (w *world) Stale() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stale
}

func (w *world) Close()                                                {}
func (w *world) Fetched(context.Context, string, error, time.Duration) {}
func (w *world) Rendered(context.Context, error, time.Duration)        {}
func (w *world) SetRefused(refused bool) {
	if refused {
		w.note("refused")
	}
}

func (w *world) parts() Parts {
	return Parts{
		Revisions: revisions.New(revisions.Parts{Source: w, Renderer: w, Metrics: w}),
		Fleet:     w.decisions, Trigger: w.trigger,
		Restore: func(context.Context) (fleet.Revision, error) {
			w.note("restore")
			w.mu.Lock()
			defer w.mu.Unlock()
			return fleet.Revision{}, w.unread
		},
		Recorded: func(_ context.Context, k fleet.Key) (status.Cluster, bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return status.Cluster{Report: fleet.Report{Cluster: k, Overlay: "clusters/" + k.String(), Phase: fleet.PhaseProvisioned}}, true, w.damaged
		},
		Repaired: func(c status.Cluster) { w.note("repaired " + c.Report.Cluster.String()) },
		Owned: func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.lost
		},
		Interval: func() time.Duration { return 30 * time.Second },
		Notices:  func(fleet.Fleet) []fleet.Problem { return nil },
		Applied:  func() { w.note("applied") },
		Then:     []func(context.Context){func(context.Context) { w.note("then") }},
		Unready:  func(reason string) { w.set(func() { w.unready = reason }) },
		Metrics:  w, Log: slog.New(slog.DiscardHandler),
	}
}

// bubble follows w while do plays the world.
func (w *world) bubble(t *testing.T, want error, do func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.trigger = NewTrigger() // channels are of the bubble that makes them
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- Run(ctx, w.parts()) }()
		synctest.Wait()
		do(t)
		cancel()
		if err := <-done; !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("the error is %v, want %v", err, want)
		}
	})
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func expect(t *testing.T, reason string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func TestFollow(t *testing.T) {
	w := newWorld()
	w.bubble(t, nil, func(t *testing.T) {
		expect(t, "the first revision", w.took(), []string{"restore", "poll", "render 1", "applied", "then"})
		sleep(40 * time.Second)
		expect(t, "an unchanged one costs a look", w.took(), []string{"poll", "then"})
		w.set(func() { w.head = "2" })
		sleep(40 * time.Second)
		expect(t, "a push", w.took(), []string{"poll", "render 2", "applied", "then"})
		w.set(func() { w.stale = true })
		sleep(30 * time.Second)
		expect(t, "what may be rendered otherwise", w.took(), []string{"poll", "render 2", "applied", "then"})
	})
}

// TestAuthorsOfARevision: if a stage has approvals, a revision is applied once it is known who wrote it.
func TestAuthorsOfARevision(t *testing.T) {
	for _, why := range []error{errors.New("away"), fleet.Errorf(fleet.Invalid, "read", "the history is too large")} {
		w := newWorld()
		w.approvals = 2
		w.bubble(t, nil, func(t *testing.T) {
			expect(t, "the first revision", slices.DeleteFunc(w.took(), isRoutine), []string{"restore", "render 1", "applied"})
			w.set(func() { w.head, w.anonymous = "2", why })
			sleep(time.Hour)
			expect(t, "what was good stays", w.decisions.Now().Revision(), rev("1"))
			late, problem := w.decisions.Now().Unavailable()
			expect(t, "it is told", late, rev("2"))
			expect(t, "with the reason", strings.Contains(problem.Message, why.Error()), true)
			expect(t, "and with what to do", strings.Contains(problem.Message, "Fix: point the branch at a commit closer to 1,"), fleet.KindOf(why) == fleet.Invalid)
			w.took()
			w.set(func() { w.anonymous = nil })
			sleep(11 * time.Minute)
			expect(t, "it is known", slices.DeleteFunc(w.took(), isRoutine), []string{"render 2", "authors from 1 to 2", "applied"})
			w.set(func() { w.head, w.approvals = "3", 0 })
			sleep(time.Minute)
			expect(t, "it does not matter", slices.DeleteFunc(w.took(), isRoutine), []string{"render 3", "applied"})
		})
	}
}

// TestAuthorsOfWhatWaited: if approvals come while something waits, its authors are asked for, too.
func TestAuthorsOfWhatWaited(t *testing.T) {
	w := newWorld()
	w.frozen = true
	w.bubble(t, nil, func(t *testing.T) {
		for _, k := range []fleet.Key{keyA, keyB} {
			target, _ := w.decisions.Now().Target(k)
			w.decisions.DecideBulk(rollout.Input{Passes: []rollout.Pass{{Target: target, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}, AtRest: true}}})
		}
		w.set(func() { w.head = "2" })
		sleep(time.Minute)
		w.set(func() { w.head = "3" })
		sleep(time.Minute)
		w.took()
		w.set(func() { w.head, w.approvals = "4", 1 })
		sleep(time.Minute)
		expect(t, "with approvals", slices.DeleteFunc(w.took(), isRoutine), []string{"render 4", "authors from 3 to 4", "authors from 1 to 4", "applied"})
		w.set(func() { w.head = "5" })
		sleep(time.Minute)
		expect(t, "once", slices.DeleteFunc(w.took(), isRoutine), []string{"render 5", "authors from 4 to 5", "applied"})
	})
}

// Nothing is rendered before what the agent before this one decided was read.
func TestRestoreComesFirst(t *testing.T) {
	w := newWorld()
	w.unread = errors.New("away")
	w.bubble(t, nil, func(t *testing.T) {
		sleep(2 * time.Second)
		expect(t, "nothing but that", slices.Compact(w.took()), []string{"restore"})
		expect(t, "and it is told", w.unready, "the status branch cannot be read: away")
		w.set(func() { w.unread = nil })
		sleep(time.Minute)
		expect(t, "then a poll", w.took()[:2], []string{"restore", "poll"})
	})
}

// A refused revision is not looked at again; one that cannot be got is, ever less often.
func TestUnusable(t *testing.T) {
	w := newWorld()
	w.bubble(t, nil, func(t *testing.T) {
		w.took()
		w.set(func() { w.head, w.missing["2"] = "2", fleet.Errorf(fleet.Invalid, "fetch", "rubbish") })
		sleep(time.Hour)
		expect(t, "it is refused once", slices.DeleteFunc(w.took(), isRoutine), []string{"refused"})
		expect(t, "what was good stays", w.decisions.Now().Revision(), rev("1"))
		expect(t, "it is told", w.decisions.Now().Refused(), rev("2"))
		w.set(func() { w.head, w.missing["3"] = "3", errors.New("away") })
		sleep(time.Hour)
		late, _ := w.decisions.Now().Unavailable()
		expect(t, "it is told as well", late, rev("3"))
		w.took()
		w.set(func() { delete(w.missing, "3") })
		sleep(11 * time.Minute)
		expect(t, "it is got when it can be", slices.DeleteFunc(w.took(), isRoutine), []string{"render 3", "applied"})
	})
}

func isRoutine(what string) bool { return what == "poll" || what == "then" }

// The fleet is not followed once it is another agent's.
func TestLost(t *testing.T) {
	w := newWorld()
	lost := errors.New("the fleet is b's")
	w.bubble(t, lost, func(t *testing.T) {
		w.took()
		w.set(func() { w.head, w.lost = "2", lost })
		sleep(time.Hour)
		expect(t, "what is done", w.took(), []string{"poll"})
	})
}

// A storm of triggers is one poll a second, and each push is found.
func TestTrigger(t *testing.T) {
	w := newWorld()
	w.bubble(t, nil, func(t *testing.T) {
		w.took()
		for range 100 {
			w.trigger.Fire()
			sleep(10 * time.Millisecond)
		}
		polls := slices.DeleteFunc(w.took(), func(what string) bool { return what != "poll" })
		if len(polls) != 1 && len(polls) != 2 {
			t.Errorf("%d polls within a second", len(polls))
		}
		sleep(time.Minute)
		w.took()
		w.trigger.Fire()
		sleep(500 * time.Millisecond)
		expect(t, "at once", w.took(), []string{"poll", "then"})
		w.set(func() { w.head = "2" }) // all servers of the forge show it now
		sleep(3 * time.Second)
		expect(t, "and a moment later", w.took(), []string{"poll", "render 2", "applied", "then"})
	})
}

// A cluster whose file cannot be read is looked at again with each poll.
func TestDamagedIsReadAgain(t *testing.T) {
	w := newWorld()
	w.decisions.Restore(rollout.Recorded(rollout.Record{Fleet: "f", Damaged: map[fleet.Key]string{keyB: "cut off"}}), nil)
	w.damaged = errors.New("cut off")
	w.bubble(t, nil, func(t *testing.T) {
		sleep(time.Hour)
		if slices.Contains(w.took(), "repaired prod/b") {
			t.Error("it is taken as repaired")
		}
		w.set(func() { w.damaged = nil })
		sleep(time.Minute)
		if !slices.Contains(w.took(), "repaired prod/b") {
			t.Error("it is not taken as repaired")
		}
		expect(t, "nothing is damaged", w.decisions.Now().Damaged(), []fleet.Key(nil))
	})
}

// The last good definition of a cluster comes from the revision that had it.
func TestLastGood(t *testing.T) {
	w := newWorld()
	w.head, w.lacking["2"], w.missing["1"] = "2", []fleet.Key{keyB}, errors.New("away")
	before := fleet.Report{Cluster: keyB, Overlay: "clusters/" + keyB.String(), Revision: rev("1"), Digest: rev("1").Digest, Phase: fleet.PhaseProvisioned}
	w.decisions.Restore(rollout.Recorded(rollout.Record{Fleet: "f", Applied: rev("1"), Reports: []fleet.Report{before}}), []fleet.Report{before})
	w.bubble(t, nil, func(t *testing.T) {
		target, _ := w.decisions.Now().Target(keyB)
		expect(t, "it is left alone", target.Why != "", true)
		w.set(func() { delete(w.missing, "1") })
		sleep(11 * time.Minute)
		target, _ = w.decisions.Now().Target(keyB)
		if target.Cluster == nil || target.Cluster.Revision != rev("1") {
			t.Errorf("its target is %+v", target)
		}
	})
}
