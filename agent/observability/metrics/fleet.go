package metrics

import (
	"net/url"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// fleetMetrics are about the fleet as a whole.
type fleetMetrics struct {
	source *atomic.Pointer[string] // label of info

	info     *prometheus.GaugeVec
	clusters prometheus.Gauge
	problems prometheus.Gauge
	orphans  prometheus.Gauge
	blocked  prometheus.Gauge
	refused  prometheus.Gauge
	success  prometheus.Gauge

	stages      *prometheus.GaugeVec
	stageStates *prometheus.GaugeVec
	stageSince  *prometheus.GaugeVec
}

func newFleetMetrics() fleetMetrics {
	return fleetMetrics{
		source:   &atomic.Pointer[string]{},
		info:     gauges("fairlead_fleet_info", "The fleet and the newest revision seen of it, always 1.", "fleet", "source", "ref", "revision"),
		clusters: gauge("fairlead_fleet_clusters", "Clusters that the agent knows."),
		problems: gauge("fairlead_fleet_problems", "Problems of the newest revision."),
		orphans:  gauge("fairlead_fleet_orphans", "Clusters that are not in Git and are not managed."),
		blocked:  gauge("fairlead_fleet_deletes_blocked", "Clusters removed from Git while prune is on that are not deleted: too many at once, or protected."),
		refused:  gauge("fairlead_fleet_revision_refused", "1 while the newest revision is refused."),
		success:  gauge("fairlead_fleet_last_success_timestamp_seconds", "When the agent last applied a new revision."),

		stages:      gauges("fairlead_rollout_clusters", "Clusters of a stage, by state: changing, waiting, failed, or done.", "stage", "state"),
		stageStates: gauges("fairlead_rollout_stage", "1 for the state of a stage: Done, Changing, Waiting, Soaking, Halted or Approval.", "stage", "state"),
		stageSince:  gauges("fairlead_rollout_since_timestamp_seconds", "When the first cluster of a stage began to wait or to change. Absent if none does.", "stage"),
	}
}

func (f *fleetMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{f.info, f.clusters, f.problems, f.orphans, f.blocked, f.refused, f.success, f.stages, f.stageStates, f.stageSince}
}

// reset removes what was shown of a fleet that another agent owns now.
func (f *fleetMetrics) reset() {
	f.info.Reset()
	f.setRollout(fleet.RolloutStatus{})
	for _, g := range []prometheus.Gauge{f.clusters, f.problems, f.orphans, f.blocked, f.refused} {
		g.Set(0)
	}
}

// SetSource names the source, which fairlead_fleet_info shows without credentials.
func (m *Metrics) SetSource(source string) {
	if u, err := url.Parse(source); err == nil && u.Scheme != "" {
		u.User, u.RawQuery = nil, ""
		source = u.String()
	}
	m.fleet.source.Store(&source)
}

// SetFleet shows the fleet as a whole: clusters are how many the agent knows, blocked how
// many were removed from Git and are not deleted though the fleet prunes.
func (m *Metrics) SetFleet(s sources.FleetStatus, clusters, blocked int) {
	source := ""
	if named := m.fleet.source.Load(); named != nil {
		source = *named
	}
	m.fleet.info.Reset()
	m.fleet.info.WithLabelValues(string(s.Fleet), source, s.Revision.Ref, s.Revision.Digest).Set(1)
	m.fleet.clusters.Set(float64(clusters))
	m.fleet.problems.Set(float64(len(s.Problems)))
	m.fleet.orphans.Set(float64(len(s.Orphans)))
	m.fleet.blocked.Set(float64(blocked))
	m.fleet.setRollout(s.Rollout)
}

// setRollout shows the progress of rollouts.
func (f *fleetMetrics) setRollout(s fleet.RolloutStatus) {
	f.stages.Reset()
	f.stageStates.Reset()
	f.stageSince.Reset()
	for _, st := range s.Stages {
		f.stageStates.WithLabelValues(st.Name, string(st.State)).Set(1)
		for state, n := range map[string]int{
			"changing": st.Changing, "waiting": st.Waiting, "failed": len(st.Failed), "done": st.Clusters - st.Changing - st.Waiting,
		} {
			f.stages.WithLabelValues(st.Name, state).Set(float64(n))
		}
		if !st.Since.IsZero() {
			f.stageSince.WithLabelValues(st.Name).Set(float64(st.Since.Unix()))
		}
	}
}

// SetRefused says whether the newest revision cannot be used at all.
func (m *Metrics) SetRefused(refused bool) {
	m.fleet.refused.Set(number(refused))
	if !refused {
		m.stamp(m.fleet.success)
	}
}

// ownerMetrics are about who owns the fleet.
type ownerMetrics struct {
	leader  prometheus.Gauge
	standby prometheus.Gauge
	epoch   *prometheus.GaugeVec
}

func newOwnerMetrics() ownerMetrics {
	return ownerMetrics{
		leader:  gauge("fairlead_leader", "1 while this agent may act on the fleet."),
		standby: gauge("fairlead_standby", "1 while another agent owns the fleet and this one waits for it."),
		epoch:   gauges("fairlead_owner_epoch", "Epoch of the ownership of the fleet, with the agent that owns it.", "agent"),
	}
}

func (o *ownerMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{o.leader, o.standby, o.epoch}
}

// SetOwner says that this agent owns the fleet as o; with a zero o, that it does not.
// Then all gauges of the fleet and its clusters go: another agent shows them. Counters
// stay, as what this agent did was done.
func (m *Metrics) SetOwner(o fleet.Owner) {
	m.owner.epoch.Reset()
	m.owner.leader.Set(number(o.Agent != ""))
	if o.Agent == "" {
		m.clusters.reset()
		m.fleet.reset()
		m.status.reset()
		m.queue.reset()
		m.ResetEscrow()
		return
	}
	m.owner.standby.Set(0)
	m.owner.epoch.WithLabelValues(o.Agent).Set(float64(o.Epoch))
}

// SetStandby says that another agent owns the fleet, and that this one waits for it.
func (m *Metrics) SetStandby() { m.owner.standby.Set(1) }
