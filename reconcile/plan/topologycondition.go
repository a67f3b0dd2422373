package plan

import (
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// topologyCondition tells how far a cluster of a class is on the way to its
// version, and what waits for what.
func (f *facts) topologyCondition(l *ledger) {
	if f.Desired.Topology == nil {
		return
	}
	reason, message := f.topologyState()
	l.set(clusterv1.ClusterTopologyReconciledCondition, reason == "", clusterv1.ClusterTopologyReconcileSucceededReason, reason, message)
}

// topologyState returns no reason where every pool may be as Git asks for it.
func (f *facts) topologyState() (reason, message string) {
	s := f.staging
	switch {
	case f.deleting():
		return clusterv1.ClusterTopologyReconciledDeletingReason, "Cluster is deleting"
	case f.paused():
		return clusterv1.ClusterTopologyReconcilePausedReason, f.whyPaused()
	case s == nil:
		return "", ""
	case s.blocked != "":
		return clusterv1.ClusterTopologyReconciledFailedReason, s.blocked
	}
	var parts []string
	tell := func(who []string, what string) {
		if len(who) > 0 {
			slices.Sort(who)
			parts = append(parts, some(who)+" "+what)
		}
	}
	cp := string(f.Desired.ControlPlane.Name)
	then := after(", then ", strings.Join(s.next, ", "))
	switch {
	case s.begun:
		tell([]string{cp}, "goes to "+s.step+then)
	case s.behind != "":
		tell([]string{cp}, "waits at "+s.step+" until "+s.behind+" is upgraded"+then)
	}
	tell(s.moving, "upgrading to "+s.step)
	tell(s.waiting, "waiting to be upgraded")
	if len(s.put) > 0 {
		parts = append(parts, some(s.put))
	}
	tell(s.creates, "created once the control plane has "+s.to)
	if len(parts) == 0 {
		return "", ""
	}
	reason = clusterv1.ClusterTopologyReconciledClusterUpgradingReason
	if len(s.put) > 0 && !s.begun && len(s.moving)+len(s.waiting) == 0 {
		reason = clusterv1.ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason
	}
	return reason, "Upgrading to " + s.to + ": " + strings.Join(parts, "; ")
}
