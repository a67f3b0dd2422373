package statusview

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// Refused says what Git asks for of the cluster of r and cannot be done; empty: all of it can.
func Refused(r fleet.Report) string {
	for _, c := range r.Conditions {
		if c.Type == fleet.AcceptedCondition && c.Status == fleet.False {
			return c.Message
		}
	}
	return ""
}

// Stopped says why nothing more is done for the cluster of r until people do something; empty: it goes on.
func Stopped(r fleet.Report) string {
	for _, c := range r.Conditions {
		if c.Status == fleet.False && c.Reason == fleet.StoppedReason {
			return c.Message
		}
	}
	return ""
}

// FailedPool says which pool of the cluster of r its cloud gave up, and why; empty: none.
func FailedPool(r fleet.Report) string {
	i := slices.IndexFunc(r.Pools, func(p fleet.PoolReport) bool { return p.Phase == fleet.KeptPhaseFailed })
	if i < 0 {
		return ""
	}
	return "pool " + string(r.Pools[i].Name) + ": " + r.Pools[i].Message
}

// HeldBack says what of the cluster of r is not upgraded as its topology says, and why, once
// all else is done; empty: nothing is.
func HeldBack(r fleet.Report) string {
	for _, c := range r.Conditions {
		if c.Type != clusterv1.ClusterTopologyReconciledCondition || c.Status != fleet.False {
			continue
		}
		switch c.Reason {
		case clusterv1.ClusterTopologyReconcilePausedReason, clusterv1.ClusterTopologyReconciledDeletingReason:
		case clusterv1.ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason, clusterv1.ClusterTopologyReconciledFailedReason:
			return c.Message
		default:
			if r.Phase == fleet.PhaseProvisioned {
				return c.Message
			}
		}
	}
	return ""
}

// Troubled reports whether somebody has to look at the cluster of r: it cannot be made as
// Git says, nothing goes on until people do something, a look failed, one of its machines failed or is held, one of its addons or pools failed, one of
// its pools is not upgraded, or it is provisioned and not available. orphan: it was removed from Git.
func Troubled(r fleet.Report, orphan bool) bool {
	bad := func(m fleet.MachineReport) bool {
		return m.Phase == fleet.MachinePhaseFailed || m.Machine.Damaged != ""
	}
	unavailable := func(c fleet.Condition) bool {
		return c.Type == clusterv1.ClusterAvailableCondition && c.Status == fleet.False
	}
	return orphan || r.Failure != "" || len(r.Problems) > 0 || slices.ContainsFunc(r.Machines, bad) || failedAddon(r) != "" || FailedPool(r) != "" ||
		Refused(r) != "" || Stopped(r) != "" || HeldBack(r) != "" ||
		r.Phase == fleet.PhaseProvisioned && slices.ContainsFunc(r.Conditions, unavailable)
}
