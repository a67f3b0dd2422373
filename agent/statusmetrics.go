package agent

import "github.com/prometheus/client_golang/prometheus"

// statusMetrics are what the status branch takes.
type statusMetrics struct {
	content prometheus.Gauge
	most    prometheus.Gauge
	pushed  prometheus.Counter
	history *prometheus.GaugeVec
}

func newStatusMetrics() statusMetrics {
	return statusMetrics{
		content: gauge("fairlead_status_branch_bytes", "Bytes of the files on the status branch of a Git repository, in its newest commit. What the server keeps of older ones only the server knows."),
		most:    gauge("fairlead_status_branch_limit_bytes", "Bytes of files on the status branch that the agent would read at most, an eighth of the memory that it may take."),
		pushed:  counter("fairlead_status_pushed_bytes_total", "Bytes that were pushed to the status branch of a Git repository, compressed as they were sent."),
		history: gauges("fairlead_status_history_commits", "Commits of the status branch, from its newest to where it began or was compacted last, where fleet.yaml bounds its history."),
	}
}

// StatusBranch shows how many bytes the files of the status branch have, how many they
// may have, and counts those of a push.
func (m *Metrics) StatusBranch(content, most, pushed int64) {
	m.status.content.Set(float64(content))
	m.status.most.Set(float64(most))
	m.status.pushed.Add(float64(pushed))
}

// StatusHistory shows how many commits the history of the status branch has.
func (m *Metrics) StatusHistory(commits int) {
	m.status.history.WithLabelValues().Set(float64(commits))
}
