package agent

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/desired"
	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// world is all that an agent works with, in memory.
type world struct {
	reconcile.Unattended

	mu      sync.Mutex
	head    fleet.Revision
	fleets  map[string]fleet.Fleet // by revision digest; what is missing cannot be fetched
	refused map[string]error       // render errors by revision digest
	owner   fleet.Owner
	next    fleet.Succession
	record  status.Status
	reads   atomic.Int64 // of all of the record
	polls   atomic.Int64

	passes    []string // "prod/a 1": cluster and revision
	phases    map[fleet.Key]fleet.Phase
	reports   map[fleet.Key]fleet.Report
	forgotten []fleet.Key
	fleet     sources.FleetStatus
	fetched   []string
	may       func(fleet.Key) error
	watch     func(fleet.Key)
	published int   // times that the status writer began
	unwritten error // why the status cannot be written
	desk      desk
	scales    numbers
	desired   int                          // machines of every pool, in every report
	machines  []fleet.MachineReport        // of every report
	wished    map[fleet.Key]*fleet.Cluster // as the last pass had it
	livesIn   func(context.Context, fleet.Key) (bool, error)
	signed    bool                 // keys say what counts on the status branch
	doubt     error                // of the owner that is there
	restored  []fleet.Owner        // in place of one that was not to be believed
	onPass    func(*fleet.Cluster) // called with mu held
}

func newWorld(fleets ...fleet.Fleet) *world {
	w := &world{
		fleets: make(map[string]fleet.Fleet), refused: make(map[string]error),
		phases: make(map[fleet.Key]fleet.Phase), reports: make(map[fleet.Key]fleet.Report),
	}
	for _, f := range fleets {
		f.Config.StatusBranch = "status"
		w.fleets[f.Revision.Digest] = f
	}
	if len(fleets) > 0 {
		w.head = fleets[0].Revision
	}
	return w
}

func (w *world) Resolve(context.Context) (fleet.Revision, error) {
	w.polls.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head, nil
}

type tree struct{ fs.FS }

func (tree) Digest(string) (string, error) { return "", errors.New("not used") }

func (w *world) Fetch(_ context.Context, rev fleet.Revision) (sources.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fetched = append(w.fetched, rev.Hash())
	if _, ok := w.fleets[rev.Digest]; !ok {
		return nil, fleet.Errorf(fleet.NotFound, "fetch", "no such revision")
	}
	return tree{}, nil
}

func (w *world) Render(_ context.Context, rev fleet.Revision, _ sources.Tree) (fleet.Fleet, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fleets[rev.Digest], w.refused[rev.Digest]
}

func (w *world) Owner(context.Context) (fleet.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner, nil
}

func (w *world) Claim(_ context.Context, self, place string) (fleet.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner.Agent == "" {
		w.owner = fleet.Owner{Agent: self, Epoch: 1, Place: place}
	}
	return w.owner, nil
}

func (w *world) HandOver(context.Context, fleet.Owner, string, string) (fleet.Owner, error) {
	return fleet.Owner{}, errors.New("not used")
}

func (w *world) Succession(context.Context) (fleet.Owner, fleet.Succession, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt != nil {
		return fleet.Owner{}, fleet.Succession{}, w.doubt
	}
	return w.owner, w.next, nil
}

func (w *world) Restore(_ context.Context, of fleet.Owner) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restored, w.doubt = append(w.restored, of), nil
	return nil
}

func (w *world) Succeed(_ context.Context, of fleet.Owner, from, to fleet.Succession) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner != of || w.next != from {
		return fleet.Errorf(fleet.Conflict, "succeed", "moved")
	}
	w.next = to
	return nil
}

func (w *world) Yield(_ context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner != of || w.next != s {
		return fleet.Owner{}, fleet.Errorf(fleet.Conflict, "yield", "moved")
	}
	w.owner, w.next = fleet.Owner{Agent: s.To, Epoch: of.Epoch + 1}, s.At(fleet.StepHandedOver)
	return w.owner, nil
}

func (w *world) Put(r fleet.Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reports[r.Cluster] = r
}

func (w *world) PutFleet(s sources.FleetStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet = s
}

func (w *world) Flush(context.Context) (fleet.Revision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fleet.Revision{}, w.unwritten
}

