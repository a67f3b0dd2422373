package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
)

// passMetrics are about passes over clusters, and what came of them.
type passMetrics struct {
	actions *prometheus.CounterVec
	passes  *prometheus.CounterVec
	seconds prometheus.Histogram
	phases  *prometheus.HistogramVec
	joins   *prometheus.HistogramVec
}

func newPassMetrics() passMetrics {
	return passMetrics{
		actions: counters("fairlead_plan_actions_total", "Planned actions, by kind.", "action"),
		passes:  counters("fairlead_reconcile_total", "Reconciliations, by observed phase and result.", "phase", "result"),
		seconds: histogram("fairlead_reconcile_seconds", "Duration of reconciliations."),
		phases:  lifetimes("fairlead_cluster_phase_seconds", "Duration of each phase of a new cluster; Provisioned: of all phases.", "phase"),
		joins:   lifetimes("fairlead_machine_join_seconds", "Time from the creation of a machine to its Node, by role.", "role"),
	}
}

func (p *passMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{p.actions, p.passes, p.seconds, p.phases, p.joins}
}

// Passed counts a pass that found the cluster in that phase, and planned those actions.
func (m *Metrics) Passed(ctx context.Context, phase fleet.Phase, actions []fleet.Action, err error, took time.Duration) {
	m.passes.passes.WithLabelValues(string(phase), result(err)).Inc()
	m.observe(ctx, m.passes.seconds, took)
	for _, a := range actions {
		m.passes.actions.WithLabelValues(a.Name()).Inc()
	}
}

// Changed takes in a change of a store of reports: it shows what a pass found, and forgets
// what is gone.
func (m *Metrics) Changed(c reports.Change) {
	switch {
	case c.Gone:
		m.clusters.forget(c.Cluster)
	case c.Pass != nil:
		if old, known := m.clusters.put(c.Report, *c.Pass, m.now()); known {
			m.observeProgress(old, c.Report)
		}
	}
}

// observeProgress counts how long each thing took that ended between two reports of a
// cluster.
func (m *Metrics) observeProgress(old, now fleet.Report) {
	for _, l := range now.Milestones.PhaseDurations()[min(len(old.Milestones.PhaseDurations()), len(now.Milestones.PhaseDurations())):] {
		m.passes.phases.WithLabelValues(string(l.Phase)).Observe(l.Took.Seconds())
	}
	was := make(map[fleet.MachineName]bool, len(old.Machines))
	for _, o := range old.Machines {
		was[o.Machine.Name] = o.Joined.IsZero() && !was[o.Machine.Name]
	}
	for _, n := range now.Machines {
		if took := n.Joined.Sub(n.Machine.Created); was[n.Machine.Name] && !n.Joined.IsZero() && !n.Machine.Created.IsZero() && took >= 0 {
			m.passes.joins.WithLabelValues(string(n.Machine.Role)).Observe(took.Seconds())
		}
	}
}
