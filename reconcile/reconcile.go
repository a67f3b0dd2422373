// Package reconcile makes passes over one cluster: look, decide, do, report.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile/exec"
	"fairlead.dev/reconcile/plan"
)

// Options are what a Reconciler works with. Infrastructure, Workload, Distributions
// and Secrets are required.
type Options struct {
	// Infrastructure returns the provider of that name.
	Infrastructure func(name string) (providers.Infrastructure, error)
	Workload       providers.Workload
	Charts         providers.Charts // nil: charts are refused, but by infrastructure that installs them itself
	Distributions  providers.Distributions
	ControlPlanes  providers.HostedControlPlanes // nil: no cluster has a hosted one
	Secrets        SecretStore
	Given          exec.Given       // nil: people gave the agent nothing
	Limits         providers.Limits // of user data

	// May is asked before anything is changed, and again before each action. An
	// error, such as one that names the fleet's real owner, leaves the pass at
	// looking. Nil permits all.
	May func(fleet.Key) error
	// Changed is called when nodes of a cluster change. Nil: they are not watched.
	Changed func(fleet.Key)

	// Span begins a part of a pass, for traces; the function that it
	// returns ends it. Nil: no traces.
	Span func(ctx context.Context, name string, attributes ...string) (context.Context, func(error))

	Now func() time.Time // default time.Now
	// Elapsed is how much time has passed since some moment, by a clock that cannot be set: if Now
	// says something else, the clock was set. Nil: with the default Now, the time that
	// passes; with another one no clock is set.
	Elapsed  func() time.Duration
	Log      *slog.Logger  // default: none
	Parallel int           // actions of one pass at once, default 8
	Progress time.Duration // between looks at a cluster that waits for something, default 10 s
}

// A Reconciler makes passes over clusters. It is safe for concurrent use by
// passes over different clusters.
type Reconciler struct {
	o        Options
	looker   *Looker
	executor *exec.Executor
	clock    *clock

	mu       sync.Mutex
	since    time.Time // when this agent began, for all clusters: who owns the fleet owns all of it
	memories map[fleet.Key]*memory
}

// New returns a Reconciler that knows nothing yet. It is to be made when the
// fleet is owned: from then on no other agent begins anything.
func New(o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
		if o.Elapsed == nil {
			began := time.Now()
			o.Elapsed = func() time.Duration { return time.Since(began) }
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Span == nil {
		o.Span = func(ctx context.Context, _ string, _ ...string) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}
	if o.Charts == nil {
		o.Charts = providers.NoCharts{}
	}
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.Progress = cmp.Or(o.Progress, 10*time.Second)
	r := &Reconciler{
		o: o,
		looker: NewLooker(LookerOptions{
			Infrastructure: func(name string) (providers.Observer, error) { return o.Infrastructure(name) },
			Workload:       o.Workload, Distributions: o.Distributions, ControlPlanes: o.ControlPlanes, Secrets: o.Secrets, Given: o.Given, Limits: o.Limits, Now: o.Now,
		}),
		executor: &exec.Executor{
			Workload: o.Workload, Charts: o.Charts, May: o.May,
			Now: o.Now, Log: o.Log, Parallel: o.Parallel,
		},
		clock:    newClock(o.Now, o.Elapsed),
		since:    o.Now(),
		memories: make(map[fleet.Key]*memory),
	}
	r.looker.answered = r.answered
	return r
}

// secrets returns the secret store as the fleet of c uses it.
func (r *Reconciler) secrets(c *fleet.Cluster) SecretStore {
	if s, ok := r.o.Secrets.(SharedStore); ok {
		return s.Of(c.Fleet)
	}
	return r.o.Secrets
}

// Pass looks at c once, decides, does what may be done now and reports. It never
// waits for anything to happen: the next pass will see. known is the memory in the last
// report of c, of this agent or another.
func (r *Reconciler) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) Result {
	m := r.memory(c.Key)
	res := Result{Report: fleet.Report{
		Cluster: c.Key, Revision: c.Revision, Overlay: c.Overlay, Labels: c.Labels,
		Provider: c.Provider, Version: c.Version(),
	}}
	errs := r.pass(ctx, c, known, m, &res)
	res.Err = joined(errs)
	res.Report.Certificates = res.lasting()
	if res.Report.Phase == "" { // it could not look: what was known still is the best that is known
		last := m.known()
		last.Cluster, last.Revision, last.Overlay, last.Labels = c.Key, c.Revision, c.Overlay, c.Labels
		last.Actions = nil
		res.Report = last
	} else {
		m.know(res.Report)
	}
	if res.Err != nil {
		res.Report.Failure = fleet.StableText(res.Err.Error())
	}
	n := m.failed(len(errs) > 0)
	if len(errs) > 0 {
		res.After = res.afterFailure(recoverAfter(errs, n))
	}
	if res.Plan.Phase == fleet.PhaseDeleted {
		r.Forget(c.Key)
	}
	return res
}

