package plan_test

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// name returns the name of pool/index@version.
func (s *script) name(ref string) fleet.MachineName {
	pool, rest, _ := strings.Cut(ref, "/")
	index, version, _ := strings.Cut(rest, "@")
	i, _ := strconv.Atoi(index)
	n := fleet.NewMachineName(s.in.Desired.Key, fleet.PoolName(pool), template(version, ""), i)
	if p, ok := s.in.Desired.Pool(fleet.PoolName(pool)); ok && p.Kind == fleet.LoneMachine {
		return s.in.Desired.MachineName(&p, i)
	}
	s.alias[string(n)] = ref
	return n
}

func (s *script) machine(ref string, w words) {
	pool, rest, _ := strings.Cut(ref, "/")
	_, version, _ := strings.Cut(rest, "@")
	age := time.Hour
	if w.is("age") {
		age = w.duration("age")
	}
	m := fleet.Machine{
		Name: s.name(ref), Pool: fleet.PoolName(pool), Role: fleet.RoleWorker, Version: version, Template: template(version, ""),
		State: fleet.MachineRunning, Created: s.in.Now.Add(-age), FailureDomain: w["domain"], Message: w["message"], Silent: w.is("silent"), Interrupted: w.is("interrupted"), Elsewhere: w.is("elsewhere"),
	}
	m.Power = fleet.HostPower(w["power"])
	if w.is("released") {
		m.State = fleet.MachineReleased
	}
	m.ProviderID = fleet.ProviderID("sim://" + cmp.Or(w["id"], ref))
	if w.is("no-id") {
		m.ProviderID = ""
	}
	if w.is("template") {
		m.Template = template(version, w["template"])
	}
	if w.is("schema") {
		m.Template = fleet.TemplateHash(w["schema"] + "-" + version + w["template"])
	}
	if strings.HasPrefix(pool, "cp") {
		m.Role = fleet.RoleControlPlane
	}
	for _, state := range []fleet.MachineState{fleet.MachinePending, fleet.MachineFailed, fleet.MachineDeleting} {
		if w.is(strings.ToLower(string(state))) {
			m.State = state
		}
	}
	s.origin(&m, w)
	if m.Provider = w["on"]; w.is("hidden") { // where nobody can look
		s.node(m, w, age)
		return
	}
	s.in.Observed.Infrastructure.Machines = append(s.in.Observed.Infrastructure.Machines, s.tampered(m, w))
	if !w.is("no-node") && m.State != fleet.MachinePending && (m.State != fleet.MachineFailed || w.is("works")) {
		s.node(m, w, age)
	}
}

// tampered returns m as its tags have it, after somebody took one away or wrote
// another value: lost=role, damaged=pool:x.
func (s *script) tampered(m fleet.Machine, w words) fleet.Machine {
	if !w.is("lost") && !w.is("damaged") {
		return m
	}
	tags := s.in.Desired.MachineTags(fleet.Pool{Name: m.Pool, Role: m.Role, Template: m.Template, Version: m.Version}, m.Name, m.Operation)
	maps.Copy(tags, m.Origin.Tags())
	if w.is("lost") {
		delete(tags, "fairlead.dev/"+w["lost"])
	}
	if tag, value, ok := strings.Cut(w["damaged"], ":"); ok {
		tags["fairlead.dev/"+tag] = value
	}
	is := fleet.MachineFromTags(tags)
	m.Name, m.Pool, m.Role, m.Template, m.Version, m.Damaged = is.Name, is.Pool, is.Role, is.Template, is.Version, is.Damaged
	return m
}

// node adds the Node, and the etcd member, of m.
func (s *script) node(m fleet.Machine, w words, age time.Duration) {
	p, ok := s.in.Desired.Pool(m.Pool)
	if !ok {
		p = fleet.Pool{Name: m.Pool, Role: m.Role}
	}
	n := fleet.Node{
		Name: string(m.Name), ProviderID: m.ProviderID, KubeletVersion: m.Version, Ready: !w.is("not-ready"),
		ControlPlane: m.Role == fleet.RoleControlPlane,
		Labels:       maps.Clone(p.NodeLabels), Annotations: map[string]string{},
	}
	status, since := corev1.ConditionTrue, age/2
	if !n.Ready {
		status, since = corev1.ConditionFalse, w.duration("not-ready")
	}
	if w.is("silent") {
		status = corev1.ConditionUnknown
	}
	if w.is("ready") {
		since = w.duration("ready")
	}
	n.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(s.in.Now.Add(-since))}}
	s.watched(m, w, n.Conditions[0])
	if w.is("created") {
		n.Created = s.in.Now.Add(-w.duration("created"))
	}
	if !w.is("unsynced") {
		n.Annotations = fleet.NodeAnnotations(s.in.Desired.Key, p, m.Name)
	}
	if w.is("node-name") {
		n.Name = w["node-name"]
	}
	if w.is("node-id") {
		n.ProviderID = ""
		if id := w["node-id"]; id != "" {
			n.ProviderID = fleet.ProviderID("sim://" + id)
		}
	}
	if w.is("no-pressure") {
		n.Conditions = append(n.Conditions, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse})
	}
	if w.is("condition") {
		kind, rest, _ := strings.Cut(w["condition"], ":")
		status, ago, _ := strings.Cut(rest, ":")
		d, _ := time.ParseDuration(ago)
		n.Conditions = append(n.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastTransitionTime: metav1.NewTime(s.in.Now.Add(-d)),
		})
		s.watched(m, w, n.Conditions[len(n.Conditions)-1])
	}
	if w.is("outdated") {
		n.Taints = append(n.Taints, clusterv1.NodeOutdatedRevisionTaint)
	}
	if w.is("unlabelled") {
		n.Labels, n.ControlPlane = nil, false
	}
	s.removal(&n, w)
	for _, a := range strings.FieldsFunc(w["annotate"], func(r rune) bool { return r == ',' }) {
		n.Annotations["cluster.x-k8s.io/"+a] = ""
	}
	expires := s.certificates(&n, w)
	s.in.Observed.Workload.Nodes = append(s.in.Observed.Workload.Nodes, n)
	if n.ControlPlane {
		s.in.Observed.Workload.Servers = append(s.in.Observed.Workload.Servers, fleet.Server{
			Node: n.Name, Ready: n.Ready && !w.is("pods-not-ready"), CertificatesNotAfter: expires,
		})
	}
	if m.Role == fleet.RoleControlPlane && w["member"] != "none" {
		s.etcd.Members = append(s.etcd.Members, fleet.Member{
			ID: uint64(len(s.etcd.Members) + 1), Name: n.Name, Node: n.Name, Healthy: w["member"] != "sick" && !w.is("not-ready"), Learner: w["member"] == "learner",
		})
	}
}

// watched has the agent remember that it saw c of the Node of m from the moment
// that it became so, unless it is unseen.
func (s *script) watched(m fleet.Machine, w words, c corev1.NodeCondition) {
	if w.is("unseen") {
		return
	}
	at := c.LastTransitionTime.UTC()
	for _, condition := range []string{string(c.Type), clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition} {
		for _, status := range []fleet.ConditionStatus{fleet.True, fleet.False, fleet.StatusUnknown} {
			s.in.Memory.ObservedConditions = append(s.in.Memory.ObservedConditions, fleet.ObservedCondition{
				Machine: m.Name, ProviderID: m.ProviderID, Condition: condition, Status: status, Since: at, Transition: at,
			})
		}
	}
}
