package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// words are the key=value pairs of a line, and the words that stand alone.
type words map[string]string

func parse(fields []string) words {
	w := words{}
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		w[k] = v
	}
	return w
}

func (w words) is(k string) bool { _, ok := w[k]; return ok }

func (w words) number(k string, def int) int {
	if n, err := strconv.Atoi(w[k]); err == nil {
		return n
	}
	return def
}

func (w words) duration(k string) time.Duration {
	d, _ := time.ParseDuration(w[k])
	return d
}

// places are ids with commas between them; those with a star are used.
func places(list string) []fleet.PlaceSeen {
	var out []fleet.PlaceSeen
	for _, id := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		name, used := strings.CutSuffix(id, "*")
		name, named := strings.CutSuffix(name, "+")
		out = append(out, fleet.PlaceSeen{Place: fleet.Place{ID: name}, Used: used, Named: named})
	}
	return out
}

func (s *script) read(f []string) error {
	if len(f) == 0 || strings.HasPrefix(f[0], "#") {
		return nil
	}
	w := parse(f[1:])
	o := &s.in.Observed
	switch f[0] {
	case "cluster":
		s.in.Desired.Delete, s.in.Desired.Protect, s.in.Desired.Paused = w.is("delete"), w.is("protect"), w.is("paused")
		for _, g := range strings.FieldsFunc(w["gates"], func(r rune) bool { return r == ',' }) {
			gate := clusterv1.ClusterAvailabilityGate{ConditionType: strings.TrimPrefix(g, "not-")}
			if gate.ConditionType != g {
				gate.Polarity = clusterv1.NegativePolarityCondition
			}
			s.in.Desired.AvailabilityGates = append(s.in.Desired.AvailabilityGates, gate)
		}
		s.in.Desired.DeletionRefused = w.is("deletion-refused")
		s.in.Desired.LeaveExternal = w.is("leave-external")
		s.in.Desired.Drift = fleet.DriftPolicy(w["drift"])
		s.before = w["before"]
		s.in.NeverAnswered = w.is("never-answered")
		s.in.Memory.Remediation = s.remediation(w["remediation"])
		s.in.Desired.Rotate = rotate(w)
		s.in.Desired.Network.ServiceDomain = w["domain"]
		if w.is("services") {
			s.in.Desired.Network.Services.CIDRBlocks = []string{w["services"]}
		}
		if w.is("external-etcd") {
			s.in.Desired.ControlPlane.Bootstrap.Spec = []byte(`{"clusterConfiguration":{"etcd":{"external":{"endpoints":["https://10.0.0.5:2379"]}}}}`)
		}
		if w.is("suspended") {
			s.in.Desired.Suspension = &fleet.Suspension{Reason: "moving"}
			if w["suspended"] != "" {
				s.in.Desired.Suspension.Until = s.in.Now.Add(w.duration("suspended"))
			}
		}
		if w.is("stage") {
			s.in.Desired.Labels = map[string]string{"stage": w["stage"]}
		}
		if w.is("since") {
			s.in.Since = s.in.Now.Add(-w.duration("since"))
		}
		if w.is("clock-set") {
			s.in.ClockSet = s.in.Now.Add(-w.duration("clock-set"))
		}
		if w.is("look") {
			o.Until = s.in.Now.Add(w.duration("look"))
		}
	case "guest":
		s.guest(f[1], w)
	case "hosted":
		s.hosted(w)
	case "infrastructure":
		o.Silence = w["away"]
		o.Infrastructure.Ready = w.is("ready")
		if d := w["drift"]; d != "" {
			o.Infrastructure.Drift = []string{d}
			if w.is("upkeep") {
				o.Infrastructure.Upkeep = []string{d}
			}
		}
		o.Infrastructure.Exists = !w.is("none")
		o.Infrastructure.Places = places(w["places"])
		if w.is("at") {
			o.Infrastructure.Endpoint.Host = w["at"]
		}
		if w.is("no-endpoint") {
			o.Infrastructure.Endpoint = fleet.Endpoint{}
		}
		for _, d := range strings.FieldsFunc(w["domains"], func(r rune) bool { return r == ',' }) {
			o.Infrastructure.FailureDomains = append(o.Infrastructure.FailureDomains, fleet.FailureDomain{Name: strings.TrimPrefix(d, "-"), ControlPlane: !strings.HasPrefix(d, "-")})
		}
	case "failure":
		op := fleet.NewOperationID(s.in.Desired.Key, fleet.CreateMachine, string(s.in.Desired.Fleet)+"\x00"+string(s.name(w["of"])))
		o.Infrastructure.Failures = append(o.Infrastructure.Failures, fleet.Failure{Machine: s.name(w["of"]), Operation: op, At: s.in.Now.Add(-w.duration("ago")), Message: w["message"]})
	case "lives":
		r := &s.in.Memory.Residence
		r.Provider, r.ControlPlane, r.Recreated = cmp.Or(w["provider"], "sim"), fleet.Initialization(w["control-plane"]), w["recreated"]
		for _, p := range places(w["places"]) {
			r.Places = append(r.Places, p.Place)
		}
		if w.is("at") {
			r.Endpoint = fleet.Endpoint{Host: w["at"], Port: 6443}
		}
	case "git":
		s.in.Desired.Recreate = w["recreate"]
		if w.is("endpoint") {
			s.in.Desired.Endpoint = fleet.Endpoint{Host: w["endpoint"], Port: 6443}
		}
	case "secrets":
		if w.is("none") {
			o.Secrets = fleet.SecretState{Missing: fleet.Authorities()}
		}
		if w.is("no-kubeconfig") {
			o.Secrets.Kubeconfig = fleet.KubeconfigState{}
		}
		if w.is("kubeconfig-only") {
			o.Secrets.Missing = fleet.Authorities()
		}
		if w.is("missing") {
			o.Secrets.Missing = []fleet.SecretName{fleet.SecretName(w["missing"])}
		}
		for _, name := range strings.FieldsFunc(w["brought"], func(r rune) bool { return r == ',' }) {
			o.Secrets.Kept = append(o.Secrets.Kept, fleet.SecretName(name))
		}
		if w.is("expiring") {
			o.Secrets.Kubeconfig.NotBefore = s.in.Now.AddDate(0, -7, 0)
			o.Secrets.Kubeconfig.NotAfter = s.in.Now.AddDate(0, 5, 0)
		}
		if w.is("half") {
			o.Secrets.Kubeconfig.NotBefore, o.Secrets.Kubeconfig.NotAfter = s.in.Now, s.in.Now.Add(2*w.duration("half"))
		}
		o.Secrets.Kubeconfig.Former = w.is("former")
		s.rotated(w)
		if w.is("moved") {
			o.Secrets.Kubeconfig.Endpoint.Host = "10.0.0.9"
		}
	case "api":
		o.Workload.Reachable = !w.is("down")
		o.Workload.Message, o.Workload.Ahead = w["message"], w.duration("ahead")
		if w.is("answered") {
			s.in.Answered = s.in.Now.Add(-w.duration("answered"))
		}
	case "external":
		r := fleet.ExternalResource{Object: fleet.ObjectRef{Kind: f[1], Namespace: w["in"], Name: f[2]}}
		if claim := w["claim"]; claim != "" {
			r.Claim = fleet.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: w["in"], Name: claim}
		}
		o.Workload.External = append(o.Workload.External, r)
	case "etcd":
		s.known = true
	case "kubeadm":
		s.kubeadm = w
	case "control-plane":
		setPool(&s.in.Desired.ControlPlane, w)
	case "pool":
		p := cluster(1, 1).Workers[0]
		p.Name = fleet.PoolName(f[1])
		setPool(&p, w)
		p.Provider = w["on"]
		s.in.Desired.Workers = append(s.in.Desired.Workers, p)
	case "machine":
		s.machine(f[1], w)
	case "member":
		name := f[1]
		if name == "unnamed" {
			name = ""
		} else if strings.Contains(name, "/") {
			name = string(s.name(name))
		}
		node := name
		if w.is("on") {
			node = string(s.name(w["on"]))
		}
		s.etcd.Members = append(s.etcd.Members, fleet.Member{ID: uint64(len(s.etcd.Members) + 1), Name: name, Node: node, Healthy: !w.is("sick"), Learner: w.is("learner")})
	case "node":
		n := fleet.Node{Name: f[1], Annotations: map[string]string{}, ControlPlane: w.is("control-plane"), Ready: w.is("ready"), Draining: w.is("draining")}
		if w.is("of") {
			k, _ := fleet.ParseKey(w["of"])
			n.Annotations = fleet.NodeAnnotations(k, s.in.Desired.ControlPlane, "m")
		}
		if w.is("id") {
			n.ProviderID = fleet.ProviderID("sim://" + w["id"])
		}
		if w.is("unmarked") {
			n.Name, n.ProviderID = string(s.name(f[1])), fleet.ProviderID("sim://"+cmp.Or(w["id"], f[1]))
		}
		if w.is("no-machine") {
			delete(n.Annotations, clusterv1.MachineAnnotation)
		}
		if w.is("stray") {
			n.Name = string(s.name(f[1]))
			n.Annotations = fleet.NodeAnnotations(s.in.Desired.Key, s.in.Desired.ControlPlane, fleet.MachineName(n.Name))
		}
		o.Workload.Nodes = append(o.Workload.Nodes, n)
	case "distribution":
		s.traits = fleet.Traits{LeaveIsAsked: w.is("leave-is-asked"), NodeIsMember: w.is("node-is-member")}
	case "attempt":
		s.attempt(fleet.ActionKind(f[1]), w, f[2:])
	case "spell":
		c := strings.Split(w["condition"], ":")
		d, _ := time.ParseDuration(c[2])
		s.in.Memory.ObservedConditions = append(s.in.Memory.ObservedConditions, fleet.ObservedCondition{
			Machine: s.name(f[1]), ProviderID: fleet.ProviderID("sim://" + cmp.Or(w["id"], f[1])),
			Condition: c[0], Status: fleet.ConditionStatus(c[1]), Since: s.in.Now.Add(-d),
		})
	case "topology":
		s.topology(w)
	case "drain-rule":
		s.drainRule(f[1], w)
	case "health-check":
		s.healthCheck(f[1], w)
	default:
		return fmt.Errorf("no word %s", f[0])
	}
	return nil
}

