package replicas

import "github.com/prometheus/client_golang/prometheus"

// Metrics are what a replica tells of its shards.
type Metrics struct {
	held      prometheus.Gauge
	takeovers *prometheus.CounterVec
	lost      prometheus.Counter
}

// NewMetrics returns metrics, to be registered with Collectors.
func NewMetrics() *Metrics {
	return &Metrics{
		held: prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_shards_held", Help: "Shards of the fleet whose clusters this replica works on."}),
		takeovers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_shard_takeovers_total", Help: "Shards that this replica took: free ones, and those of replicas that were silent.",
		}, []string{"from"}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{Name: "fairlead_sessions_lost_total", Help: "Times that this replica gave up its shards because it could not renew its session in time."}),
	}
}

// Collectors returns what is to be registered.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.held, m.takeovers, m.lost}
}

// Observer returns what counts.
func (m *Metrics) Observer() Observer {
	return Observer{
		Held: func(n int) { m.held.Set(float64(n)) },
		Taken: func(dead bool) {
			from := "free"
			if dead {
				from = "silent"
			}
			m.takeovers.WithLabelValues(from).Inc()
		},
		Ended: m.lost.Inc,
	}
}
