package metrics

import "github.com/prometheus/client_golang/prometheus"

// escrowMetrics are about the escrow. The gauges are there as long as there is an escrow:
// no escrow is not an escrow that is up to date.
type escrowMetrics struct {
	checks  *prometheus.CounterVec
	behind  *prometheus.GaugeVec
	success *prometheus.GaugeVec
}

func newEscrowMetrics() escrowMetrics {
	return escrowMetrics{
		checks:  counters("fairlead_escrow_total", "Updates of the escrow, by result.", "result"),
		behind:  gauges("fairlead_escrow_clusters_behind", "Clusters whose newest CA certificates and kubeconfigs are not in escrow."),
		success: gauges("fairlead_escrow_last_success_timestamp_seconds", "When the escrow was last known to be complete."),
	}
}

func (e *escrowMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{e.checks, e.behind, e.success}
}

// EscrowKept counts an attempt to bring the escrow up to date: behind are the clusters
// whose present secrets it does not have, err says why.
func (m *Metrics) EscrowKept(behind int, err error) {
	m.escrow.checks.WithLabelValues(result(err)).Inc()
	m.escrow.behind.WithLabelValues().Set(float64(behind))
	if err == nil {
		m.stamp(m.escrow.success.WithLabelValues())
	}
}

// ResetEscrow says that there is no escrow, or that another agent keeps it.
func (m *Metrics) ResetEscrow() {
	m.escrow.behind.Reset()
	m.escrow.success.Reset()
}
