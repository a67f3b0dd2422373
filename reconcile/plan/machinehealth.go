package plan

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// examineMachine returns what h finds wrong with the conditions of m itself.
// Those that Fairlead does not tell of are conditions of its Node, which is what
// others can write on.
func (v *view) examineMachine(h *clusterv1.MachineHealthCheck, m *machine) []string {
	var wrong []string
	for _, c := range h.Spec.Checks.UnhealthyMachineConditions {
		status, since, known := v.standing(m, c.Type)
		if !known || status != fleet.ConditionStatus(c.Status) {
			continue
		}
		timeout := seconds(c.TimeoutSeconds)
		if left := timeout - v.Now.Sub(since); left >= 0 {
			v.wake(left + time.Second)
			continue
		}
		wrong = append(wrong, fmt.Sprintf("condition %s is %s for more than %s", c.Type, c.Status, timeout))
	}
	return wrong
}

// standing returns the status of a condition of m and since when it has it. What
// depends on a Node is not known while nobody can see it.
func (v *view) standing(m *machine, condition string) (status fleet.ConditionStatus, since time.Time, known bool) {
	for _, c := range v.machineConditions(m) {
		if c.Type != condition {
			continue
		}
		switch condition {
		case clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition:
			return c.Status, m.nodeSince(condition), !v.blind
		}
		return c.Status, v.spell(m, condition, c.Status), true
	}
	if m.node != nil {
		for _, c := range m.node.Conditions {
			if string(c.Type) == condition {
				return fleet.ConditionStatus(c.Status), c.LastTransitionTime.Time, true
			}
		}
	}
	return "", since, false
}

// nodeSince is since when NodeReady or NodeHealthy of m is as it is: without a
// Node since m was made, with one since the first of the conditions that spoil it
// became so, or the last of all became good.
func (m *machine) nodeSince(condition string) time.Time {
	if m.node == nil {
		return m.Created
	}
	status := m.nodeHealth(condition)
	var since time.Time
	for _, c := range m.node.Conditions {
		is, counts := healthOf(c, condition)
		at := c.LastTransitionTime.Time
		switch {
		case !counts || is != status:
		case since.IsZero(), status == fleet.True && at.After(since), status != fleet.True && at.Before(since):
			since = at
		}
	}
	if since.IsZero() { // no condition says so: its kubelet never wrote one
		return m.node.Created
	}
	return since
}

// nodeHealth is the status of NodeReady or NodeHealthy of a machine with a Node.
// Source: Cluster API, conditions of Machines.
func (m *machine) nodeHealth(condition string) fleet.ConditionStatus {
	status, ready := fleet.True, false
	for _, c := range m.node.Conditions {
		is, counts := healthOf(c, condition)
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

// healthOf is what a condition of a Node makes of NodeReady or NodeHealthy, and
// whether it counts there. Pressure is bad where it is true.
func healthOf(c corev1.NodeCondition, condition string) (is fleet.ConditionStatus, counts bool) {
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

// spell returns since when a condition of m has its status, and has that
// remembered: as the last report told, or from now on.
func (v *view) spell(m *machine, condition string, status fleet.ConditionStatus) time.Time {
	s := fleet.Spell{Machine: m.Name, ProviderID: m.ProviderID, Condition: condition, Status: status, Since: v.stamp()}
	for _, old := range v.Desired.Spells {
		if old.Machine == s.Machine && old.Condition == s.Condition && old.Status == s.Status && (old.ProviderID == s.ProviderID || old.ProviderID == "") {
			s.Since = old.Since
		}
	}
	if !slices.ContainsFunc(v.out.Spells, func(o fleet.Spell) bool {
		return o.Machine == s.Machine && o.ProviderID == s.ProviderID && o.Condition == s.Condition
	}) {
		v.out.Spells = append(v.out.Spells, s)
	}
	return s.Since
}

// startedAt is from when m has time to become a Node: since it was made or, where
// that was seen, since its infrastructure was ready.
// Source: Cluster API, MachineHealthCheck, spec.checks.nodeStartupTimeoutSeconds.
func (v *view) startedAt(m *machine) time.Time {
	told := slices.ContainsFunc(v.Desired.Spells, func(s fleet.Spell) bool {
		return s.Machine == m.Name && s.Condition == clusterv1.MachineInfrastructureReadyCondition
	})
	switch {
	case m.State == fleet.MachinePending:
		v.spell(m, clusterv1.MachineInfrastructureReadyCondition, fleet.False)
	case m.State == fleet.MachineRunning && told:
		return latest(m.Created, v.spell(m, clusterv1.MachineInfrastructureReadyCondition, fleet.True))
	}
	return m.Created
}
