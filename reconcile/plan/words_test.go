package plan_test

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

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
		s.in.Desired.Drift, s.in.Desired.AllowVersion = fleet.DriftPolicy(w["drift"]), w["allow-version"]
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
		if w.is("watched") {
			s.in.Watched = s.in.Now.Add(-w.duration("watched"))
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
	case "host":
		o.Infrastructure.Hosts = append(o.Infrastructure.Hosts, s.host(f[1], w))
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
		r.MachinePools = w.is("machine-pools")
		for _, p := range places(w["places"]) {
			r.Places = append(r.Places, p.Place)
		}
		if w.is("at") {
			r.Endpoint = fleet.Endpoint{Host: w["at"], Port: 6443}
		}
	case "removed":
		r := fleet.PoolRemoval{Pool: fleet.PoolName(f[1]), DrainSeconds: w.number("drain-timeout", 0), DetachSeconds: w.number("detach-timeout", 0)}
		if w.is("exclude") {
			r.Exclude = []string{"machine.cluster.x-k8s.io/exclude-" + w["exclude"]}
		}
		if w.is("label") {
			r.Labels = map[string]string{w["label"]: ""}
		}
		r.MaxUnavailable, r.Order = w.number("unavailable", 0), fleet.DeletionOrder(w["order"])
		s.in.Memory.Removals = append(s.in.Memory.Removals, r)
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
		n := fleet.Node{Name: f[1], Annotations: map[string]string{}, ControlPlane: w.is("control-plane"), Ready: w.is("ready"), Draining: w.is("draining"), KubeletVersion: w["kubelet"]}
		if w.is("of") {
			k, _ := fleet.ParseKey(w["of"])
			n.Annotations = fleet.NodeAnnotations(k, s.in.Desired.ControlPlane, "m")
		}
		if w.is("id") {
			n.ProviderID = fleet.ProviderID("sim://" + w["id"])
		}
		if w.is("address") {
			n.Addresses = []string{w["address"]}
		}
		if w.is("unmarked") {
			n.Name, n.ProviderID = string(s.name(f[1])), fleet.ProviderID("sim://"+cmp.Or(w["id"], f[1]))
		}
		if w.is("no-machine") {
			delete(n.Annotations, clusterv1.MachineAnnotation)
		}
		if w.is("stray") {
			n.Name = string(s.name(f[1]))
			pool, _, _ := strings.Cut(f[1], "/")
			p, ok := s.in.Desired.Pool(fleet.PoolName(pool))
			if !ok {
				p = fleet.Pool{Name: fleet.PoolName(pool), Role: fleet.RoleWorker}
			}
			n.Annotations = fleet.NodeAnnotations(s.in.Desired.Key, p, s.name(cmp.Or(w["machine"], f[1])))
			if w.is("unreachable") {
				n.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
			}
			s.removal(&n, w)
		}
		o.Workload.Nodes = append(o.Workload.Nodes, n)
	case "distribution":
		s.traits = fleet.Traits{LeaveIsAsked: w.is("leave-is-asked"), NodeIsMember: w.is("node-is-member")}
	case "unmade":
		s.unmade = append(s.unmade, fleet.PoolName(f[1]))
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
	case "kept":
		s.kept(fleet.PoolName(f[1]), w)
	case "seen":
		s.seen(fleet.PoolName(f[1]), w)
	case "drain-rule":
		s.drainRule(f[1], w)
	case "retry":
		s.retry(fleet.PoolName(f[1]), w)
	case "rebooted":
		s.rebooted(f[1], w)
	case "health-check":
		s.healthCheck(f[1], w)
	default:
		return fmt.Errorf("no word %s", f[0])
	}
	return nil
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
		a.Spared, a.FailureDomain = w.is("spared"), w["domain"]
		if kind == fleet.DeleteMachine || kind == fleet.RemoveMember {
			a.ProviderID = fleet.ProviderID("sim://" + f[0])
		}
		if kind == fleet.SyncNode {
			a.Node, a.ProviderID = string(a.Machine), fleet.ProviderID("sim://"+cmp.Or(w["id"], f[0]))
			subject = a.Subject()
		}
		if kind == fleet.DeleteMachine || kind == fleet.SyncNode {
			subject += "\x00" + string(a.ProviderID)
		}
	}
	if kind == fleet.EnsurePool || kind == fleet.DeletePool {
		a.Pool = fleet.PoolName(f[0])
		subject = f[0]
		if p, ok := s.in.Desired.KeptPool(a.Pool); ok && kind == fleet.EnsurePool {
			subject += "\x00" + fleet.DigestOf(p)
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
	if w.is("reboot") {
		s.in.Desired.Provider, s.in.Desired.Reboots = "sim", map[string]fleet.RebootRules{name: {Provider: "sim", RetryLimit: w.number("reboot", 1), Timeout: 10 * time.Minute}}
	}
	s.in.Desired.HealthChecks = append(s.in.Desired.HealthChecks, h)
}

// rebooted states what is remembered of the reboots of a machine.
func (s *script) rebooted(ref string, w words) {
	s.in.Memory.Reboots = append(s.in.Memory.Reboots, fleet.Reboot{
		Machine: s.name(ref), ProviderID: fleet.ProviderID("sim://" + ref), At: s.in.Now.Add(-w.duration("ago")),
		Retry: w.number("retry", 0), Off: w.is("off"), GivenUp: w.is("given-up"),
	})
}
