package staging

import (
	"slices"
	"strings"

	"fairlead.dev/reconcile/plan/text"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Progress says how far the cluster is: a reason of the condition TopologyReconciled of
// Cluster API, and a message for people. There is no reason where every pool may be as
// Git asks for it. A nil Stage has none.
func (s *Stage) Progress() (reason, message string) {
	if s == nil {
		return "", ""
	}
	if s.blocked != "" {
		return clusterv1.ClusterTopologyReconciledFailedReason, s.blocked
	}
	var parts []string
	tell := func(who []string, what string) {
		if len(who) > 0 {
			parts = append(parts, text.Some(slices.Sorted(slices.Values(who)))+" "+what)
		}
	}
	cp := s.cluster.ControlPlaneName()
	then := ""
	if len(s.next) > 0 {
		then = ", then " + strings.Join(s.next, ", ")
	}
	switch {
	case s.begun:
		tell([]string{cp}, "goes to "+s.step+then)
	case slices.Contains(s.unknown, s.behind):
		tell([]string{cp}, "waits at "+s.step+" until the version of "+s.behind+" is known"+then)
	case s.behind != "":
		tell([]string{cp}, "waits at "+s.step+" until "+s.behind+" is upgraded"+then)
	}
	tell(s.moving, "upgrading to "+s.step)
	tell(s.waiting, "waiting to be upgraded")
	if len(s.put) > 0 {
		parts = append(parts, text.Some(s.put))
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
