package agent

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fairlead.dev/fleet"
)

// Metrics are the numbers that an agent shows, on a registry of its own.
// docs/metrics.md lists them all.
type Metrics struct {
	registry *prometheus.Registry
	clusters *clusterCollector

	fetches      *prometheus.CounterVec
	fetchSeconds *prometheus.HistogramVec
	fetchSuccess prometheus.Gauge

	pushes      *prometheus.CounterVec
	pushSeconds prometheus.Histogram
	pushRaces   prometheus.Counter
	pushLag     prometheus.Histogram
	pushSuccess prometheus.Gauge

	renders       *prometheus.CounterVec
	renderSeconds prometheus.Histogram
	overlays      *prometheus.CounterVec
	problems      prometheus.Gauge

	actions     *prometheus.CounterVec
	passes      *prometheus.CounterVec
	passSeconds prometheus.Histogram
	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec

	leader prometheus.Gauge
	owner  *prometheus.GaugeVec
}

// NewMetrics returns metrics of a program of that version.
func NewMetrics(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to 65 s
		}, labels)
	}
	single := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		clusters: newClusterCollector(),

		fetches:      counter("fairlead_git_fetch_total", "Requests to the source, by operation (resolve, fetch) and result.", "operation", "result"),
		fetchSeconds: seconds("fairlead_git_fetch_seconds", "Duration of requests to the source.", "operation"),
		fetchSuccess: gauge("fairlead_git_fetch_last_success_timestamp_seconds", "When the source last answered."),

		pushes:      counter("fairlead_status_push_total", "Commits to the status branch, by result.", "result"),
		pushSeconds: single("fairlead_status_push_seconds", "Duration of commits to the status branch."),
		pushRaces:   prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_status_push_races_total", Help: "Commits to the status branch that lost against another one and were made again."}),
		pushLag:     single("fairlead_status_lag_seconds", "From the first report in a status commit until it landed."),
		pushSuccess: gauge("fairlead_status_push_last_success_timestamp_seconds", "When the status branch was last written."),

		renders:       counter("fairlead_render_total", "Revisions rendered, by result.", "result"),
		renderSeconds: single("fairlead_render_seconds", "Duration of rendering a revision."),
		overlays:      counter("fairlead_render_overlays_total", "Overlays of the revisions rendered, by how: built, or cached because no input changed.", "how"),
		problems:      gauge("fairlead_fleet_problems", "Problems of the newest revision."),

		actions:     counter("fairlead_plan_actions_total", "Actions that plans asked for, by kind.", "action"),
		passes:      counter("fairlead_reconcile_total", "Passes over clusters, by the phase found and the result.", "phase", "result"),
		passSeconds: single("fairlead_reconcile_seconds", "Duration of passes over clusters."),
		calls:       counter("fairlead_provider_calls_total", "Calls of infrastructure providers, by operation and kind of error, \"ok\" for none.", "provider", "operation", "kind"),
		callSeconds: seconds("fairlead_provider_call_seconds", "Duration of calls of infrastructure providers.", "provider", "operation"),

		leader: gauge("fairlead_leader", "1 while this agent may act on the fleet."),
		owner: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "fairlead_owner_epoch", Help: "Epoch of the ownership of the fleet, with the agent that owns it.",
		}, []string{"agent"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_build_info", Help: "The program, always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(
		m.clusters, m.fetches, m.fetchSeconds, m.fetchSuccess,
		m.pushes, m.pushSeconds, m.pushRaces, m.pushLag, m.pushSuccess,
		m.renders, m.renderSeconds, m.overlays, m.problems,
		m.actions, m.passes, m.passSeconds, m.calls, m.callSeconds,
		m.leader, m.owner, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
	})
}

// QueueDepth makes the number of waiting clusters a metric.
func (m *Metrics) QueueDepth(depth func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fairlead_queue_depth", Help: "Clusters that are ready for a pass and wait for a worker.",
	}, func() float64 { return float64(depth()) }))
}

func result(err error) string {
	if err == nil {
		return "ok"
	}
	return string(fleet.KindOf(err))
}

// Fetched counts a request to the source.
func (m *Metrics) Fetched(operation string, err error, took time.Duration) {
	m.fetches.WithLabelValues(operation, result(err)).Inc()
	m.fetchSeconds.WithLabelValues(operation).Observe(took.Seconds())
	if err == nil {
		m.fetchSuccess.SetToCurrentTime()
	}
}

// Rendered counts a rendered revision.
func (m *Metrics) Rendered(err error, took time.Duration) {
	m.renders.WithLabelValues(result(err)).Inc()
	m.renderSeconds.Observe(took.Seconds())
}

// Overlays counts the overlays of a rendered revision.
func (m *Metrics) Overlays(built, cached int) {
	m.overlays.WithLabelValues("built").Add(float64(built))
	m.overlays.WithLabelValues("cached").Add(float64(cached))
}

// Problems says how many problems the newest revision has.
func (m *Metrics) Problems(n int) { m.problems.Set(float64(n)) }

// Passed counts a pass, and shows what it found.
func (m *Metrics) Passed(r fleet.Report, actions []fleet.Action, err error, took time.Duration) {
	m.passes.WithLabelValues(string(r.Phase), result(err)).Inc()
	m.passSeconds.Observe(took.Seconds())
	for _, a := range actions {
		m.actions.WithLabelValues(string(a.Kind)).Inc()
	}
	m.clusters.put(r)
}

// Forget drops the series of a cluster.
func (m *Metrics) Forget(k fleet.Key) { m.clusters.forget(k) }

// Called counts a call of a provider, and the kind of its error, if it had one.
func (m *Metrics) Called(provider, operation string, kind fleet.ErrorKind, took time.Duration) {
	m.calls.WithLabelValues(provider, operation, cmp.Or(string(kind), "ok")).Inc()
	m.callSeconds.WithLabelValues(provider, operation).Observe(took.Seconds())
}

// Owner says who owns the fleet, where it is this agent; a zero owner that it
// does not.
func (m *Metrics) Owner(o fleet.Owner) {
	m.owner.Reset()
	if o.Agent == "" {
		m.leader.Set(0)
		return
	}
	m.leader.Set(1)
	m.owner.WithLabelValues(o.Agent).Set(float64(o.Epoch))
}

// Pushed counts a commit to the status branch, or the failure of one. Lag is
// the age of the oldest report in it.
func (m *Metrics) Pushed(err error, took, lag time.Duration) {
	m.pushes.WithLabelValues(result(err)).Inc()
	if err == nil {
		m.pushSeconds.Observe(took.Seconds())
		m.pushLag.Observe(lag.Seconds())
		m.pushSuccess.SetToCurrentTime()
	}
}

// Raced counts a commit to the status branch that lost against another.
func (m *Metrics) Raced() { m.pushRaces.Inc() }

func port(p int32) string {
	if p == 0 {
		return ""
	}
	return strconv.Itoa(int(p))
}
