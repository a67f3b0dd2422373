package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Annotations on a Node that is being removed.
const (
	// DrainingAnnotation says that Fairlead is removing the Node. Its value is the
	// time at which pods were first moved away, in RFC 3339, or nothing as long as
	// hooks keep that waiting.
	DrainingAnnotation = "fairlead.dev/draining"
	// DrainedAnnotation is when no pod was left to move away, in RFC 3339.
	DrainedAnnotation = "fairlead.dev/drained"
	// EvictedAnnotation says that a pod was evicted from the Node. A removal without it can be
	// taken back.
	EvictedAnnotation = "fairlead.dev/evicted"
	// CordonedAnnotation says that the Node was cordoned before its removal began. The cordon
	// stays if the removal is taken back.
	CordonedAnnotation = "fairlead.dev/cordoned-before"
)

// NodeAnnotations returns the annotations that the Node of machine m in pool p
// carries: Cluster API's, with the MachineDeployment as the owner of a worker,
// since Fairlead has no MachineSets, and no owner where a Machine stands alone. Those
// that list labels and taints are the
// memory of what came from the pool, so that it can be taken away again.
func NodeAnnotations(k Key, p Pool, m MachineName) map[string]string {
	out := make(map[string]string)
	eachNodeAnnotation(k, &p, m, func(key, value string) bool {
		out[key] = value
		return true
	})
	return out
}

// eachNodeAnnotation calls yield with each annotation, until it returns false, which it returns, too. A
// plan asks for each of thousands of machines: nothing is allocated for most of them.
func eachNodeAnnotation(k Key, p *Pool, m MachineName, yield func(key, value string) bool) bool {
	owner := "MachineDeployment"
	if p.Role == RoleControlPlane {
		owner = ObjectKind(p.Role, p.Kind)
	}
	labels := ""
	if len(p.NodeLabels) > 0 {
		labels = strings.Join(slices.Sorted(maps.Keys(p.NodeLabels)), ",")
	}
	return yield(clusterv1.ClusterNameAnnotation, k.Name) &&
		yield(clusterv1.ClusterNamespaceAnnotation, k.Namespace) &&
		yield(clusterv1.MachineAnnotation, string(m)) &&
		(p.Kind == LoneMachine || yield(clusterv1.OwnerKindAnnotation, owner) && yield(clusterv1.OwnerNameAnnotation, string(p.Name))) &&
		yield(clusterv1.LabelsFromMachineAnnotation, labels) &&
		yield(clusterv1.TaintsFromMachineAnnotation, strings.Join(taintIDs(p), ","))
}

// IsOf reports whether n says that a machine of cluster k is or was behind it, by the annotations
// that Cluster API writes too.
func (n *Node) IsOf(k Key) bool {
	return n.Machine() != "" && n.Annotations[clusterv1.ClusterNameAnnotation] == k.Name && n.Annotations[clusterv1.ClusterNamespaceAnnotation] == k.Namespace
}

// Machine returns the name of the machine that n says is behind it; empty: it does not say.
func (n *Node) Machine() MachineName { return MachineName(n.Annotations[clusterv1.MachineAnnotation]) }

// PoolOfNode returns the pool of c whose machine n says is behind it; false where c has no such
// pool. What Cluster API wrote names a MachineSet, which is called after its MachineDeployment.
func (c *Cluster) PoolOfNode(n *Node) (Pool, bool) {
	kind, name := n.Annotations[clusterv1.OwnerKindAnnotation], n.Annotations[clusterv1.OwnerNameAnnotation]
	if kind == "" {
		return c.Pool(PoolName(n.Machine())) // a Machine that stands alone
	}
	if kind != "MachineSet" {
		return c.Pool(PoolName(name))
	}
	p, ok := c.WorkersOf(name)
	if i := strings.LastIndex(name, "-"); !ok && i > 0 {
		p, ok = c.WorkersOf(name[:i])
	}
	return p, ok
}

