package forecast

import (
	"maps"
	"slices"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// join gives a machine its Node, which is ready for long, and its member of etcd.
func (m *model) join(desired *fleet.Cluster, machine *fleet.Machine) {
	p, known := desired.Pool(machine.Pool)
	if machine.Role == fleet.RoleControlPlane && desired.Hosted == nil {
		p, known = desired.ControlPlane, true
	}
	n := fleet.Node{
		Name: string(machine.Name), ProviderID: machine.ProviderID, KubeletVersion: machine.Version,
		Labels: map[string]string{}, Annotations: map[string]string{},
		ControlPlane: machine.Role == fleet.RoleControlPlane,
	}
	if !known {
		p = fleet.Pool{Name: machine.Pool, Role: machine.Role}
	}
	if same, ok := p.Has(machine.Template); ok && !same {
		p = p.OfOutdated()
	}
	m.recover(&n, &p)
	maps.Copy(n.Labels, p.NodeLabels)
	maps.Copy(n.Annotations, fleet.NodeAnnotations(desired.Key, p, machine.Name))
	n.Taints = fleet.NodeTaints(p, n.Annotations, nil)
	m.addNode(n)
	m.enroll(&n)
}

// power switches a machine. One that was off is well when it is on: its Node comes back where it
// went.
func (m *model) power(desired *fleet.Cluster, a fleet.Action) {
	list := m.observed.Infrastructure.Machines
	i := slices.IndexFunc(list, func(o fleet.Machine) bool { return o.Name == a.Machine && o.ProviderID == a.ProviderID })
	if i < 0 {
		return
	}
	on, n := a.Kind == fleet.SwitchOn, m.node(string(a.Machine))
	list[i].Power = fleet.HostOff
	if on {
		list[i].Power = fleet.HostOn
	}
	switch p, _ := desired.Pool(list[i].Pool); {
	case on && n == nil:
		m.join(desired, &list[i])
	case on:
		m.recover(n, &p)
	case n != nil:
		n.Ready = false
	}
}

// enroll makes the machine of a control-plane Node a member of etcd, where it is none.
func (m *model) enroll(n *fleet.Node) {
	e := m.observed.Workload.Etcd
	if e == nil || !n.ControlPlane || slices.ContainsFunc(e.Members, func(o fleet.Member) bool { return o.Node == n.Name }) {
		return
	}
	m.members++
	e.Members = append(e.Members, fleet.Member{ID: madeMember + m.members, Name: n.Name, Node: n.Name, Healthy: n.Ready})
	slices.SortFunc(e.Members, func(a, b fleet.Member) int { return compare(a.Name, b.Name) })
}

// recover makes a Node of p ready, and for long enough to be available.
func (m *model) recover(n *fleet.Node, p *fleet.Pool) {
	long := m.now.Add(m.observed.Workload.Ahead).AddDate(-1, 0, 0)
	n.Ready, n.Created = true, long
	if n.ControlPlane {
		m.serve(n.Name, true)
	}
	set := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) {
		n.Conditions = slices.DeleteFunc(slices.Clone(n.Conditions), func(c corev1.NodeCondition) bool { return c.Type == kind })
		n.Conditions = append(n.Conditions, corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(long)})
	}
	set(corev1.NodeReady, corev1.ConditionTrue)
	for _, g := range p.ReadinessGates {
		status := corev1.ConditionTrue
		if g.Polarity == clusterv1.NegativePolarityCondition {
			status = corev1.ConditionFalse
		}
		set(corev1.NodeConditionType(g.ConditionType), status)
	}
}

func members(w *fleet.Workload) []fleet.Member {
	if w.Etcd == nil {
		return nil
	}
	return w.Etcd.Members
}

// sync brings a Node in line, as the executor does.
func sync(desired *fleet.Cluster, a fleet.Action, n *fleet.Node) {
	p, known := desired.Pool(a.Pool)
	if !known {
		p.Name = a.Pool
	}
	if a.Outdated {
		p = p.OfOutdated()
	}
	n.Taints = fleet.NodeTaints(p, n.Annotations, n.Taints)
	maps.Copy(n.Annotations, fleet.NodeAnnotations(desired.Key, p, a.Machine))
	maps.Copy(n.Labels, p.NodeLabels)
}

// drain moves everything away from a Node, and takes its hooks away.
func (m *model) drain(n *fleet.Node) {
	n.Draining, n.Unschedulable, n.DrainStarted, n.Drained = true, true, m.now, m.now
	n.Pods, n.Volumes, n.Unseen = nil, nil, false
	for _, prefix := range []string{clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.PreTerminateDeleteHookAnnotationPrefix} {
		maps.DeleteFunc(n.Annotations, func(key, _ string) bool { return len(fleet.Hooks(prefix, map[string]string{key: ""})) > 0 })
	}
}
