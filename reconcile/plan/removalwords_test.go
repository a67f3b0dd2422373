package plan_test

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// removal fills in how far the removal of n is, and what is still on it.
func (s *script) removal(n *fleet.Node, w words) {
	if w.is("draining") {
		n.Draining, n.DrainStarted = true, s.in.Now.Add(-w.duration("draining"))
	}
	if w.is("marked") { // for hooks to see, no more
		n.Draining = true
	}
	if w.is("drained") {
		n.Drained = s.in.Now.Add(-w.duration("drained"))
	}
	for _, v := range strings.FieldsFunc(w["volumes"], func(r rune) bool { return r == ',' }) {
		name, claim, _ := strings.Cut(v, ":")
		n.Volumes = append(n.Volumes, fleet.Volume{Name: name, Claim: claim})
	}
	n.Unseen, n.Evicted = w.is("unseen"), w.is("evicted")
	if w.is("unreachable") {
		n.Ready, n.Conditions[0].Status = false, corev1.ConditionUnknown
	}
	if w.is("pre-drain") {
		n.Annotations["pre-drain.delete.hook.machine.cluster.x-k8s.io/"+w["pre-drain"]] = "someone"
	}
	if w.is("pre-terminate") {
		n.Annotations["pre-terminate.delete.hook.machine.cluster.x-k8s.io/"+w["pre-terminate"]] = "someone"
	}
	if w.is("pods") {
		for _, text := range strings.Split(w["pods"], ",") {
			n.Pods = append(n.Pods, s.pod(text))
		}
	}
}

// pod returns the pod of namespace/name, with what keeps it after a colon and
// words about it after tildes.
func (s *script) pod(text string) fleet.Pod {
	f := strings.Split(text, "~")
	name, blocked, _ := strings.Cut(f[0], ":")
	p := fleet.Pod{Namespace: "default", Name: name, Blocked: blocked, Labels: map[string]string{}}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		p.Namespace, p.Name = namespace, rest
	}
	p.NamespaceLabels = map[string]string{"kubernetes.io/metadata.name": p.Namespace}
	for _, word := range f[1:] {
		k, v, _ := strings.Cut(word, "=")
		switch k {
		case "fixed":
			p.Fixed = true
		case "finished":
			p.Finished = true
		case "deleted":
			d, _ := time.ParseDuration(v)
			p.Deleted = s.in.Now.Add(-d)
		case "claim":
			p.Claims = append(p.Claims, v)
		default:
			p.Labels[k] = v
		}
	}
	return p
}

// drainRule adds a MachineDrainRule for pods, and machines where a pool is given.
func (s *script) drainRule(name string, w words) {
	r := clusterv1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.Drain.Behavior = clusterv1.MachineDrainRuleDrainBehavior(cmp.Or(w["behavior"], "Drain"))
	if w.is("order") {
		order := int32(w.number("order", 0))
		r.Spec.Drain.Order = &order
	}
	var pods clusterv1.MachineDrainRulePodSelector
	if w.is("app") {
		pods.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": w["app"]}}
	}
	if w.is("namespace") {
		pods.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w["namespace"]}}
	}
	if pods != (clusterv1.MachineDrainRulePodSelector{}) {
		r.Spec.Pods = append(r.Spec.Pods, pods)
	}
	if w.is("pool") {
		r.Spec.Machines = append(r.Spec.Machines, clusterv1.MachineDrainRuleMachineSelector{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"cluster.x-k8s.io/deployment-name": w["pool"]}},
		})
	}
	if w.is("label") {
		r.Spec.Machines = append(r.Spec.Machines, clusterv1.MachineDrainRuleMachineSelector{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{w["label"]: ""}},
		})
	}
	if w.is("control-plane") {
		r.Spec.Machines = append(r.Spec.Machines, clusterv1.MachineDrainRuleMachineSelector{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"cluster.x-k8s.io/control-plane": ""}},
		})
	}
	if w.is("stage") {
		r.Spec.Machines = append(r.Spec.Machines, clusterv1.MachineDrainRuleMachineSelector{
			ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": w["stage"]}},
		})
	}
	s.in.Desired.DrainRules = append(s.in.Desired.DrainRules, r)
}
