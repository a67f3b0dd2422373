package plan

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/health"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// badConditions returns the conditions of m and of its Node that are as h says that they
// must not be for long. Conditions of a machine that Fairlead does not tell of are those of
// its Node, which is what others can write on.
func (f *facts) badConditions(h *clusterv1.MachineHealthCheck, m *machine) []health.Condition {
	var out []health.Condition
	for _, c := range h.Spec.Checks.UnhealthyMachineConditions {
		if since, bad := f.standing(m, c.Type, fleet.ConditionStatus(c.Status)); bad {
			out = append(out, health.Condition{Type: c.Type, Status: string(c.Status), For: f.lasted(since), Timeout: seconds(c.TimeoutSeconds)})
		}
	}
	for _, c := range h.Spec.Checks.UnhealthyNodeConditions {
		if since, bad := f.standingOfNode(m, string(c.Type), fleet.ConditionStatus(c.Status)); bad {
			out = append(out, health.Condition{Type: string(c.Type), Status: string(c.Status), Node: true, For: f.lasted(since), Timeout: seconds(c.TimeoutSeconds)})
		}
	}
	return out
}

// lasted returns how long what is so since then has been so. While the API server does
// not answer it is not known whether the agent before this one had the same clock: its word
// counts later.
func (f *facts) lasted(since time.Time) time.Duration {
	if f.unreachable {
		since = latest(since, f.Since)
	}
	return f.Now.Sub(since)
}

// standing reports whether a condition of m has a status, and since when, by the
// agents' clock. What depends on a Node is not known while Nodes cannot be observed.
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
// what it is now, by the clocks of the cluster.
func (m *machine) nodeTransition(condition string) time.Time {
	since := health.NodeTransition(condition, m.node.Conditions)
	if since.IsZero() { // no condition says so: its kubelet never wrote one
		return m.node.Created
	}
	return since
}

// conditionSince returns since when a condition of m has its status, and has that
// remembered: as the last report said, or from now on. It is measured by the agents' own
// clock alone, since clocks that differ are no reason to replace anything; the
// transition that a Node tells of says only whether the condition still is the same one.
func (f *facts) conditionSince(m *machine, condition string, status fleet.ConditionStatus, transition time.Time) time.Time {
	s := fleet.ObservedCondition{
		Machine: m.Name, ProviderID: m.ProviderID, Condition: condition, Status: status,
		Since: f.lookEnded(), Transition: transition.UTC().Truncate(time.Second),
	}
	if since, ok := health.Told(f.Memory.ObservedConditions, s); ok {
		s.Since = f.from(since)
	}
	f.conditions = health.Tell(f.conditions, s)
	return s.Since
}

// told reports whether the last report tells of a condition of m.
func (f *facts) told(m *machine, condition string) bool {
	return slices.ContainsFunc(f.Memory.ObservedConditions, func(s fleet.ObservedCondition) bool {
		return s.Machine == m.Name && s.Condition == condition
	})
}

// keepObserved keeps in mind what was waited out of machines that are still there,
// while their Nodes cannot be observed: it is not over.
func (f *facts) keepObserved() {
	for _, s := range f.Memory.ObservedConditions {
		if f.unseen() != nil && !slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Name == s.Machine }) {
			f.conditions = health.Tell(f.conditions, s)
		}
	}
	if !f.unreachable {
		return
	}
	for _, s := range f.Memory.ObservedConditions {
		if slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Name == s.Machine && m.ProviderID == s.ProviderID }) {
			f.conditions = health.Tell(f.conditions, s)
		}
	}
}

// startedAt is from when m has time to become a Node: since it was made or, where
// that was seen, since its infrastructure was ready.
// Source: Cluster API, MachineHealthCheck, spec.checks.nodeStartupTimeoutSeconds.
func (f *facts) startedAt(m *machine) time.Time {
	switch {
	case m.State == fleet.MachinePending:
		f.conditionSince(m, clusterv1.MachineInfrastructureReadyCondition, fleet.False, time.Time{})
	case m.State == fleet.MachineRunning && f.told(m, clusterv1.MachineInfrastructureReadyCondition):
		return latest(f.madeAt(m), f.conditionSince(m, clusterv1.MachineInfrastructureReadyCondition, fleet.True, time.Time{}))
	}
	return f.madeAt(m)
}