func (w *world) Run(ctx context.Context) error {
	w.mu.Lock()
	w.published++
	w.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (w *world) Pass(_ context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	pass := c.Key.String() + " " + c.Revision.Hash()
	if c.Delete {
		pass += " delete"
	}
	w.passes = append(w.passes, pass)
	if w.wished == nil {
		w.wished = make(map[fleet.Key]*fleet.Cluster)
	}
	w.wished[c.Key] = c.WithResidence(known.Residence)
	if w.onPass != nil {
		w.onPass(c)
	}
	phase, ok := w.phases[c.Key]
	if !ok {
		phase = fleet.PhaseProvisioned
	}
	var pools []fleet.PoolReport
	for _, p := range c.Workers {
		pools = append(pools, fleet.PoolReport{Name: p.Name, Desired: w.desired})
	}
	return reconcile.Result{Report: fleet.Report{Cluster: c.Key, Revision: c.Revision, Phase: phase, Machines: w.machines, Pools: pools}}
}

func (w *world) Forget(k fleet.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten = append(w.forgotten, k)
	delete(w.reports, k)
}

func (w *world) Watch(ctx context.Context, changed func(fleet.Key)) error {
	w.mu.Lock()
	w.watch = changed
	w.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

// infrastructure is a provider that can watch and nothing else.
type infrastructure struct {
	providers.Infrastructure
	*world
}

func (i infrastructure) Abilities() providers.Abilities { return providers.Abilities{Watcher: i} }

func (i infrastructure) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	return fleet.Infrastructure{}, errors.New("not used")
}

// Stale implements revisions.Renderer.
func (w *world) Stale() bool { return false }

func (w *world) agent(o Options) *Agent { return New(w.options(o), w.parts()) }

func (w *world) options(o Options) Options {
	if o.Interval == 0 {
		o.Interval = 30 * time.Second
	}
	o.Name, o.Resync, o.Workers = "me", 10*time.Minute, 2
	return o
}

func (w *world) parts() Parts {
	return Parts{
		Source: w, Renderer: w,
		StatusBranch: func(branch string) (StatusBranch, error) {
			if branch != "status" {
				return StatusBranch{}, errors.New("this is not the branch that fleet.yaml names: " + branch)
			}
			return StatusBranch{
				Arbiter:  w,
				Requests: &w.desk,
				Scales:   &w.scales,
				Signed:   w.signed,
				Read: func(context.Context) (status.Status, error) {
					w.reads.Add(1)
					w.mu.Lock()
					defer w.mu.Unlock()
					return w.record, nil
				},
				ReadCluster: func(_ context.Context, k fleet.Key) (status.Cluster, bool, error) {
					w.mu.Lock()
					defer w.mu.Unlock()
					c, ok := w.record.Cluster(k)
					return c, ok, w.record.DamageOf(k)
				},
				Writer: func(fleet.Owner) sources.StatusWriter { return w },
			}, nil
		},
		Reconciler: func(may func(fleet.Key) error, _ func(fleet.Key)) reconcile.Passes {
			w.may = may
			return w
		},
		Infrastructure: func(string) (providers.Infrastructure, error) { return infrastructure{world: w}, nil },
		LivesIn:        w.livesIn,
		Metrics:        metrics.New("v0"), Log: discard(),
	}
}

// bubble runs an agent in a bubble while do plays the world.
func bubble(t *testing.T, w *world, o Options, do func(t *testing.T, a *Agent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := w.agent(o)
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		do(t, a)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the agent ended with an error: %v", err)
		}
	})
}

// push makes rev the newest and lets a poll pass.
func (w *world) push(rev string) {
	w.mu.Lock()
	w.head = revision(rev)
	w.mu.Unlock()
	time.Sleep(time.Minute)
	synctest.Wait()
}

// took returns the passes since the last call, sorted.
func (w *world) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.passes
	w.passes = nil
	slices.Sort(out)
	return out
}

// report returns the newest report of k, and whether there is one.
func (w *world) report(k fleet.Key) (fleet.Report, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.reports[k]
	return r, ok
}

func (w *world) of(k fleet.Key) fleet.Report {
	r, _ := w.report(k)
	return r
}

// whole returns the newest report of the fleet.
func (w *world) whole() sources.FleetStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fleet
}

func (w *world) publishing() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.published
}

// fetches returns the revisions fetched since the last call.
func (w *world) fetches() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.fetched
	w.fetched = nil
	return out
}

// event tells of a change of a machine of k.
func (w *world) event(k fleet.Key) {
	w.mu.Lock()
	changed := w.watch
	w.mu.Unlock()
	changed(k)
	synctest.Wait()
}

