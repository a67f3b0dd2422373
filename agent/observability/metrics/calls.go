package metrics

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fleet"
)

// callMetrics are about calls of providers, and the requests that these send.
type callMetrics struct {
	calls          *prometheus.CounterVec
	seconds        *prometheus.HistogramVec
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
}

func newCallMetrics() callMetrics {
	return callMetrics{
		calls:          counters("fairlead_provider_calls_total", "Calls of infrastructure providers, by operation and kind of error (\"ok\": none).", "provider", "operation", "kind"),
		seconds:        histograms("fairlead_provider_call_seconds", "Duration of calls of infrastructure providers.", "provider", "operation"),
		requests:       counters("fairlead_provider_requests_total", "Requests of infrastructure providers to their cloud, by service, method and status code (\"none\": no answer).", "provider", "service", "method", "code"),
		requestSeconds: histograms("fairlead_provider_request_seconds", "Duration of requests of infrastructure providers to their cloud.", "provider", "service"),
	}
}

func (c *callMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.calls, c.seconds, c.requests, c.requestSeconds}
}

// Called counts a call of a provider, and the kind of its error, if it had one.
func (m *Metrics) Called(ctx context.Context, provider, operation string, kind fleet.ErrorKind, took time.Duration) {
	m.calls.calls.WithLabelValues(provider, operation, cmp.Or(string(kind), "ok")).Inc()
	m.observe(ctx, m.calls.seconds.WithLabelValues(provider, operation), took)
}

// Requested counts a request of a provider to its cloud. Status 0 says that there was no
// answer.
func (m *Metrics) Requested(provider, service, method string, status int, took time.Duration) {
	code := "none"
	if status != 0 {
		code = strconv.Itoa(status)
	}
	m.calls.requests.WithLabelValues(provider, service, method, code).Inc()
	m.calls.requestSeconds.WithLabelValues(provider, service).Observe(took.Seconds())
}

// Webhooks adds calls of forges to the metrics, and returns what counts them: kind is one
// of webhook.Kinds or "none", result one of a few words.
func (m *Metrics) Webhooks() func(kind, result string) {
	calls := counters("fairlead_webhook_requests_total", "Calls of webhooks, by kind of forge (\"none\" if there is no such webhook) and result.", "kind", "result")
	m.Register(calls)
	return func(kind, result string) { calls.WithLabelValues(kind, result).Inc() }
}
