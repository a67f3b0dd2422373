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
func (f *facts) examineMachine(h *clusterv1.MachineHealthCheck, m *machine) []string {
	var wrong []string
	for _, c := range h.Spec.Checks.UnhealthyMachineConditions {
		since, bad := f.standing(m, c.Type, fleet.ConditionStatus(c.Status))
		if bad && f.outlasts(since, seconds(c.TimeoutSeconds)) {
			wrong = append(wrong, fmt.Sprintf("condition %s is %s for more than %s", c.Type, c.Status, seconds(c.TimeoutSeconds)))
		}
	}
	return wrong
}

// examineNode returns what h finds wrong with the conditions of the Node of m.
func (f *facts) examineNode(h *clusterv1.MachineHealthCheck, m *machine) []string {
	var wrong []string
	for _, c := range h.Spec.Checks.UnhealthyNodeConditions {
		since, bad := f.standingOfNode(m, string(c.Type), fleet.ConditionStatus(c.Status))
		if bad && f.outlasts(since, seconds(c.TimeoutSeconds)) {
			wrong = append(wrong, fmt.Sprintf("node condition %s is %s for more than %s", c.Type, c.Status, seconds(c.TimeoutSeconds)))
		}
	}
	return wrong
}

// outlasts reports whether what is so since then is so for longer than timeout,
// and asks for a look when it will be. While the API server does not answer nobody
// knows whether the agent before this one had the same clock: its word counts later.
func (f *facts) outlasts(since time.Time, timeout time.Duration) bool {
	if f.unreachable {
		since = latest(since, f.Since)
	}
	left := timeout - f.Now.Sub(since)
	if left >= 0 {
		f.wake(left + time.Second)
	}
	return left < 0
}

// standing reports whether a condition of m has a status, and since when, by the
// agents' clock. What depends on a Node is not known while nobody can see it.
func (f *facts) standing(m *machine, condition string, status fleet.ConditionStatus) (since time.Time, is bool) {
	for _, c := range f.machineConditions(m) {
		if c.Type != condition {
			continue
		}
		switch condition {
		case clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition:
			switch {
			case f.unreachable || c.Status != status:
				return since, false
			case m.node == nil:
				return f.madeAt(m), true
			}
			return f.conditionSince(m, condition, status, m.nodeTransition(condition)), true
		}
		return f.conditionSince(m, condition, c.Status, time.Time{}), c.Status == status
	}
	return f.standingOfNode(m, condition, status)
}

// standingOfNode is standing for a condition of the Node of m.
func (f *facts) standingOfNode(m *machine, condition string, status fleet.ConditionStatus) (since time.Time, is bool) {
	if m.node == nil {
		return since, false
	}
	for _, c := range m.node.Conditions {
		if string(c.Type) == condition && fleet.ConditionStatus(c.Status) == status {
			return f.conditionSince(m, condition, status, c.LastTransitionTime.Time), true
		}
	}
	return since, false
}

// nodeTransition is when NodeReady or NodeHealthy of m, which has a Node, became
// as it is, by the clocks of the cluster: when the first of the conditions that
// spoil it became so, or the last of all became good.
func (m *machine) nodeTransition(condition string) time.Time {
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

// conditionSince returns since when a condition of m has its status, and has that
// remembered: as the last report told, or from now on. It goes by the agents' own
// clock alone, since clocks that differ are no reason to replace anything; the
// transition that a Node tells of says only whether the condition still is the same one.
func (f *facts) conditionSince(m *machine, condition string, status fleet.ConditionStatus, transition time.Time) time.Time {
	s := fleet.ObservedCondition{
		Machine: m.Name, ProviderID: m.ProviderID, Condition: condition, Status: status,
		Since: f.lookEnded(), Transition: transition.UTC().Truncate(time.Second),
	}
	for _, old := range f.Memory.ObservedConditions {
		if old.Machine == s.Machine && old.Condition == s.Condition && old.Status == s.Status && old.Transition.Equal(s.Transition) &&
			(old.ProviderID == s.ProviderID || old.ProviderID == "") {
			s.Since = f.from(old.Since)
		}
	}
	f.rememberSpell(s)
	return s.Since
}

// rememberSpell adds s to what the next pass is told, unless that is told already.
func (f *facts) rememberSpell(s fleet.ObservedCondition) {
	if !slices.ContainsFunc(f.conditions, func(o fleet.ObservedCondition) bool {
		return o.Machine == s.Machine && o.ProviderID == s.ProviderID && o.Condition == s.Condition
	}) {
		f.conditions = append(f.conditions, s)
	}
}

// keepSpells keeps in mind what was waited out of machines that are still there,
// while nobody can see their Nodes: it is not over.
func (f *facts) keepSpells() {
	for _, s := range f.Memory.ObservedConditions {
		if f.unseen() != nil && !slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Name == s.Machine }) {
			f.rememberSpell(s)
		}
	}
	if !f.unreachable {
		return
	}
	for _, s := range f.Memory.ObservedConditions {
		if slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Name == s.Machine && m.ProviderID == s.ProviderID }) {
			f.rememberSpell(s)
		}
	}
}

// startedAt is from when m has time to become a Node: since it was made or, where
// that was seen, since its infrastructure was ready.
// Source: Cluster API, MachineHealthCheck, spec.checks.nodeStartupTimeoutSeconds.
func (f *facts) startedAt(m *machine) time.Time {
	told := slices.ContainsFunc(f.Memory.ObservedConditions, func(s fleet.ObservedCondition) bool {
		return s.Machine == m.Name && s.Condition == clusterv1.MachineInfrastructureReadyCondition
	})
	switch {
	case m.State == fleet.MachinePending:
		f.conditionSince(m, clusterv1.MachineInfrastructureReadyCondition, fleet.False, time.Time{})
	case m.State == fleet.MachineRunning && told:
		return latest(f.madeAt(m), f.conditionSince(m, clusterv1.MachineInfrastructureReadyCondition, fleet.True, time.Time{}))
	}
	return f.madeAt(m)
}