func expect(t *testing.T, reason string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func TestFollow(t *testing.T) {
	broken := fleetOf("3", fleet.Prune{}, clusterOf(keyB, "3", "z"))
	broken.Problems = []fleet.Problem{{Overlay: "clusters/prod/a", Message: "broken"}}
	w := newWorld(
		fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x")),
		fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x"), clusterOf(keyB, "2", "y")),
		broken,
		fleetOf("4", fleet.Prune{}, clusterOf(keyA, "4", "x")),
	)
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		expect(t, "the first revision brings a pass over each cluster", w.took(), []string{"prod/a 1", "prod/b 1"})
		time.Sleep(5 * time.Minute)
		expect(t, "status is being written", w.publishing(), 1)
		expect(t, "an unchanged fleet is not worked on", w.took(), []string(nil))
		time.Sleep(7 * time.Minute)
		expect(t, "but looked at regularly", slices.Compact(w.took()), []string{"prod/a 1", "prod/b 1"})
		w.push("2")
		expect(t, "only a changed cluster is worked on", w.took(), []string{"prod/b 2"})
		w.push("3")
		expect(t, "a broken cluster stays at its revision, the others go on", w.took(), []string{"prod/a 1", "prod/b 3"})
		expect(t, "its report says why", w.of(keyA).Problems, []fleet.Problem{{Overlay: "clusters/prod/a", Message: "broken"}})
		expect(t, "and the others' does not", w.of(keyB).Problems, []fleet.Problem(nil))
		w.push("4")
		expect(t, "repaired, it loses its problem; an orphan is left alone", w.took(), []string{"prod/a 1"})
		expect(t, "no problem is left", w.of(keyA).Problems, []fleet.Problem(nil))
		expect(t, "the orphan is told of", w.whole().Orphans, []fleet.Key{keyB})
		time.Sleep(15 * time.Minute)
		expect(t, "and not worked on later either", slices.Compact(w.took()), []string{"prod/a 1"})
		w.event(keyA)
		expect(t, "a machine event brings a pass at once", w.took(), []string{"prod/a 1"})
	})
}

func TestRefusedRevision(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}))
	w.refused[revision("2").Digest] = fleet.Errorf(fleet.Invalid, "read fleet.yaml", "it is nonsense")
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		w.took()
		w.push("2")
		expect(t, "nothing is done with a refused revision", w.took(), []string(nil))
		expect(t, "nothing becomes an orphan by it", w.whole().Orphans, []fleet.Key(nil))
		if len(w.whole().Problems) != 1 || !strings.Contains(w.whole().Problems[0].Message, "it is nonsense") {
			t.Errorf("the refusal is not reported: %v", w.whole().Problems)
		}
		w.fetches()
		time.Sleep(10 * time.Minute)
		expect(t, "it is not fetched again and again", w.fetches(), []string(nil))
		w.event(keyA)
		expect(t, "the clusters are still looked after", w.took()[0], "prod/a 1")
	})
}

func TestRenamedFleet(t *testing.T) {
	renamed := fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y"))
	renamed.ID = "g"
	says := func(t *testing.T, w *world) {
		t.Helper()
		if p := w.whole().Problems; len(p) != 1 || !strings.Contains(p[0].Message, `put metadata.name: f into fleet.yaml`) {
			t.Errorf("the problems do not say what to do: %v", p)
		}
		expect(t, "the fleet keeps its name", w.whole().Fleet, fleet.ID("f"))
	}
	t.Run("Push", func(t *testing.T) {
		w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), renamed)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.took()
			w.push("2")
			expect(t, "nothing is made a second time under a new name", w.took(), []string(nil))
			says(t, w)
		})
	})
	t.Run("Restart", func(t *testing.T) {
		before := fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x"))
		before.ID = "g" // as where the name is made from the source, which moved
		w := newWorld(renamed, before)
		w.record = told(fleet.PhaseProvisioned)
		w.record.Fleet.Fleet = "f"
		bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
			expect(t, "an agent that only knows the name from the status branch does nothing either", w.took(), []string(nil))
			says(t, w)
			expect(t, "a plan says the same", len(desired.Of(w.record, renamed, time.Now()).Problems), 1)
		})
	})
	t.Run("Empty", func(t *testing.T) {
		w := newWorld(fleetOf("1", fleet.Prune{}), renamed)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			w.push("2")
			expect(t, "a fleet without clusters may have any name", w.took(), []string{"prod/a 2"})
		})
	})
}