// guest states that a provider has workers of the cluster: in Git unless it left, and as it
// was seen.
func (s *script) guest(provider string, w words) {
	infrastructure := fleet.Object{Name: "of-" + provider}
	if !w.is("left") {
		s.in.Desired.Guests = append(s.in.Desired.Guests, fleet.Site{Provider: provider, Infrastructure: infrastructure})
	}
	if w.is("known") {
		g := fleet.Site{Provider: provider, Infrastructure: infrastructure}.Remembered()
		for _, p := range places(w["known"]) {
			g.Places = append(g.Places, p.Place)
		}
		s.in.Memory.Residence.Guests = append(s.in.Memory.Residence.Guests, g)
	}
	if w.is("settle") {
		s.in.SettleTimes = fleet.SettleTimes{provider: w.duration("settle")}
	}
	seen := fleet.GuestSeen{Provider: provider, Silence: w["away"]}
	if seen.Silence == "" {
		seen.Infrastructure = fleet.Infrastructure{Exists: !w.is("none"), Ready: w.is("ready"), Message: w["message"], Places: places(w["places"])}
		if d := w["drift"]; d != "" {
			seen.Infrastructure.Drift = []string{d}
		}
	}
	s.in.Observed.Guests = append(s.in.Observed.Guests, seen)
}

