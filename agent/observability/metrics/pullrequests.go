package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pullRequestMetrics are about what people propose.
type pullRequestMetrics struct {
	polls       *prometheus.CounterVec
	plans       *prometheus.CounterVec
	planSeconds prometheus.Histogram
}

func newPullRequestMetrics() pullRequestMetrics {
	return pullRequestMetrics{
		polls:       counters("fairlead_pull_request_polls_total", "Polls of the open pull requests, by result.", "result"),
		plans:       counters("fairlead_pull_request_plans_total", "Plans of pull requests, by verdict: success, failure, error.", "verdict"),
		planSeconds: histogram("fairlead_pull_request_plan_seconds", "Duration of planning a pull request."),
	}
}

func (p *pullRequestMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.polls, p.plans, p.planSeconds}
}

// ForgePolled counts a look at the open pull requests.
func (m *Metrics) ForgePolled(err error) { m.pullRequests.polls.WithLabelValues(result(err)).Inc() }

// Planned counts a plan of a pull request.
func (m *Metrics) Planned(verdict string, took time.Duration) {
	m.pullRequests.plans.WithLabelValues(verdict).Inc()
	m.observe(context.Background(), m.pullRequests.planSeconds, took)
}
