package statusview

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// Troubled reports whether somebody has to look at the cluster of r: it cannot be made as
// Git says, a look failed, one of its machines failed or is held, one of its addons failed, or
// it is provisioned and not available. orphan: it vanished from Git.
func Troubled(r fleet.Report, orphan bool) bool {
	bad := func(m fleet.MachineReport) bool {
		return m.Phase == fleet.MachinePhaseFailed || m.Machine.Damaged != ""
	}
	unavailable := func(c fleet.Condition) bool {
		return c.Type == clusterv1.ClusterAvailableCondition && c.Status == fleet.False
	}
	return orphan || r.Failure != "" || len(r.Problems) > 0 || slices.ContainsFunc(r.Machines, bad) || failedAddon(r) != "" ||
		r.Phase == fleet.PhaseProvisioned && slices.ContainsFunc(r.Conditions, unavailable)
}