func TestOwnership(t *testing.T) {
	one := fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"))

	t.Run("Refuses", func(t *testing.T) {
		w := newWorld(one)
		w.owner = fleet.Owner{Agent: "other", Epoch: 7}
		err := w.agent(Options{}).Run(t.Context())
		var refusal *ownership.NotOwnerError
		if !errors.As(err, &refusal) || refusal.Owner != w.owner {
			t.Errorf("a second agent must refuse and say who owns the fleet, got %v", err)
		}
		expect(t, "it touches nothing", w.took(), []string(nil))
	})
	t.Run("Waits", func(t *testing.T) {
		w := newWorld(one)
		w.owner = fleet.Owner{Agent: "other", Epoch: 7}
		bubble(t, w, Options{WaitForOwnership: true}, func(t *testing.T, _ *Agent) {
			time.Sleep(time.Hour)
			expect(t, "it touches nothing while it waits", w.took(), []string(nil))
			expect(t, "not even the status", w.publishing(), 0)
			w.mu.Lock()
			w.owner = fleet.Owner{Agent: "me", Epoch: 8}
			w.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, "and begins once the fleet is its own", w.took(), []string{"prod/a 1"})
		})
	})
	t.Run("Namesake", func(t *testing.T) {
		at := func(place string, o Options, w *world) *Agent {
			p := w.parts()
			p.Place = func(context.Context) (string, error) { return place, nil }
			return New(w.options(o), p)
		}
		w := newWorld(one)
		w.owner = fleet.Owner{Agent: "me", Epoch: 7, Place: "there"}
		var err error
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			err = at("here", Options{}, w).Run(ctx)
		})
		for _, want := range []string{`another agent of the name "me"`, "in there", "in here", "--take-over me@7"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("an agent of the owner's name ended with %v, want %q in it", err, want)
			}
		}
		expect(t, "it touches nothing", w.took(), []string(nil))
		if w.owner.Place != "there" {
			t.Errorf("the owner is now %v", w.owner)
		}

		// One that loses the fleet to another of its name must end as well.
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(one)
			done := make(chan error, 1)
			go func() { done <- at("here", Options{}, w).Run(t.Context()) }()
			synctest.Wait()
			if err := w.may(keyA); err != nil {
				t.Errorf("the owner may not act: %v", err)
			}
			w.mu.Lock()
			w.owner = fleet.Owner{Agent: "me", Epoch: 1, Place: "there"}
			w.mu.Unlock()
			if _, ok := errors.AsType[*ownership.NotOwnerError](<-done); !ok || w.may(keyA) == nil {
				t.Error("it goes on though another agent of its name owns the fleet")
			}
		})
	})
	t.Run("PlaceUnknown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(one)
			p := w.parts()
			var mu sync.Mutex
			unknown := errors.New("the API server does not answer")
			p.Place = func(context.Context) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				return "here", unknown
			}
			a := New(w.options(Options{}), p)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx) }()
			time.Sleep(time.Hour)
			w.mu.Lock()
			owner := w.owner
			w.mu.Unlock()
			if owner.Agent != "" {
				t.Errorf("it claimed as %v without knowing where it is", owner)
			}
			mu.Lock()
			unknown = nil
			mu.Unlock()
			time.Sleep(time.Hour)
			cancel()
			if err := <-done; err != nil || w.owner != (fleet.Owner{Agent: "me", Epoch: 1, Place: "here"}) {
				t.Errorf("then the owner is %v, it ended with %v", w.owner, err)
			}
		})
	})
	t.Run("Nobody", func(t *testing.T) {
		err := &ownership.NotOwnerError{Self: "me"}
		if !strings.Contains(err.Error(), "owner.yaml is gone from the status branch") {
			t.Errorf("where the status branch was deleted the error must say so, got %v", err)
		}
	})
	t.Run("Loses", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(one)
			done := make(chan error, 1)
			go func() { done <- w.agent(Options{}).Run(t.Context()) }()
			synctest.Wait()
			if err := w.may(keyA); err != nil {
				t.Errorf("the owner may not act: %v", err)
			}
			w.mu.Lock()
			w.owner = fleet.Owner{Agent: "other", Epoch: 2}
			w.mu.Unlock()
			err := <-done
			if _, ok := errors.AsType[*ownership.NotOwnerError](err); !ok || !strings.Contains(err.Error(), `owned by agent "other"`) {
				t.Errorf("an agent that lost the fleet must end and say so, got %v", err)
			}
			if w.may(keyA) == nil {
				t.Error("an agent that lost the fleet may still act")
			}
		})
	})
}

// told is a status branch that tells of cluster b at revision 1.
func told(phase fleet.Phase) status.Status {
	return status.Status{Clusters: []status.Cluster{{Report: fleet.Report{
		Cluster: keyB, Revision: revision("1"), Overlay: "clusters/prod/b", Phase: phase,
	}}}}
}