func setPool(p *fleet.Pool, w words) {
	p.Replicas = w.number("replicas", 1)
	p.Version = cmp.Or(w["version"], "v1.34.2")
	p.Template = template(p.Version, w["template"])
	if w.is("former") {
		p.Former = []fleet.TemplateHash{fleet.TemplateHash(w["former"])}
	}
	p.MaxSurge = w.number("surge", 1)
	p.MaxUnavailable = w.number("unavailable", 0)
	p.MinReadySeconds = w.number("min-ready", 0)
	p.MaxRemediations = w.number("remediations", -1)
	p.NodeDrainTimeoutSeconds = w.number("drain-timeout", 0)
	p.NodeVolumeDetachTimeoutSeconds = w.number("detach-timeout", 0)
	p.DeletionOrder = fleet.DeletionOrder(cmp.Or(w["order"], "Random"))
	p.Paused = w.is("paused")
	if w.is("replace") {
		p.Replace = map[fleet.ProviderID]string{fleet.ProviderID("sim://" + w["replace"]): "asked for by Ada"}
	}
	if w.is("remediate") {
		p.Remediate = map[fleet.ProviderID]string{fleet.ProviderID("sim://" + w["remediate"]): "asked for by Ada"}
	}
	if w.is("gate") {
		g := clusterv1.MachineReadinessGate{ConditionType: strings.TrimPrefix(w["gate"], "not-")}
		if g.ConditionType != w["gate"] {
			g.Polarity = clusterv1.NegativePolarityCondition
		}
		p.ReadinessGates = append(p.ReadinessGates, g)
	}
	if w.is("on-delete") {
		p.Strategy = fleet.OnDelete
	}
	if w.is("alone") {
		p.Kind, p.Strategy = fleet.LoneMachine, fleet.OnDelete
	}
	if w.is("set") {
		p.Kind, p.Strategy = fleet.LoneMachineSet, fleet.OnDelete
	}
	if w.is("annotate") {
		key := w["annotate"]
		if !strings.Contains(key, "/") {
			key = "cluster.x-k8s.io/" + key
		}
		p.Annotations = map[string]string{key: ""}
	}
	setRollout(p, w)
	if w.is("label") {
		p.NodeLabels = map[string]string{"node-role.kubernetes.io/" + w["label"]: ""}
	}
}

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
		State: fleet.MachineRunning, Created: s.in.Now.Add(-age), FailureDomain: w["domain"], Message: w["message"], Silent: w.is("silent"), Interrupted: w.is("interrupted"),
	}
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
		n.Labels = nil
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

