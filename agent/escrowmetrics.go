package agent

import "github.com/prometheus/client_golang/prometheus"

// escrowMetrics are what the escrow tells of itself. The gauges are there as
// long as there is an escrow: none is not one that is well.
type escrowMetrics struct {
	looks   *prometheus.CounterVec
	behind  *prometheus.GaugeVec
	success *prometheus.GaugeVec
}

func newEscrowMetrics() escrowMetrics {
	return escrowMetrics{
		looks:   counters("fairlead_escrow_total", "Times that the escrow was brought up to date, by result.", "result"),
		behind:  gauges("fairlead_escrow_clusters_behind", "Clusters of which escrow has not the newest authorities and kubeconfigs."),
		success: gauges("fairlead_escrow_last_success_timestamp_seconds", "When everything was last known to be in escrow."),
	}
}

// Escrowed counts a look at the escrow: the clusters whose secrets are not in
// it as they are, and what went wrong.
func (m *Metrics) Escrowed(behind int, err error) {
	m.escrow.looks.WithLabelValues(result(err)).Inc()
	m.escrow.behind.WithLabelValues().Set(float64(behind))
	if err == nil {
		m.stamp(m.escrow.success.WithLabelValues())
	}
}

// Unescrowed says that there is no escrow, or that it is another agent's.
func (m *Metrics) Unescrowed() {
	m.escrow.behind.Reset()
	m.escrow.success.Reset()
}
