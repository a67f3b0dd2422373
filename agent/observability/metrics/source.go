package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sourceMetrics are about the way of a revision from the source through the renderer.
type sourceMetrics struct {
	fetches      *prometheus.CounterVec
	fetchSeconds *prometheus.HistogramVec
	fetchSuccess prometheus.Gauge

	renders       *prometheus.CounterVec
	renderSeconds prometheus.Histogram
	overlays      *prometheus.CounterVec
}

func newSourceMetrics() sourceMetrics {
	return sourceMetrics{
		fetches:      counters("fairlead_git_fetch_total", "Requests to the source, and for pinned sources, by operation (resolve, fetch, pinned) and result.", "operation", "result"),
		fetchSeconds: histograms("fairlead_git_fetch_seconds", "Duration of requests to the source.", "operation"),
		fetchSuccess: gauge("fairlead_git_fetch_last_success_timestamp_seconds", "When the last request to the source succeeded."),

		renders:       counters("fairlead_render_total", "Rendered revisions, by result.", "result"),
		renderSeconds: histogram("fairlead_render_seconds", "Duration of rendering a revision."),
		overlays:      counters("fairlead_render_overlays_total", "Rendered overlays, by how: built, or cached because no input changed.", "how"),
	}
}

func (s *sourceMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.fetches, s.fetchSeconds, s.fetchSuccess, s.renders, s.renderSeconds, s.overlays}
}

// Fetched counts a request to the source.
func (m *Metrics) Fetched(ctx context.Context, operation string, err error, took time.Duration) {
	m.source.fetches.WithLabelValues(operation, result(err)).Inc()
	m.observe(ctx, m.source.fetchSeconds.WithLabelValues(operation), took)
	if err == nil {
		m.stamp(m.source.fetchSuccess)
	}
}

// Pinned counts an attempt to get a pinned source.
func (m *Metrics) Pinned(err error, took time.Duration) {
	m.source.fetches.WithLabelValues("pinned", result(err)).Inc()
	m.observe(context.Background(), m.source.fetchSeconds.WithLabelValues("pinned"), took)
}

// Rendered counts a rendered revision.
func (m *Metrics) Rendered(ctx context.Context, err error, took time.Duration) {
	m.source.renders.WithLabelValues(result(err)).Inc()
	m.observe(ctx, m.source.renderSeconds, took)
}

// Overlays counts the overlays of a rendered revision.
func (m *Metrics) Overlays(built, cached int) {
	m.source.overlays.WithLabelValues("built").Add(float64(built))
	m.source.overlays.WithLabelValues("cached").Add(float64(cached))
}
