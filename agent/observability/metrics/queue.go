package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are about the work queue and its workers.
type queueMetrics struct {
	queued  *queued
	depth   prometheus.GaugeFunc
	workers prometheus.Gauge
	workqueueMetrics
}

// queued counts the clusters that wait; nil: there is no queue.
type queued struct {
	count atomic.Pointer[func() int]
}

func (q *queued) value() float64 {
	if count := q.count.Load(); count != nil {
		return float64((*count)())
	}
	return 0
}

func newQueueMetrics() queueMetrics {
	q := &queued{}
	return queueMetrics{
		queued: q,
		depth: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fairlead_queue_depth", Help: "Clusters that are due for reconciliation and wait for a worker.",
		}, q.value),
		workers: gauge("fairlead_workers", "Maximum number of clusters that are reconciled at the same time."),
		workqueueMetrics: workqueueMetrics{
			wait:       histogram("fairlead_queue_wait_seconds", "Time that a cluster due for reconciliation waited for a worker."),
			unfinished: gauge("fairlead_queue_unfinished_seconds", "Total duration of the reconciliations in progress."),
			longest:    gauge("fairlead_queue_longest_pass_seconds", "Duration of the longest reconciliation in progress."),
		},
	}
}

func (q *queueMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{q.depth, q.workers, q.wait, q.unfinished, q.longest}
}

// reset removes what was shown of a queue that no agent works on.
func (q *queueMetrics) reset() {
	q.queued.count.Store(nil)
	for _, g := range []prometheus.Gauge{q.workers, q.unfinished, q.longest} {
		g.Set(0)
	}
}

// SetWorkers says how many clusters are worked on at once.
func (m *Metrics) SetWorkers(n int) { m.queue.workers.Set(float64(n)) }

// SetQueue says how to count the clusters that wait. A later call replaces an earlier one.
func (m *Metrics) SetQueue(waiting func() int) { m.queue.queued.count.Store(&waiting) }

// Queue returns what counts for the agent's work queue.
func (m *Metrics) Queue() workqueue.MetricsProvider { return m.queue.workqueueMetrics }

// workqueueMetrics are what a work queue counts itself.
type workqueueMetrics struct {
	wait                prometheus.Histogram
	unfinished, longest prometheus.Gauge
}

var _ workqueue.MetricsProvider = workqueueMetrics{}

// NewLatencyMetric implements workqueue.MetricsProvider.
func (q workqueueMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return q.wait }

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (q workqueueMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return q.unfinished
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (q workqueueMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return q.longest
}

// The other metrics come from elsewhere: the length of the queue, and passes.

// NewDepthMetric implements workqueue.MetricsProvider.
func (workqueueMetrics) NewDepthMetric(string) workqueue.GaugeMetric { return unused{} }

// NewAddsMetric implements workqueue.MetricsProvider.
func (workqueueMetrics) NewAddsMetric(string) workqueue.CounterMetric { return unused{} }

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (workqueueMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return unused{} }

// NewRetriesMetric implements workqueue.MetricsProvider.
func (workqueueMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return unused{} }

type unused struct{}

func (unused) Inc()            {}
func (unused) Dec()            {}
func (unused) Observe(float64) {}
