package metrics

import (
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
	expiresSoon  = 30 * 24 * time.Hour
	successIsOld = time.Hour
	mostSkew     = 3
)

// unhealthy reports whether somebody may want to look at the cluster: it is on its way to
// somewhere, or something of it is not as it should be.
func (s *clusterState) unhealthy(now time.Time) bool {
	r := &s.report
	if r.Phase != fleet.PhaseProvisioned || s.pass.Err != nil || len(r.Problems) > 0 || s.pass.Drift > 0 || now.Sub(s.success) > successIsOld {
		return true
	}
	for _, t := range s.pass.NotAfter {
		if !t.IsZero() && t.Sub(now) < expiresSoon {
			return true
		}
	}
	if n, ok := skew(r.Machines); ok && n >= mostSkew {
		return true
	}
	return slices.ContainsFunc(r.Conditions, isBad) ||
		slices.ContainsFunc(r.Pools, func(p fleet.PoolReport) bool { return p.Available < p.Desired || p.Current != p.Desired }) ||
		slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Phase != fleet.MachinePhaseRunning })
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

// unhealthyOf returns those of clusters that are unhealthy.
func unhealthyOf(clusters []*clusterState, now time.Time) []*clusterState {
	return slices.DeleteFunc(slices.Clone(clusters), func(s *clusterState) bool { return !s.unhealthy(now) })
}

// longestWithoutProgress returns at most mostShown of clusters, by name: those without progress for
// the longest time.
func longestWithoutProgress(clusters []*clusterState) []*clusterState {
	if len(clusters) <= mostShown {
		return clusters
	}
	out := slices.Clone(clusters)
	slices.SortStableFunc(out, func(a, b *clusterState) int { return a.progress.Compare(b.progress) })
	out = out[:mostShown]
	slices.SortFunc(out, func(a, b *clusterState) int { return a.report.Cluster.Compare(b.report.Cluster) })
	return out
}
