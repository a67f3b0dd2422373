package health

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// NodeStatus is the status of a machine's condition NodeReady or NodeHealthy where its Node
// has these conditions: that of the worst.
// Source: Cluster API, conditions of Machines.
func NodeStatus(condition string, of []corev1.NodeCondition) fleet.ConditionStatus {
	status, ready := fleet.True, false
	for _, c := range of {
		is, counts := StatusOf(c, condition)
		ready = ready || c.Type == corev1.NodeReady
		if counts && (is == fleet.False || is == fleet.StatusUnknown && status == fleet.True) {
			status = is
		}
	}
	if !ready && status == fleet.True {
		return fleet.StatusUnknown
	}
	return status
}

// NodeTransition is when that status began, by the clocks of the cluster: when the first of
// the conditions that spoil it became so, or the last of all became good. It is zero where
// no condition says so.
func NodeTransition(condition string, of []corev1.NodeCondition) time.Time {
	status := NodeStatus(condition, of)
	var since time.Time
	for _, c := range of {
		is, counts := StatusOf(c, condition)
		at := c.LastTransitionTime.Time
		switch {
		case !counts || is != status:
		case since.IsZero(), status == fleet.True && at.After(since), status != fleet.True && at.Before(since):
			since = at
		}
	}
	return since
}

// StatusOf is what one condition of a Node makes of NodeReady or NodeHealthy, and
// whether it counts there. Pressure is bad where it is true.
func StatusOf(c corev1.NodeCondition, condition string) (is fleet.ConditionStatus, counts bool) {
	pressure := condition == clusterv1.MachineNodeHealthyCondition &&
		slices.Contains([]corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}, c.Type)
	switch {
	case c.Type != corev1.NodeReady && !pressure:
		return "", false
	case c.Status == corev1.ConditionUnknown:
		return fleet.StatusUnknown, true
	case (c.Status == corev1.ConditionTrue) != pressure:
		return fleet.True, true
	}
	return fleet.False, true
}