// taintIDs returns "key:effect" of the taints that a pool always keeps.
func taintIDs(p *Pool) []string {
	var ids []string
	for _, t := range p.Taints {
		if t.Propagation == clusterv1.MachineTaintPropagationAlways {
			ids = append(ids, t.Key+":"+string(t.Effect))
		}
	}
	slices.Sort(ids)
	return ids
}

// NodeTaints returns the taints that a Node which has taints now and the
// annotations old should have, sorted: those of pool p (the ones for
// initialization only as long as the node was never synced), none that p gave
// up, not Cluster API's own for nodes that are uninitialized or outdated, and all
// others unchanged.
func NodeTaints(p Pool, old map[string]string, now []corev1.Taint) []corev1.Taint {
	memory, synced := old[clusterv1.TaintsFromMachineAnnotation]
	if len(p.Taints)+len(now) == 0 {
		return nil
	}
	ours := strings.Split(memory, ",")
	for _, t := range []corev1.Taint{clusterv1.NodeUninitializedTaint, clusterv1.NodeOutdatedRevisionTaint} {
		ours = append(ours, t.Key+":"+string(t.Effect))
	}
	var want []corev1.Taint
	for _, t := range p.Taints {
		if t.Propagation == clusterv1.MachineTaintPropagationAlways || !synced {
			ours = append(ours, t.Key+":"+string(t.Effect))
			want = append(want, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		}
	}
	for _, t := range now {
		if !slices.Contains(ours, t.Key+":"+string(t.Effect)) {
			want = append(want, t)
		}
	}
	slices.SortFunc(want, compareTaints)
	return want
}

// OfOutdated returns p for the Nodes of its outdated workers: pods that have to
// move should not go where they have to move again. Where nothing replaces outdated
// machines, pods stay.
// Source: Cluster API, NodeOutdatedRevisionTaint.
func (p Pool) OfOutdated() Pool {
	if p.Role == RoleWorker && p.Kind == "" {
		t := clusterv1.NodeOutdatedRevisionTaint
		p.Taints = append(slices.Clip(p.Taints), clusterv1.MachineTaint{
			Key: t.Key, Effect: t.Effect, Propagation: clusterv1.MachineTaintPropagationAlways,
		})
	}
	return p
}

func compareTaints(a, b corev1.Taint) int {
	return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(string(a.Effect), string(b.Effect)))
}

// NodeInSync reports whether n, the Node of machine m of pool p, has the
// labels, annotations and taints that the pool asks for, so that syncing it
// would change nothing.
func NodeInSync(c *Cluster, p Pool, m MachineName, n Node) bool {
	annotated := eachNodeAnnotation(c.Key, &p, m, func(key, value string) bool {
		got, ok := n.Annotations[key]
		return ok && got == value
	})
	if !annotated {
		return false
	}
	for key, value := range p.NodeLabels {
		if got, ok := n.Labels[key]; !ok || got != value {
			return false
		}
	}
	taints := slices.Clone(n.Taints)
	slices.SortFunc(taints, compareTaints)
	return slices.EqualFunc(
		taints,
		NodeTaints(p, n.Annotations, n.Taints),
		func(a, b corev1.Taint) bool { return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect },
	)
}

// SignedNode returns n, the Node of machine m of pool p, as Fairlead leaves it
// when it has signed it, if Cluster API's own controllers wrote on it last: they name
// the MachineSet as the owner of a worker, and older ones do not note where taints
// and labels are from. Any other Node is returned unchanged.
func SignedNode(k Key, p Pool, m MachineName, n Node) Node {
	_, remembers := n.Annotations[clusterv1.TaintsFromMachineAnnotation]
	foreign := n.Annotations[clusterv1.OwnerKindAnnotation] == "MachineSet"
	if remembers && !foreign {
		return n
	}
	n.Annotations = maps.Clone(n.Annotations)
	for key, value := range NodeAnnotations(k, p, m) {
		_, there := n.Annotations[key]
		if !there || foreign && (key == clusterv1.OwnerKindAnnotation || key == clusterv1.OwnerNameAnnotation) {
			n.Annotations[key] = value
		}
	}
	return n
}
