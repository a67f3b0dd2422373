package agent

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the numbers that an agent shows, on a registry of its own.
// docs/metrics.md lists them all.
//
// The number of series is bounded by what the fleet holds: so many for each
// cluster, pool and machine. URLs and revisions are on *_info alone, of which
// there is one for each object.
type Metrics struct {
	registry *prometheus.Registry
	clusters *clusterCollector
	now      func() time.Time
	// traceID, where it is not nil, returns the trace that ctx is part of, which
	// becomes an exemplar; empty for none.
	traceID func(ctx context.Context) string

	fetches      *prometheus.CounterVec
	fetchSeconds *prometheus.HistogramVec
	fetchSuccess prometheus.Gauge

	pushes      *prometheus.CounterVec
	pushSeconds prometheus.Histogram
	pushRaces   prometheus.Counter
	pushLag     prometheus.Histogram
	pushSuccess prometheus.Gauge
	pushFailing prometheus.Gauge
	status      statusMetrics

	renders       *prometheus.CounterVec
	renderSeconds prometheus.Histogram
	overlays      *prometheus.CounterVec

	fleet        *prometheus.GaugeVec
	fleetHeld    prometheus.Gauge
	problems     prometheus.Gauge
	orphans      prometheus.Gauge
	blocked      prometheus.Gauge
	refused      prometheus.Gauge
	fleetSuccess prometheus.Gauge

	actions        *prometheus.CounterVec
	passes         *prometheus.CounterVec
	passSeconds    prometheus.Histogram
	phaseSeconds   *prometheus.HistogramVec
	joinSeconds    *prometheus.HistogramVec
	calls          *prometheus.CounterVec
	callSeconds    *prometheus.HistogramVec
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	queue          queueMetrics
	workers        prometheus.Gauge

	leader  prometheus.Gauge
	standby prometheus.Gauge
	owner   *prometheus.GaugeVec
	escrow  escrowMetrics

	source     string // of fleet_info
	queueDepth atomic.Pointer[func() int]
}

