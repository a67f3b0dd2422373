package agent

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Escrowed counts a look at the escrow: the clusters whose secrets are not in
// it as they are, and what went wrong. Its series begin with the first.
func (m *Metrics) Escrowed(behind int, err error) {
	looks := registered(m, counters("fairlead_escrow_total", "Times that the escrow was brought up to date, by result.", "result"))
	looks.WithLabelValues(result(err)).Inc()
	registered(m, gauge("fairlead_escrow_clusters_behind", "Clusters of which escrow has not the newest authorities and kubeconfigs.")).Set(float64(behind))
	success := registered(m, gauge("fairlead_escrow_last_success_timestamp_seconds", "When everything was last known to be in escrow."))
	if err == nil {
		success.Set(float64(m.now().UnixNano()) / 1e9)
	}
}

// registered registers c, and returns what is registered: c, or what was before.
func registered[C prometheus.Collector](m *Metrics, c C) C {
	if e, ok := errors.AsType[prometheus.AlreadyRegisteredError](m.registry.Register(c)); ok {
		if old, ok := e.ExistingCollector.(C); ok {
			return old
		}
	}
	return c
}
