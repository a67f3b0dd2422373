package simulation

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// jam puts a pod on a Node that nobody may evict, or lets those of a cluster go.
func (l *life) jam() {
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool { return m.Node != "" && m.Ready })
	switch {
	case !ok:
	case l.jammed[m.Network] && l.chance(2):
		l.logf("pods of %s may be evicted", k)
		l.free(m.Network)
	default:
		l.logf("a pod on node %s may not be evicted", m.Node)
		l.hold(m)
	}
}

// hold puts a pod that nobody may evict on the Node of m.
func (l *life) hold(m inmemory.MachineFacts) {
	all := intstr.FromString("100%")
	labels := map[string]string{"app": "stuck"}
	for _, err := range []error{
		l.cloud.PutObject(m.Network, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stuck"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}),
		l.cloud.PutObject(m.Network, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stuck-on-" + m.Node, Labels: labels},
			Spec:       corev1.PodSpec{NodeName: m.Node, Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}),
	} {
		if err != nil {
			l.violate("cannot put a pod on a node: %v", err)
		}
	}
	l.jammed[m.Network] = true
}

// free lets the pods on a network be evicted.
func (l *life) free(network string) {
	l.cloud.RemoveObject(network, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), "default", "stuck")
	delete(l.jammed, network)
}

// failFirst cuts the power of machines that are to be the first of a control plane,
// for good, and has the agent crash within a few calls.
func (l *life) failFirst(facts inmemory.Facts) {
	if !l.first {
		return
	}
	for _, m := range facts.Machines {
		k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
		_, initialised := facts.Etcd[m.Network]
		if m.Tags[fleet.TagFleet] != theFleet || m.Deleted || m.Stopped || initialised || m.State != fleet.MachineRunning {
			continue
		}
		l.logf("machine %s, the first of its control plane, dies", m.Name)
		l.disturbed(k)
		_ = l.cloud.StopVM(context.Background(), m.ID) // it may be gone by now
		l.dead[m.ID] = true
		l.fuse, l.atWork = 1+l.random.IntN(20), false
		l.first = l.chance(3) // so does the next one
	}
}
