package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// statusMetrics are about the status branch. The gauges of its size are there once an
// agent that owns the fleet, or waits for it, has read the branch.
type statusMetrics struct {
	pushes      *prometheus.CounterVec
	pushSeconds prometheus.Histogram
	pushRaces   prometheus.Counter
	pushLag     prometheus.Histogram
	pushSuccess prometheus.Gauge
	pushFailing prometheus.Gauge

	content *prometheus.GaugeVec
	most    *prometheus.GaugeVec
	pushed  prometheus.Counter
	history *prometheus.GaugeVec
}

func newStatusMetrics() statusMetrics {
	return statusMetrics{
		pushes:      counters("fairlead_status_push_total", "Pushes of the status branch: result \"ok\" for each that succeeded, and the kind of error each time that pushes began to fail.", "result"),
		pushSeconds: histogram("fairlead_status_push_seconds", "Duration of pushes of the status branch."),
		pushRaces:   counter("fairlead_status_push_races_total", "Pushes of the status branch that lost a race and were repeated."),
		pushLag:     histogram("fairlead_status_lag_seconds", "Time from the first report in a status commit to its push."),
		pushSuccess: gauge("fairlead_status_push_last_success_timestamp_seconds", "When the status branch was last pushed."),
		pushFailing: gauge("fairlead_status_failing", "1 while the status branch cannot be written, or the fleet cannot be claimed there."),

		content: gauges("fairlead_status_branch_bytes", "Bytes of the files in the newest commit of the status branch, without the history that the server keeps."),
		most:    gauges("fairlead_status_branch_limit_bytes", "Maximum bytes of files that the agent reads from the status branch: an eighth of its memory limit."),
		pushed:  counter("fairlead_status_pushed_bytes_total", "Compressed bytes pushed to the status branch."),
		history: gauges("fairlead_status_history_commits", "Commits of the status branch since it was created or last compacted. Present if fleet.yaml limits its history."),
	}
}

func (s *statusMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		s.pushes, s.pushSeconds, s.pushRaces, s.pushLag, s.pushSuccess, s.pushFailing, s.content, s.most, s.pushed, s.history,
	}
}

// reset removes what was shown of a branch that another agent writes now.
func (s *statusMetrics) reset() {
	s.pushFailing.Set(0)
	s.content.Reset()
	s.most.Reset()
	s.history.Reset()
}

// Pushed counts a commit to the status branch. Lag is the age of the oldest report in it.
func (m *Metrics) Pushed(took, lag time.Duration) {
	m.status.pushes.WithLabelValues("ok").Inc()
	m.status.pushSeconds.Observe(took.Seconds())
	m.status.pushLag.Observe(lag.Seconds())
	m.stamp(m.status.pushSuccess)
}

// SetPushError says why the status branch cannot be written; nil: it can.
func (m *Metrics) SetPushError(err error) {
	m.status.pushFailing.Set(number(err != nil))
	if err != nil {
		m.status.pushes.WithLabelValues(result(err)).Inc()
	}
}

// PushRace counts a commit to the status branch that lost against another.
func (m *Metrics) PushRace() { m.status.pushRaces.Inc() }

// StatusBranch shows how many bytes the files of the status branch have and may have, and
// counts the bytes of a push.
func (m *Metrics) StatusBranch(content, most, pushed int64) {
	m.status.content.WithLabelValues().Set(float64(content))
	m.status.most.WithLabelValues().Set(float64(most))
	m.status.pushed.Add(float64(pushed))
}

// SetStatusHistory shows how many commits the history of the status branch has.
func (m *Metrics) SetStatusHistory(commits int) {
	m.status.history.WithLabelValues().Set(float64(commits))
}
