package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// seen reads one line of what is to be seen otherwise.
func (s *script) seen(word string, w words) error {
	o := &s.in.Observed
	switch word {
	case "api":
		o.Workload = fleet.Workload{Message: "no route to host"}
	case "infrastructure":
		o.Infrastructure.Drift = []string{w["drift"]}
	case "machine":
		return s.machine(w)
	case "attempt":
		s.in.Attempts = append(s.in.Attempts, fleet.Attempt{Action: fleet.Action{Kind: fleet.CreateMachine, Pool: "md", Machine: s.name(w[""])}, At: s.in.Now})
	case "failure":
		o.Infrastructure.Failures = append(o.Infrastructure.Failures, fleet.Failure{Machine: s.name(w[""]), At: s.in.Now, Message: "no host is free"})
	default:
		return fmt.Errorf("no word %s", word)
	}
	return nil
}

// machine reads "machine md/0@v1.34.2 pending": how a machine is.
func (s *script) machine(w words) error {
	o := &s.in.Observed
	name := s.name(w[""])
	i := slices.IndexFunc(o.Infrastructure.Machines, func(m fleet.Machine) bool { return m.Name == name })
	if i < 0 {
		return fmt.Errorf("no machine %s", w[""])
	}
	m := &o.Infrastructure.Machines[i]
	j := slices.IndexFunc(o.Workload.Nodes, func(n fleet.Node) bool { return n.ProviderID == m.ProviderID })
	m.Silent, m.Interrupted, m.Damaged, m.Message = w.is("silent"), w.is("interrupted"), w["damaged"], w["message"]
	for _, state := range []fleet.MachineState{fleet.MachinePending, fleet.MachineFailed, fleet.MachineDeleting} {
		if w.is(strings.ToLower(string(state))) {
			m.State = state
		}
	}
	if age, err := time.ParseDuration(w["age"]); err == nil {
		m.Created, m.Origin.Made = s.in.Now.Add(-age), s.in.Now.Add(-age)
	}
	if w.is("retry") {
		m.Origin.Remediation = fleet.Remediation{Machine: "before", Retry: w.number("retry", 0), At: s.in.Now.Add(-8 * time.Minute)}
	}
	if j < 0 {
		return nil
	}
	if m.State == fleet.MachinePending || m.State == fleet.MachineFailed {
		node := o.Workload.Nodes[j].Name
		o.Workload.Nodes = slices.Delete(o.Workload.Nodes, j, j+1)
		o.Workload.Servers = slices.DeleteFunc(o.Workload.Servers, func(x fleet.Server) bool { return x.Node == node })
		if o.Workload.Etcd != nil {
			o.Workload.Etcd.Members = slices.DeleteFunc(o.Workload.Etcd.Members, func(x fleet.Member) bool { return x.Node == node })
		}
		return nil
	}
	s.node(&o.Workload.Nodes[j], m, w)
	return nil
}

// node reads how the Node of m is.
func (s *script) node(n *fleet.Node, m *fleet.Machine, w words) {
	if w.is("draining") {
		n.Evicted = w.is("evicted")
		n.Draining, n.DrainStarted = true, s.in.Now.Add(-time.Minute)
		n.Pods = []fleet.Pod{{Namespace: "default", Name: "db", Blocked: "disruption budget"}}
	}
	if w.is("hook") {
		n.Annotations[clusterv1.PreDrainDeleteHookAnnotationPrefix+"/backup"] = "someone"
	}
	if w.is("unsynced") {
		n.Annotations = map[string]string{}
	}
	if w.is("marked") {
		n.Annotations[clusterv1.DeleteMachineAnnotation] = ""
	}
	if !w.is("not-ready") {
		return
	}
	ago, _ := time.ParseDuration(w["not-ready"])
	since := s.in.Now.Add(-ago)
	n.Ready = false
	n.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since)}}
	s.in.Memory.ObservedConditions = append(s.in.Memory.ObservedConditions, fleet.ObservedCondition{
		Machine: m.Name, ProviderID: m.ProviderID, Condition: "Ready", Status: fleet.False, Since: since, Transition: since,
	})
}
