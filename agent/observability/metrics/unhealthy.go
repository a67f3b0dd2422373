package metrics

import (
	"cmp"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// mostShown is how many unhealthy clusters have series of their own at once: a scrape has a bound
// also where a whole fleet is being created, or out of reach.
const mostShown = 500

// What makes a cluster unhealthy before something fails. Both are wider than what the alerts of
// the chart wait for.
const (
	expiresSoon = 30 * 24 * time.Hour
	mostSkew    = 3
)

// What alerts of the chart wait for.
const (
	expiresNow = 14 * 24 * time.Hour
	stuckAfter = 30 * time.Minute
)

// successIsOld returns the age from which the last success of a cluster is old, of a process that
// reconciles clusters without changes once in resync: a cluster may miss two turns.
func successIsOld(resync time.Duration) time.Duration { return max(time.Hour, 3*resync) }

// unhealthy reports whether somebody may want to look at the cluster: it is on its way to
// somewhere, or something of it is not as it should be.
func (s *clusterState) unhealthy(now time.Time, old time.Duration) bool {
	r := &s.report
	if r.Phase != fleet.PhaseProvisioned || s.pass.Err != nil || len(r.Problems) > 0 || s.pass.Drift > 0 || now.Sub(s.success) > old {
		return true
	}
	return s.expires(now, expiresSoon) || isSkewed(r.Machines) || slices.ContainsFunc(r.Conditions, isBad) ||
		slices.ContainsFunc(r.Pools, func(p fleet.PoolReport) bool { return p.Available < p.Desired || p.Current != p.Desired }) ||
		slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Phase != fleet.MachinePhaseRunning })
}

// The urgencies of a cluster: the lower, the sooner somebody has to act.
const (
	critical = iota // a critical alert is about it
	warning         // another alert may be
	other
)

// urgency returns how urgent s, which is unhealthy, is: by what the alerts of the chart ask for.
func (s *clusterState) urgency(now time.Time) int {
	r := &s.report
	short := func(p fleet.PoolReport) bool { return p.Available < p.Desired }
	failed := func(m fleet.MachineReport) bool { return m.Phase == fleet.MachinePhaseFailed }
	switch {
	case s.expires(now, expiresNow) || s.lostControlPlane():
		return critical
	case s.pass.Err != nil || s.pass.Drift > 0 || isSkewed(r.Machines) || s.stuck(now) ||
		slices.ContainsFunc(r.Machines, failed) || slices.ContainsFunc(r.Pools, short):
		return warning
	}
	return other
}

// lostControlPlane reports whether a control plane that was initialized is not available.
func (s *clusterState) lostControlPlane() bool {
	is := func(condition string) bool {
		return slices.ContainsFunc(s.report.Conditions, func(c fleet.Condition) bool { return c.Type == condition && c.Status == fleet.True })
	}
	gone := s.report.Phase == fleet.PhaseDeleting || s.report.Phase == fleet.PhaseDeleted
	return !gone && is(clusterv1.ClusterControlPlaneInitializedCondition) && !is(clusterv1.ClusterControlPlaneAvailableCondition)
}

// stuck reports whether the cluster is being changed and makes no progress.
func (s *clusterState) stuck(now time.Time) bool {
	rests := s.report.Phase == fleet.PhaseProvisioned || s.report.Phase == fleet.PhaseDeleted
	return !rests && !s.paused() && now.Sub(s.progress) > stuckAfter
}

// expires reports whether a certificate of the cluster expires in less than within.
func (s *clusterState) expires(now time.Time, within time.Duration) bool {
	for _, t := range s.pass.NotAfter {
		if !t.IsZero() && t.Sub(now) < within {
			return true
		}
	}
	return false
}

// isSkewed reports whether the oldest kubelet is as old as Kubernetes allows, or older.
func isSkewed(machines []fleet.MachineReport) bool {
	n, ok := skew(machines)
	return ok && n >= mostSkew
}

// isBad reports whether a condition of a cluster says that something is not as it should be.
func isBad(c fleet.Condition) bool {
	switch c.Type {
	case clusterv1.ClusterAvailableCondition, clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.ClusterWorkersAvailableCondition,
		clusterv1.ClusterInfrastructureReadyCondition, clusterv1.ClusterControlPlaneMachinesReadyCondition, clusterv1.ClusterWorkerMachinesReadyCondition:
		return c.Status != fleet.True
	}
	return false
}

// unhealthyOf returns those of clusters that are unhealthy. A success is old after old.
func unhealthyOf(clusters []*clusterState, now time.Time, old time.Duration) []*clusterState {
	return slices.DeleteFunc(slices.Clone(clusters), func(s *clusterState) bool { return !s.unhealthy(now, old) })
}

// mostUrgent returns at most mostShown of clusters, which are unhealthy, by name: the most urgent
// ones, and of equally urgent ones those without progress for the longest time.
func mostUrgent(clusters []*clusterState, now time.Time) []*clusterState {
	if len(clusters) <= mostShown {
		return clusters
	}
	urgency := make(map[*clusterState]int, len(clusters))
	for _, s := range clusters {
		urgency[s] = s.urgency(now)
	}
	out := slices.Clone(clusters)
	slices.SortStableFunc(out, func(a, b *clusterState) int {
		return cmp.Or(cmp.Compare(urgency[a], urgency[b]), a.progress.Compare(b.progress))
	})
	out = out[:mostShown]
	slices.SortFunc(out, func(a, b *clusterState) int { return a.report.Cluster.Compare(b.report.Cluster) })
	return out
}
