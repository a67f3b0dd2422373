package agent

import "github.com/prometheus/client_golang/prometheus"

// statusMetrics are what the status branch takes. The gauges are there once it was read
// by an agent that owns the fleet, or waits for it.
type statusMetrics struct {
	content *prometheus.GaugeVec
	most    *prometheus.GaugeVec
	pushed  prometheus.Counter
	history *prometheus.GaugeVec
}

func newStatusMetrics() statusMetrics {
	return statusMetrics{
		content: gauges("fairlead_status_branch_bytes", "Bytes of the files on the status branch of a Git repository, in its newest commit. What the server keeps of older ones only the server knows."),
		most:    gauges("fairlead_status_branch_limit_bytes", "Bytes of files on the status branch that the agent would read at most, an eighth of the memory that it may take."),
		pushed:  counter("fairlead_status_pushed_bytes_total", "Bytes that were pushed to the status branch of a Git repository, compressed as they were sent."),
		history: gauges("fairlead_status_history_commits", "Commits of the status branch, from its newest to where it began or was compacted last, where fleet.yaml bounds its history."),
	}
}

// StatusBranch shows how many bytes the files of the status branch have, how many they
// may have, and counts those of a push.
func (m *Metrics) StatusBranch(content, most, pushed int64) {
	m.status.content.WithLabelValues().Set(float64(content))
	m.status.most.WithLabelValues().Set(float64(most))
	m.status.pushed.Add(float64(pushed))
}

// StatusHistory shows how many commits the history of the status branch has.
func (m *Metrics) StatusHistory(commits int) {
	m.status.history.WithLabelValues().Set(float64(commits))
}

// reset takes back what was shown of a branch that is another agent's.
func (s statusMetrics) reset() {
	s.content.Reset()
	s.most.Reset()
	s.history.Reset()
}
