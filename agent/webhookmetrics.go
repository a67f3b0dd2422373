package agent

import "github.com/prometheus/client_golang/prometheus"

// Webhooks makes calls of forges a metric, and returns what counts them: kind is
// one of webhook.Kinds or "none", result one of a few words.
func (m *Metrics) Webhooks() func(kind, result string) {
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fairlead_webhook_requests_total", Help: "Calls of webhooks, by kind of forge (\"none\" where there is no such webhook) and result.",
	}, []string{"kind", "result"})
	m.registry.MustRegister(calls)
	return func(kind, result string) { calls.WithLabelValues(kind, result).Inc() }
}
