package wiring

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"fairlead.dev/agent/observability/health"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/dryrun"
	"fairlead.dev/providers/decorators/limit"
	"fairlead.dev/providers/decorators/retry"
	"fairlead.dev/providers/decorators/trace"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/reconcile"
)

// maxInFlight bounds the calls that one place of a provider is to answer at once.
const maxInFlight = 64

// A Mode says whether a Runtime may change anything.
type Mode int

// The modes. The zero Mode changes nothing.
const (
	ReadOnly  Mode = iota // what would change something is refused
	ReadWrite             // machines, charts and secrets are changed
)

// A Runtime is what a command works with: providers, the clients of API servers,
// and the secrets for both.
type Runtime struct {
	Secrets  secrets.Store
	Workload *workload.Client

	// freezable is Secrets for the reconciler.
	freezable *secrets.FreezableStore

	registry *providers.Registry
	built    Built
	settings map[string]map[string]string
	mode     Mode
	metrics  *metrics.Metrics // nil: nothing is counted
	watchdog *health.Watchdog
	tracer   *tracing.Tracer
	log      *slog.Logger
	closers  []io.Closer
	helm     helm.Engine // nil: nothing installs charts
	doubtful int         // passes at once over clusters of a place that is not known to answer; 0: no passes are made

	mu     sync.Mutex
	open   map[string]*limit.Provider
	bare   map[string]providers.Infrastructure // those, as their factories opened them
	memory *inmemory.Cloud                     // of this process; nil: it is not open
	charts []helm.Installer                    // one for each reconciler
	planes providers.HostedControlPlanes
}

// OpenRuntime opens the secret store and prepares to open providers. A Runtime that is
// ReadOnly makes no secret store where there is none. m, if not nil, counts what is asked
// of providers.
func OpenRuntime(ctx context.Context, s Settings, mode Mode, m *metrics.Metrics) (*Runtime, error) {
	registry, err := s.Built.Registry()
	if err != nil {
		return nil, err
	}
	store, err := s.OpenSecrets(ctx, mode)
	if err != nil {
		return nil, err
	}
	w := &Runtime{
		Secrets: store, Workload: workload.New(workload.Options{Log: s.Log}),
		registry: registry, built: s.Built, helm: s.Built.Charts(), settings: s.Providers, mode: mode, metrics: m, watchdog: s.Watchdog, tracer: s.Tracer, log: s.Log,
		open: make(map[string]*limit.Provider), bare: make(map[string]providers.Infrastructure),
	}
	w.freezable = &secrets.FreezableStore{SecretStore: store}
	if c, ok := store.(io.Closer); ok {
		w.closers = append(w.closers, c)
	}
	return w, nil
}

// UseSecrets makes store the secret store of w, before a provider or a reconciler is opened.
// Close closes the store that w was opened with.
func (w *Runtime) UseSecrets(store secrets.Store) {
	w.Secrets, w.freezable = store, &secrets.FreezableStore{SecretStore: store}
}

// Infrastructure returns the provider of that name, opening it at first.
func (w *Runtime) Infrastructure(name string) (providers.Infrastructure, error) {
	p, err := w.bounded(name)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// bounded returns the provider of that name within its bounds, opening it at first.
func (w *Runtime) bounded(name string) (*limit.Provider, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, ok := w.open[name]; ok {
		return p, nil
	}
	p, err := w.registry.Open(context.Background(), name, w.options(name))
	if err != nil {
		return nil, err
	}
	w.bare[name] = p
	if in, ok := p.(*inmemory.Provider); ok {
		w.memory, _ = in.API().(*inmemory.Cloud)
	}
	if w.mode != ReadWrite {
		p = dryrun.New(p)
	} else {
		p = trace.New(p, func(ctx context.Context, c trace.Call) {
			if w.metrics != nil {
				w.metrics.Called(ctx, name, c.Operation, c.Kind, c.Duration)
			}
			var err error
			if c.Kind != "" {
				err = fleet.Errorf(c.Kind, "call "+name, "%s", c.Kind)
			}
			w.tracer.Done(ctx, "provider "+c.Operation, c.Duration, err, "provider", name, "cluster", c.Cluster.String())
		})
	}
	// A place that is silent is asked by one look at a time, whose repetitions are part of it.
	bounded := limit.New(retry.New(p, retry.Options{}), limit.Options{InFlight: maxInFlight, Passes: w.doubtful})
	w.open[name] = bounded
	return bounded, nil
}

// opened implements providers.Options.
func (w *Runtime) opened(name string) (providers.Infrastructure, error) {
	if _, err := w.bounded(name); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bare[name], nil
}

// InUse returns the names of the providers that are open, sorted, and for each how many calls
// are under way of how many that may be.
func (w *Runtime) InUse() []InUse {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []InUse
	for _, name := range slices.Sorted(maps.Keys(w.open)) {
		now, most := w.open[name].InFlight()
		out = append(out, InUse{name, now, most})
	}
	return out
}

// An InUse is a provider that is open.
type InUse struct {
	Provider  string
	Now, Most int // calls
}

// OpenInMemory opens the in-memory cloud of this process, before a cluster needs it.
// It fails where the cloud is elsewhere.
func (w *Runtime) OpenInMemory() error {
	if _, err := w.Infrastructure(inmemory.ProviderName); err != nil {
		return err
	}
	if _, ok := w.inMemory(); !ok {
		return fleet.Errorf(fleet.Invalid, "open the in-memory cloud", "it is in another process: --inmemory-url says so")
	}
	return nil
}

// InMemory serves the in-memory cloud of this process from when it is open: a request
// opens none.
func (w *Runtime) InMemory() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		cloud, ok := w.inMemory()
		if !ok {
			http.Error(rw, "there is no in-memory cloud in this agent: no cluster of its fleet is on one", http.StatusNotFound)
			return
		}
		inmemory.Handler(cloud).ServeHTTP(rw, r)
	})
}