func TestRestart(t *testing.T) {
	broken := fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x"))
	broken.Problems = []fleet.Problem{{Overlay: "clusters/prod/b", Message: "broken"}}
	before := fleetOf("1", fleet.Prune{}, clusterOf(keyB, "1", "x"))

	t.Run("LastGood", func(t *testing.T) {
		w := newWorld(broken, before)
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "a cluster that is broken now is held to the revision in its status", w.took(), []string{"prod/a 2", "prod/b 1"})
			expect(t, "and says that it is broken", len(w.of(keyB).Problems), 1)
		})
	})
	t.Run("LastGoodIsGone", func(t *testing.T) {
		w := newWorld(broken)
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "without a good definition nothing is done", w.took(), []string{"prod/a 2"})
			_, reported := w.report(keyB)
			expect(t, "its status is left as it is", reported, false)
			if !slices.ContainsFunc(w.whole().Problems, func(p fleet.Problem) bool {
				return p.Cluster == keyB && strings.Contains(p.Message, "left alone")
			}) {
				t.Errorf("it is not told of: %v", w.whole().Problems)
			}
		})
	})
	t.Run("Deleting", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x")), before)
		w.record = told(fleet.PhaseDeleting)
		w.phases[keyB] = fleet.PhaseDeleted
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "a deletion that had begun is finished", w.took(), []string{"prod/a 2", "prod/b 1 delete"})
			if !slices.Contains(w.forgotten, keyB) {
				t.Error("a deleted cluster that Git does not have is not forgotten")
			}
		})
	})
	t.Run("DeletedMeanwhile", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "x")))
		w.record = told(fleet.PhaseDeleted)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "what is deleted and gone from Git needs no definition to be forgotten", w.forgotten, []fleet.Key{keyB, keyB})
			expect(t, "and is no problem", w.whole().Problems, []fleet.Problem(nil))
		})
	})
	t.Run("ProtectedMeanwhile", func(t *testing.T) {
		protected := clusterOf(keyB, "1", "x")
		protected.Protect = true
		w := newWorld(fleetOf("2", fleet.Prune{Enabled: true, Limit: 5}, clusterOf(keyA, "2", "x")), fleetOf("1", fleet.Prune{}, protected))
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "a protected cluster is not pruned", w.took(), []string{"prod/a 2"})
			expect(t, "it is an orphan", w.whole().Orphans, []fleet.Key{keyB})
		})
	})
	t.Run("NothingSeenYet", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "y")))
		w.record = told(fleet.PhaseProvisioned)
		w.phases[keyB] = ""
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			got := w.of(keyB)
			expect(t, "a pass that sees nothing does not wipe out what was known", got.Phase, fleet.PhaseProvisioned)
			expect(t, "but is about the newest definition", got.Revision, revision("2"))
		})
	})
	t.Run("AllVanished", func(t *testing.T) {
		w := newWorld(fleetOf("2", fleet.Prune{Enabled: true, Limit: 9}), before)
		w.record = told(fleet.PhaseProvisioned)
		bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
			expect(t, "nothing is deleted by an empty revision", w.took(), []string(nil))
			expect(t, "the cluster is an orphan", w.whole().Orphans, []fleet.Key{keyB})
			expect(t, "and the refusal is told", len(w.whole().Problems), 1)
		})
	})
}

func TestDeletedStaysWhileInGit(t *testing.T) {
	marked := clusterOf(keyA, "1", "x")
	marked.Delete = true
	w := newWorld(fleetOf("1", fleet.Prune{}, marked, clusterOf(keyB, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyB, "2", "x")))
	w.phases[keyA] = fleet.PhaseDeleted
	bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
		expect(t, "its status says so as long as Git has it", w.of(keyA).Phase, fleet.PhaseDeleted)
		w.push("2")
		_, reported := w.report(keyA)
		expect(t, "and goes with the files", reported, false)
		expect(t, "it is no orphan", w.whole().Orphans, []fleet.Key(nil))
	})
}

func TestReadiness(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	w.owner = fleet.Owner{Agent: "other", Epoch: 7}
	bubble(t, w, Options{WaitForOwnership: true}, func(t *testing.T, a *Agent) {
		code, text := get(a, "/readyz")
		expect(t, "a waiting agent is not ready", code, 503)
		for _, want := range []string{"not ready: owner: the fleet is owned by agent \"other\"", "not ready: revision: no revision"} {
			if !strings.Contains(text, want) {
				t.Errorf("readyz lacks %q:\n%s", want, text)
			}
		}
		code, _ = get(a, "/healthz")
		expect(t, "but it is healthy", code, 200)
		w.mu.Lock()
		w.owner.Agent = "me"
		w.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		code, text = get(a, "/readyz")
		expect(t, "an owner with a revision is ready", code, 200)
		expect(t, "and says so", text, "ready\n")
		code, _ = get(a, "/debug/pprof/")
		expect(t, "profiles are served only on request", code, 404)
	})
}