// NewMetrics returns metrics of a program of that version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), clusters: newClusterCollector(), now: time.Now,

		fetches:      counters("fairlead_git_fetch_total", "Requests to the source, and for pinned sources, by operation (resolve, fetch, pinned) and result.", "operation", "result"),
		fetchSeconds: histograms("fairlead_git_fetch_seconds", "Duration of requests to the source.", "operation"),
		fetchSuccess: gauge("fairlead_git_fetch_last_success_timestamp_seconds", "When the source last answered."),

		pushes:      counters("fairlead_status_push_total", "Commits to the status branch that landed, by result \"ok\", and the times that writing began to fail, by kind of error.", "result"),
		pushSeconds: histogram("fairlead_status_push_seconds", "Duration of commits to the status branch."),
		pushRaces:   counter("fairlead_status_push_races_total", "Commits to the status branch that lost against another one and were made again."),
		pushLag:     histogram("fairlead_status_lag_seconds", "From the first report in a status commit until it landed."),
		pushSuccess: gauge("fairlead_status_push_last_success_timestamp_seconds", "When the status branch was last written."),
		pushFailing: gauge("fairlead_status_failing", "1 while status cannot be written."),
		status:      newStatusMetrics(),

		renders:       counters("fairlead_render_total", "Revisions rendered, by result.", "result"),
		renderSeconds: histogram("fairlead_render_seconds", "Duration of rendering a revision."),
		overlays:      counters("fairlead_render_overlays_total", "Overlays of the revisions rendered, by how: built, or cached because no input changed.", "how"),

		fleet:        gauges("fairlead_fleet_info", "The fleet and the newest revision seen of it, always 1.", "fleet", "source", "ref", "revision"),
		fleetHeld:    gauge("fairlead_fleet_clusters", "Clusters that the agent knows."),
		problems:     gauge("fairlead_fleet_problems", "Problems of the newest revision."),
		orphans:      gauge("fairlead_fleet_orphans", "Clusters that are not in Git and are left alone."),
		blocked:      gauge("fairlead_fleet_deletes_blocked", "Clusters that vanished from Git while prune is on, and are not deleted: too many at once, or protected."),
		refused:      gauge("fairlead_fleet_revision_refused", "1 while the newest revision cannot be used at all."),
		fleetSuccess: gauge("fairlead_fleet_last_success_timestamp_seconds", "When the agent last began to hold to a new revision."),

		actions:        counters("fairlead_plan_actions_total", "Actions that plans asked for, by kind.", "action"),
		passes:         counters("fairlead_reconcile_total", "Passes over clusters, by the phase found and the result.", "phase", "result"),
		passSeconds:    histogram("fairlead_reconcile_seconds", "Duration of passes over clusters."),
		phaseSeconds:   lifetimes("fairlead_cluster_phase_seconds", "How long clusters that are made anew take for each phase; Provisioned: for all of them.", "phase"),
		joinSeconds:    lifetimes("fairlead_machine_join_seconds", "From the creation of machines until they have their Node, by role.", "role"),
		calls:          counters("fairlead_provider_calls_total", "Calls of infrastructure providers, by operation and kind of error, \"ok\" for none.", "provider", "operation", "kind"),
		callSeconds:    histograms("fairlead_provider_call_seconds", "Duration of calls of infrastructure providers.", "provider", "operation"),
		requests:       counters("fairlead_provider_requests_total", "Requests that infrastructure providers sent to their cloud, by its service, the method and the status code, \"none\" without an answer.", "provider", "service", "method", "code"),
		requestSeconds: histograms("fairlead_provider_request_seconds", "Duration of requests of infrastructure providers to their cloud.", "provider", "service"),
		queue:          newQueueMetrics(),
		workers:        gauge("fairlead_workers", "Clusters that may be worked on at once."),

		leader:  gauge("fairlead_leader", "1 while this agent may act on the fleet."),
		standby: gauge("fairlead_standby", "1 while another agent owns the fleet and this one waits for it."),
		owner:   gauges("fairlead_owner_epoch", "Epoch of the ownership of the fleet, with the agent that owns it.", "agent"),
		escrow:  newEscrowMetrics(),
	}
	build := gauges("fairlead_build_info", "The program, always 1.", "version", "go_version")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_queue_depth", Help: "Clusters that are ready for a pass and wait for a worker.",
		}, func() float64 {
			if depth := m.queueDepth.Load(); depth != nil {
				return float64((*depth)())
			}
			return 0
		}),
		m.clusters, m.fetches, m.fetchSeconds, m.fetchSuccess,
		m.pushes, m.pushSeconds, m.pushRaces, m.pushLag, m.pushSuccess, m.pushFailing,
		m.status.content, m.status.most, m.status.pushed, m.status.history,
		m.renders, m.renderSeconds, m.overlays,
		m.fleet, m.fleetHeld, m.problems, m.orphans, m.blocked, m.refused, m.fleetSuccess,
		m.actions, m.passes, m.passSeconds, m.phaseSeconds, m.joinSeconds, m.calls, m.callSeconds, m.requests, m.requestSeconds,
		m.queue.wait, m.queue.unfinished, m.queue.longest, m.workers,
		m.leader, m.standby, m.owner, m.escrow.looks, m.escrow.behind, m.escrow.success, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Register adds what another part of the agent counts.
func (m *Metrics) Register(c ...prometheus.Collector) { m.registry.MustRegister(c...) }

// Exemplars makes histograms name a trace with what they count: traceID returns
// the one that ctx is part of, or nothing. It is to be called before anything
// is counted.
func (m *Metrics) Exemplars(traceID func(ctx context.Context) string) { m.traceID = traceID }

// Handler serves the metrics.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		EnableOpenMetrics: m.traceID != nil, // the only format with exemplars
	})
}

// QueueDepth says how to count the clusters that wait. A later call replaces an
// earlier one.
func (m *Metrics) QueueDepth(depth func() int) {
	m.queueDepth.Store(&depth)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets()})
}

// lifetimes are histograms of what takes minutes.
func lifetimes(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: []float64{15, 30, 60, 120, 180, 300, 450, 600, 900, 1800, 3600},
	}, labels)
}

func histograms(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets()}, labels)
}

// buckets go from 1 ms to 262 s.
func buckets() []float64 { return prometheus.ExponentialBuckets(0.001, 4, 10) }