func (s *script) attempt(kind fleet.ActionKind, w words, f []string) {
	a := fleet.Action{Kind: kind, Cluster: s.in.Desired.Key, Provider: w["on"]}
	subject := ""
	if len(f) > 0 && strings.Contains(f[0], "/") {
		a.Machine = s.name(f[0])
		a.Pool = fleet.PoolName(strings.Split(f[0], "/")[0])
		if _, version, made := strings.Cut(f[0], "@"); made && kind == fleet.CreateMachine {
			a.Template = template(version, "")
		}
		subject = string(a.Machine)
		a.Join = fleet.JoinWorker
		if strings.HasPrefix(f[0], "cp") {
			a.Join = fleet.JoinControlPlane
		}
		if kind == fleet.DeleteMachine || kind == fleet.RemoveMember {
			a.ProviderID = fleet.ProviderID("sim://" + f[0])
		}
		if kind == fleet.DeleteMachine {
			subject += "\x00" + string(a.ProviderID)
		}
	}
	if a.Provider != "" { // after what is done to, before which of several
		subject = a.Subject() + "\x00" + a.Provider + strings.TrimPrefix(subject, string(a.Machine))
	}
	a.Operation = fleet.NewOperationID(a.Cluster, kind, string(s.in.Desired.Fleet)+"\x00"+subject)
	s.in.Attempts = append(s.in.Attempts, fleet.Attempt{Action: a, At: s.in.Now.Add(-w.duration("age")), Answered: w.is("answered")})
}

func (s *script) healthCheck(name string, w words) {
	timeout := int32(300)
	h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: name}}
	h.Spec.Checks.UnhealthyNodeConditions = []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}}
	if c := strings.Split(w["machine"], ":"); len(c) == 3 {
		d, _ := time.ParseDuration(c[2])
		s := int32(d / time.Second)
		h.Spec.Checks.UnhealthyNodeConditions = nil
		h.Spec.Checks.UnhealthyMachineConditions = []clusterv1.UnhealthyMachineCondition{{Type: c[0], Status: metav1.ConditionStatus(c[1]), TimeoutSeconds: &s}}
	}
	if w.is("startup") {
		n := int32(w.number("startup", 0))
		h.Spec.Checks.NodeStartupTimeoutSeconds = &n
	}
	if w.is("most") {
		most := intstr.Parse(w["most"])
		h.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo = &most
	}
	h.Spec.Remediation.TriggerIf.UnhealthyInRange = w["range"]
	if w.is("control-plane") {
		h.Spec.Selector.MatchLabels = map[string]string{"cluster.x-k8s.io/control-plane": ""}
	}
	if w.is("pool") {
		h.Spec.Selector.MatchLabels = map[string]string{"cluster.x-k8s.io/deployment-name": w["pool"]}
	}
	s.in.Desired.HealthChecks = append(s.in.Desired.HealthChecks, h)
}