// inMemory returns the in-memory cloud that is open in this process.
func (w *Runtime) inMemory() (*inmemory.Cloud, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory, w.memory != nil
}

// options returns those of a provider.
func (w *Runtime) options(name string) providers.Options {
	o := providers.Options{Log: w.log.With("provider", name), Settings: w.settings[name], Secret: w.Secrets.GetSecret}
	if w.metrics != nil {
		o.Requested = func(r providers.Request) { w.metrics.Requested(name, r.Service, r.Method, r.Status, r.Took) }
	}
	return o
}

// controlPlanes returns what sees to hosted control planes; nothing where w has none.
func (w *Runtime) controlPlanes() providers.HostedControlPlanes {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.planes == nil && w.built.ControlPlanes != nil {
		w.planes = w.built.ControlPlanes(providers.Options{Log: w.log, Secret: w.Secrets.GetSecret, Opened: w.opened})
		if w.mode != ReadWrite {
			w.planes = dryrun.ControlPlanes(w.planes)
		}
	}
	return w.planes
}

// given returns a Secret that people gave for the use of a fleet.
func (w *Runtime) given(ctx context.Context, id fleet.ID, k fleet.Key) (fleet.SecretData, error) {
	return secrets.OfFleet(w.Secrets, id).GetSecret(ctx, k)
}

// Looker returns what looks at the clusters of w, and has nothing to change them with.
func (w *Runtime) Looker() *reconcile.Looker {
	return reconcile.NewLooker(reconcile.LookerOptions{
		Infrastructure: func(name string) (providers.Observer, error) { return w.Infrastructure(name) },
		Workload:       w.Workload, Distributions: w.built.distributions(w.Workload), Limits: w.built.limits(), ControlPlanes: w.controlPlanes(), Secrets: w.freezable, Given: w.given,
	})
}

// Passes returns a reconciler that works on w and tells the watchdog of its passes.
func (w *Runtime) Passes(may func(fleet.Key) error, changed func(fleet.Key)) reconcile.Passes {
	r, end := w.reconciler(may, changed)
	return watchedPasses{r, w.enter, w.watchdog, end}
}

type watchedPasses struct {
	*reconcile.Reconciler
	enter    func(context.Context, *fleet.Cluster) (leave func(), ok bool)
	watchdog *health.Watchdog
	end      func()
}

// Close ends the changes of charts that passes began, and waits for them.
func (r watchedPasses) Close() { r.end() }

// Pass implements reconcile.Passes.
func (r watchedPasses) Pass(ctx context.Context, c *fleet.Cluster, known fleet.Memory) reconcile.Result {
	_, ends := r.watchdog.Begin(health.Passing, c.Key.String())
	defer ends()
	leave, ok := r.enter(ctx, c.WithResidence(known.Residence))
	if !ok {
		return reconcile.Result{Err: reconcile.ErrPostponed, After: crowdedFor}
	}
	defer leave()
	return r.Reconciler.Pass(ctx, c, known)
}

// crowdedFor is how long a pass waits for a place that is not known to answer.
const crowdedFor = time.Second

// enter begins a pass over c in each of its places. It reports false if one of them is not
// known to answer and enough passes wait for it.
func (w *Runtime) enter(ctx context.Context, c *fleet.Cluster) (leave func(), ok bool) {
	var entered []func()
	leave = func() {
		for _, f := range entered {
			f()
		}
	}
	for _, site := range append([]string{""}, c.GuestProviders()...) {
		bounded, err := w.bounded(cmp.Or(site, c.Provider)) //nolint:contextcheck // a provider lives as long as its world
		if err != nil {
			continue // the pass tells why
		}
		f, ok := bounded.Enter(ctx, c.At(site))
		if !ok {
			leave()
			return nil, false
		}
		entered = append(entered, f)
	}
	return leave, true
}

// reconciler returns a reconciler that works on w, and what ends it.
func (w *Runtime) reconciler(may func(fleet.Key) error, changed func(fleet.Key)) (*reconcile.Reconciler, func()) {
	charts, end := w.newCharts(may, changed)
	return reconcile.New(reconcile.Options{
		Infrastructure: w.Infrastructure, Workload: w.Workload, Charts: charts, Distributions: w.built.distributions(w.Workload), Limits: w.built.limits(), ControlPlanes: w.controlPlanes(), Secrets: w.freezable, Given: w.given,
		May: may, Changed: changed, Span: w.tracer.Span, Log: w.log,
	}), end
}

// newCharts returns what installs charts for a reconciler, or nil in a world to look
// at and in a program without Helm, and what lets go of it.
func (w *Runtime) newCharts(may func(fleet.Key) error, changed func(fleet.Key)) (providers.Charts, func()) {
	if w.mode != ReadWrite || w.helm == nil {
		return nil, func() {}
	}
	c := w.helm.Installer(helm.Options{
		May: may, Changed: changed, Log: w.log,
		Ended: func(ctx context.Context, operation string, kind fleet.ErrorKind, took time.Duration) {
			if w.metrics != nil {
				w.metrics.Called(ctx, "helm", operation, kind, took)
			}
		},
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.charts = append(w.charts, c)
	return c, func() {
		c.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.charts = slices.DeleteFunc(w.charts, func(o helm.Installer) bool { return o == c })
	}
}

// Close closes what is open.
func (w *Runtime) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.charts { // of reconcilers that are not closed
		c.Close()
	}
	w.Workload.Close()
	var errs []error
	for _, p := range w.open {
		if c := providers.AbilitiesOf(p).Closer; c != nil {
			c.Close()
		}
	}
	for _, c := range w.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
