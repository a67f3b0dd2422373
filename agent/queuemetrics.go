package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are what the work queue tells of itself.
type queueMetrics struct {
	wait                prometheus.Histogram
	unfinished, longest prometheus.Gauge
}

var _ workqueue.MetricsProvider = queueMetrics{}

func newQueueMetrics() queueMetrics {
	return queueMetrics{
		wait:       histogram("fairlead_queue_wait_seconds", "From a cluster being ready for a pass until a worker took it."),
		unfinished: gauge("fairlead_queue_unfinished_seconds", "How long the passes under way have lasted, added up."),
		longest:    gauge("fairlead_queue_longest_pass_seconds", "How long the longest pass under way has lasted."),
	}
}

// Queue takes the metrics of the agent's work queue.
func (m *Metrics) Queue() workqueue.MetricsProvider { return m.queue }

// NewLatencyMetric implements workqueue.MetricsProvider.
func (q queueMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return q.wait }

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (q queueMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return q.unfinished
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (q queueMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return q.longest
}

// The other metrics have another source: the queue's length, and passes.

// NewDepthMetric implements workqueue.MetricsProvider.
func (queueMetrics) NewDepthMetric(string) workqueue.GaugeMetric { return unused{} }

// NewAddsMetric implements workqueue.MetricsProvider.
func (queueMetrics) NewAddsMetric(string) workqueue.CounterMetric { return unused{} }

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (queueMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return unused{} }

// NewRetriesMetric implements workqueue.MetricsProvider.
func (queueMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return unused{} }

type unused struct{}

func (unused) Inc()            {}
func (unused) Dec()            {}
func (unused) Observe(float64) {}
