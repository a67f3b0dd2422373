package inmemory

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
	system            = "kube-system"
)

var (
	nodeKind = corev1.SchemeGroupVersion.WithKind("Node") //nolint:gochecknoglobals // a constant that Go cannot write as one
	podKind  = corev1.SchemeGroupVersion.WithKind("Pod")  //nolint:gochecknoglobals // a constant that Go cannot write as one
)

// register has the kubelet of v register its Node. A Node of that name that is
// there already is taken over unchanged.
func register(k *cluster, v *vm) error {
	r := v.boot.registration()
	v.node, v.shown = r.name, ""
	k.nodes[r.name] = v
	if _, ok := k.api.Get(nodeKind, "", r.name); !ok {
		n := newNode(v)
		setNodeConditions(n, v, false)
		if err := k.api.Upsert(n); err != nil {
			return err
		}
		v.shown = v.shows(k)
	}
	for _, pod := range v.boot.pods(v) {
		if err := k.api.Upsert(pod); err != nil {
			return err
		}
	}
	return showNode(k, v)
}

func newNode(v *vm) *corev1.Node {
	r := v.boot.registration()
	labels := map[string]string{corev1.LabelHostname: r.name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	maps.Copy(labels, r.labels)
	id := r.providerID
	if id == "" && !r.cloud {
		id = string(v.Provider)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.name, Labels: labels, Annotations: r.annotations, Finalizers: r.finalizers,
		},
		Spec: corev1.NodeSpec{ProviderID: id, Taints: r.taints},
		Status: corev1.NodeStatus{
			Capacity: size(), Allocatable: size(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: v.Addresses[0]},
				{Type: corev1.NodeHostName, Address: r.name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: v.version, MachineID: v.ID, SystemUUID: v.ID, BootID: v.ID,
				OperatingSystem: "linux", Architecture: "amd64", OSImage: "Fairlead in memory",
				ContainerRuntimeVersion: "containerd://2.1.4", KernelVersion: "6.12.0",
			},
		},
	}
}

// newStaticPod returns the part of a control plane that runs on v from an image.
func newStaticPod(v *vm, part, image string) *corev1.Pod {
	node := v.boot.registration().name
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: system, Name: part + "-" + node,
			Annotations: map[string]string{"kubernetes.io/config.mirror": v.ID},
			Labels:      map[string]string{"component": part, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			NodeName: node, HostNetwork: true, PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{Name: part, Image: image}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// nodeReady reports whether a Node of that name is there, and ready.
func (k *cluster) nodeReady(name string) (ready, ok bool) {
	u, ok := k.api.Get(nodeKind, "", name)
	if !ok {
		return false, false
	}
	var n corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
		return false, true
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue, true
		}
	}
	return false, true
}

// showNode writes what became of the machine to its Node and static pods. Those
// that somebody deleted stay away.
func showNode(k *cluster, v *vm) error {
	if v.node == "" || k.nodes[v.node] != v {
		return nil
	}
	shown := v.shows(k)
	if v.shown == shown {
		return nil
	}
	err := modify(k, nodeKind, "", v.node, func(n *corev1.Node) {
		setNodeConditions(n, v, k.lockedOut(v.kubelet))
		for _, c := range v.boot.conditions(k, v) {
			setNodeCondition(n, c.Type, c.Status, c.Reason, c.Message)
		}
	})
	if err != nil || !v.boot.serves() {
		v.shown = shown
		return err
	}
	for _, pod := range v.boot.pods(v) {
		ready := v.apiServerUp(k)
		if pod.Labels["component"] == "etcd" {
			ready = v.etcdUp(k)
		}
		if err := modify(k, podKind, system, pod.Name, func(p *corev1.Pod) { setPodReady(p, ready) }); err != nil {
			return err
		}
	}
	v.shown = shown
	return nil
}

// shows names all that its Node and static pods tell of the machine.
func (v *vm) shows(k *cluster) string {
	return fmt.Sprint(v.alive(), v.ended, v.nodeReady, v.etcdUp(k), v.apiServerUp(k), k.lockedOut(v.kubelet), v.boot.conditions(k, v))
}

// setNodeConditions writes what the kubelet, or the silence of the kubelet, says.
func setNodeConditions(n *corev1.Node, v *vm, lockedOut bool) {
	ready, pressure := corev1.ConditionTrue, corev1.ConditionFalse
	reason, message := "KubeletReady", "kubelet is posting ready status"
	switch {
	case !v.alive(), v.ended, lockedOut:
		ready, pressure = corev1.ConditionUnknown, corev1.ConditionUnknown
		reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	case !v.nodeReady:
		ready = corev1.ConditionFalse
		reason, message = "KubeletNotReady", "container runtime network not ready"
	}
	setNodeCondition(n, corev1.NodeReady, ready, reason, message)
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		setNodeCondition(n, kind, pressure, reason, message)
	}
}

// maxConflicts is how often an object may change while it is being modified.
const maxConflicts = 20

// modify changes an object that others change too.
func modify[T any, P interface {
	*T
	runtime.Object
}](k *cluster, kind schema.GroupVersionKind, namespace, name string, change func(P)) error {
	var err error
	for range maxConflicts {
		u, ok := k.api.Get(kind, namespace, name)
		if !ok {
			return nil
		}
		p := P(new(T))
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, p); err != nil {
			return err
		}
		change(p)
		if err = k.api.Upsert(p); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func setNodeCondition(n *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) {
	now := metav1.NewTime(time.Now())
	next := corev1.NodeCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
	}
	for i, c := range n.Status.Conditions {
		if c.Type == kind {
			if c.Status == status {
				next.LastTransitionTime = c.LastTransitionTime
			}
			n.Status.Conditions[i] = next
			return
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, next)
}

func setPodReady(p *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
		p.Status.Phase = corev1.PodRunning
	}
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: status},
		{Type: corev1.PodReady, Status: status},
	}
}
