package agent

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// world is all that an agent works with, in memory.
type world struct {
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

func (w *world) Close() {}

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
				Writer: func(fleet.Owner, *status.Notifications) sources.StatusWriter { return w },
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