func (r *Reconciler) pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory, m *memory, res *Result) []error {
	d, err := r.o.Distributions.Of(c)
	if err != nil {
		return []error{err}
	}
	infra, err := r.o.Infrastructure(c.Provider)
	if err != nil {
		return []error{err}
	}
	if known.Residence.IsZero() { // the caller of the pass may not have got it yet
		known.Residence = m.residence()
	}
	c = c.WithResidence(known.Residence).WithReboots(known.Reboots)
	plane, err := r.o.ControlPlanes.Of(c)
	if err != nil {
		return []error{err}
	}
	looking, seen := r.o.Span(ctx, "look")
	observed, err := r.Look(looking, c)
	seen(err)
	if err != nil {
		m.blind()
		return []error{err}
	}
	res.Observed = observed
	_, decided := r.o.Span(ctx, "plan")
	settle, guests := infra.Settle(), r.guests(c)
	if plane != nil {
		settle = max(settle, plane.Settle())
	}
	settleTimes := settleTimes(guests)
	in := plan.Input{
		Desired: c, Observed: observed, Attempts: m.recent(observed.At, attemptsLast(settle, settleTimes)),
		Since: m.since, Watched: m.looked(observed.At), Settle: settle, SettleTimes: settleTimes, Now: observed.At, ClockSet: r.clock.lastSet(),
		Answered: m.heardAt(), NeverAnswered: m.neverAnswered(), Memory: known,
	}
	p := plan.Compute(in)
	decided(nil)
	errs := silences(&observed)
	if p.NeedEtcd {
		if in.Observed.Workload.Etcd, err = r.lookAtEtcd(ctx, c, d); err != nil {
			errs = append(errs, fmt.Errorf("cannot see the etcd members of %s: %w", c.Key, err))
		}
		p = plan.Compute(in)
	}
	res.Plan = p
	m.reside(p.Residence)
	res.report(observed)
	res.fillIn(&observed, p.Desired, m.known())
	if len(p.Actions) > 0 && r.o.May != nil {
		if err := r.o.May(c.Key); err != nil {
			return append(errs, err)
		}
	}
	errs = append(errs, r.execute(ctx, exec.Environment{
		Cluster: p.Desired.ServedAt(endpoint(p.Desired, &observed)), Infrastructure: infra, Guests: guests, ControlPlane: plane,
		Distribution: d, Secrets: r.secrets(c), Given: r.o.Given, Endpoint: endpoint(p.Desired, &observed), Memory: m,
		Seen: observed.At,
	}, res)...)
	res.After = r.next(p, m)
	return errs
}

// execute carries out the plan of res in w, and reports what was done.
func (r *Reconciler) execute(ctx context.Context, w exec.Environment, res *Result) (errs []error) {
	ctx, done := r.o.Span(ctx, "do", "actions", strconv.Itoa(len(res.Plan.Actions)))
	out := r.executor.Run(ctx, w, res.Plan.Actions)
	done(failed(out))
	for _, o := range out {
		if o.Err == nil {
			res.Report.Actions = append(res.Report.Actions, o.Action.String()+": "+o.Action.Reason)
			continue
		}
		if !errors.Is(o.Err, exec.ErrStale) {
			errs = append(errs, o.Err)
		}
	}
	return errs
}

// endpoint is where the API server is: as it was seen, or is remembered where its site is
// silent.
func endpoint(c *fleet.Cluster, o *fleet.Observed) fleet.Endpoint {
	switch {
	case o.ControlPlane != nil:
		return o.ControlPlane.Endpoint
	case o.Silence != "":
		return c.Residence.Endpoint
	}
	return o.Infrastructure.Endpoint
}

// next says when to look again after p was carried out. Order comes from
// looking again, so something done means another look at once; the same done
// again and again means a longer and longer wait.
func (r *Reconciler) next(p plan.Plan, m *memory) time.Duration {
	if repeats := m.did(p.Actions); len(p.Actions) > 0 {
		return repeatBackoff().after(repeats + 1)
	}
	if len(p.Waiting) > 0 && (p.After == 0 || r.o.Progress < p.After) {
		return r.o.Progress
	}
	return p.After
}

// Forget drops what is remembered of a cluster and closes its connections. It is
// for clusters of which nothing is left: a cluster that is there and forgotten
// would pass for one that nothing was begun on.
func (r *Reconciler) Forget(k fleet.Key) {
	r.mu.Lock()
	delete(r.memories, k)
	r.mu.Unlock()
	r.o.Workload.Forget(k)
	r.o.Charts.Forget(k)
}

// Close forgets all clusters: somebody else is to act on them from now on. It is
// for after the last pass.
func (r *Reconciler) Close() {
	r.mu.Lock()
	keys := slices.Collect(maps.Keys(r.memories))
	r.mu.Unlock()
	for _, k := range keys {
		r.Forget(k)
	}
}

func (r *Reconciler) memory(k fleet.Key) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.memories[k]
	if !ok {
		m = newMemory(r.since)
		r.memories[k] = m
	}
	return m
}
