package metrics

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"fairlead.dev/fleet"
)

// Metrics are all numbers of one agent, on a registry of their own. They are safe for
// concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time
	traceID  atomic.Pointer[func(ctx context.Context) string] // nil: no exemplars

	clusters      *clusterStates
	everything    atomic.Bool  // all clusters have series of their own
	resync        atomic.Int64 // time.Duration between reconciliations of a cluster without changes; 0: not known
	source        sourceMetrics
	status        statusMetrics
	fleet         fleetMetrics
	passes        passMetrics
	calls         callMetrics
	queue         queueMetrics
	owner         ownerMetrics
	escrow        escrowMetrics
	notifications notificationMetrics
	pullRequests  pullRequestMetrics
}

// New returns the metrics of a program of that version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), now: time.Now,
		clusters: newClusterStates(), source: newSourceMetrics(), status: newStatusMetrics(), fleet: newFleetMetrics(),
		passes: newPassMetrics(), calls: newCallMetrics(), queue: newQueueMetrics(), owner: newOwnerMetrics(), escrow: newEscrowMetrics(), notifications: newNotificationMetrics(),
		pullRequests: newPullRequestMetrics(),
	}
	build := gauges("fairlead_build_info", "The program, always 1.", "version", "go_version")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.Register(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, group := range []interface{ collectors() []prometheus.Collector }{
		&m.source, &m.status, &m.fleet, &m.passes, &m.calls, &m.queue, &m.owner, &m.escrow, &m.notifications, &m.pullRequests,
	} {
		m.Register(group.collectors()...)
	}
	return m
}

// Register adds the collectors of another room of the agent.
func (m *Metrics) Register(c ...prometheus.Collector) { m.registry.MustRegister(c...) }

// SetExemplars makes each histogram name a trace beside what it counts: traceID returns
// the trace that ctx is part of, or nothing.
func (m *Metrics) SetExemplars(traceID func(ctx context.Context) string) { m.traceID.Store(&traceID) }

// observe counts d, with the trace that ctx is part of.
func (m *Metrics) observe(ctx context.Context, o prometheus.Observer, d time.Duration) {
	if traceID := m.traceID.Load(); traceID != nil {
		if id := (*traceID)(ctx); id != "" {
			if e, ok := o.(prometheus.ExemplarObserver); ok {
				e.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": id})
				return
			}
		}
	}
	o.Observe(d.Seconds())
}

// stamp sets g to the time of now.
func (m *Metrics) stamp(g prometheus.Gauge) { g.Set(seconds(m.now())) }

// result is the label for how something ended.
func result(err error) string {
	if err == nil {
		return "ok"
	}
	return string(fleet.KindOf(err))
}

// seconds returns t as Prometheus has times: seconds since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
