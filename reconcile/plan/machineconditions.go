package plan

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/health"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machineConditions tells the state of m in Cluster API's words.
func (f *facts) machineConditions(m *machine) []fleet.Condition {
	l := make(ledger, 0, 11)
	problem := ""
	if m.State != fleet.MachineRunning {
		problem = cmp.Or(m.Message, "Machine is "+string(m.State))
	}
	l.setWanted(clusterv1.MachineInfrastructureReadyCondition,
		clusterv1.MachineInfrastructureReadyReason, clusterv1.MachineInfrastructureNotReadyReason, problem)

	l.set(clusterv1.MachineBootstrapConfigReadyCondition, true, clusterv1.MachineBootstrapConfigReadyReason, "", "")
	l.set(clusterv1.PausedCondition, f.paused() || m.pool != nil && m.pool.Paused, clusterv1.PausedReason, clusterv1.NotPausedReason, "")

	problem = ""
	switch {
	case m.held != "":
		problem = m.held
	case !m.current && m.pool != nil:
		problem = differs(m, m.pool)
	case !m.current:
		problem = "Pool is not in Git any more"
	}
	l.setWanted(clusterv1.MachineUpToDateCondition, clusterv1.MachineUpToDateReason, clusterv1.MachineNotUpToDateReason, problem)

	switch {
	case f.unreachable:
		l.unknown(clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeConnectionDownReason, "The API server does not answer")
		l.unknown(clusterv1.MachineNodeHealthyCondition, clusterv1.MachineNodeConnectionDownReason, "The API server does not answer")
		l.unknown(clusterv1.MachineReadyCondition, clusterv1.MachineReadyUnknownReason, "The API server does not answer")
		l.unknown(clusterv1.MachineAvailableCondition, clusterv1.AvailableUnknownReason, "The API server does not answer")
	default:
		f.nodeConditions(&l, m)
	}

	switch {
	case m.unhealthy != nil:
		l.set(clusterv1.MachineHealthCheckSucceededCondition, false, "", m.unhealthy.reason, m.unhealthy.message)
	case m.checked:
		l.set(clusterv1.MachineHealthCheckSucceededCondition, true, clusterv1.MachineHealthCheckSucceededReason, "", "")
	}
	if m.stays != nil {
		l.set(clusterv1.MachineOwnerRemediatedCondition, false, "", m.stays.reason, m.stays.message)
	}
	reason, message := f.deletingReason(m)
	if !m.leaving && !m.duplicate {
		message = ""
	}
	l.set(clusterv1.MachineDeletingCondition, m.leaving || m.duplicate, reason, clusterv1.MachineNotDeletingReason, message)
	return l.sorted()
}

// nodeConditions tells what follows from the Node of m.
func (f *facts) nodeConditions(l *ledger, m *machine) {
	switch {
	case m.node == nil:
		l.unknown(clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeDoesNotExistReason, "The machine has no node")
	case m.node.Ready:
		l.set(clusterv1.MachineNodeReadyCondition, true, clusterv1.MachineNodeReadyReason, "", "")
	case health.NodeStatus(clusterv1.MachineNodeReadyCondition, m.node.Conditions) == fleet.StatusUnknown:
		l.unknown(clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeReadyUnknownReason, "The kubelet of the node is not heard of")
	default:
		l.set(clusterv1.MachineNodeReadyCondition, false, "", clusterv1.MachineNodeNotReadyReason, "The node is not ready")
	}
	m.nodeHealthyCondition(l)
	problem := f.notReady(m)
	l.setWanted(clusterv1.MachineReadyCondition, clusterv1.MachineReadyReason, clusterv1.MachineNotReadyReason, problem)
	reason := clusterv1.NotReadyReason
	if problem == "" && !m.available {
		reason = clusterv1.MachineWaitingForMinReadySecondsReason
	}
	l.set(clusterv1.MachineAvailableCondition, m.available, clusterv1.MachineAvailableReason, reason, "")
}

// nodeHealthyCondition tells what the kubelet says of its host as well.
func (m *machine) nodeHealthyCondition(l *ledger) {
	if m.node == nil {
		l.unknown(clusterv1.MachineNodeHealthyCondition, clusterv1.MachineNodeDoesNotExistReason, "The machine has no node")
		return
	}
	status := health.NodeStatus(clusterv1.MachineNodeHealthyCondition, m.node.Conditions)
	var texts []string
	for _, c := range m.node.Conditions {
		if is, counts := health.StatusOf(c, clusterv1.MachineNodeHealthyCondition); counts && is != fleet.True {
			texts = append(texts, string(c.Type)+" is "+string(c.Status))
		}
	}
	slices.Sort(texts)
	switch status {
	case fleet.StatusUnknown:
		l.unknown(clusterv1.MachineNodeHealthyCondition, clusterv1.MachineNodeHealthUnknownReason, strings.Join(texts, ", "))
	default:
		l.set(clusterv1.MachineNodeHealthyCondition, status == fleet.True, clusterv1.MachineNodeHealthyReason, clusterv1.MachineNodeNotHealthyReason, strings.Join(texts, ", "))
	}
}

// notReady says why m is not ready; empty when it is.
func (f *facts) notReady(m *machine) string {
	switch {
	case m.leaving || m.duplicate:
		return "The machine is being deleted"
	case m.held != "":
		return m.held
	case m.unhealthy != nil:
		return m.unhealthy.message
	case m.State != fleet.MachineRunning:
		return cmp.Or(m.Message, "Machine is "+string(m.State))
	case m.node == nil:
		return "The machine has no node"
	case !m.node.Ready:
		return "The node is not ready"
	}
	closed, _ := m.gates()
	return closed
}

// deletingReason says how far the removal of m is, in Cluster API's words, and
// what keeps it.
func (f *facts) deletingReason(m *machine) (reason, message string) {
	if m.State == fleet.MachineDeleting {
		return clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, m.Message
	}
	if m.leaving && m.node != nil {
		if o := f.keeps(m); o != nil {
			return o.reason, o.message
		}
	}
	return clusterv1.MachineDeletingReason, ""
}
