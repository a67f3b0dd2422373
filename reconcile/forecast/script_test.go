package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/plan"
)

// TestScripts runs the scripts in testdata. "git" says what Git asks for, a line each;
// "rest" makes the cluster as it is; "seen" changes what is seen of it; "forecast" tells what
// comes next. Machines are written pool/index@version; without a version, they have that of
// Git.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newScript()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			each := func(f func(word string, w words) error) {
				for line := range strings.Lines(d.Input) {
					fields := strings.Fields(line)
					if len(fields) == 0 {
						continue
					}
					if err := f(fields[0], parse(fields[1:])); err != nil {
						d.Fatalf(t, "%s: %v", strings.TrimSpace(line), err)
					}
				}
			}
			switch d.Cmd {
			case "git":
				s.in.Desired = empty()
				each(s.git)
			case "rest":
				if err := s.rest(); err != nil {
					d.Fatalf(t, "%v", err)
				}
			case "seen":
				each(s.seen)
			case "forecast":
				return s.forecast()
			default:
				d.Fatalf(t, "no command %s", d.Cmd)
			}
			return ""
		})
	})
}

// words are those of a line: the first without =, and the key=value pairs.
type words map[string]string

func parse(fields []string) words {
	w := words{}
	for _, f := range fields {
		k, v, ok := strings.Cut(f, "=")
		if !ok && w[""] == "" {
			w[""] = f
		}
		w[k] = v
	}
	return w
}

func (w words) is(k string) bool { _, ok := w[k]; return ok }

func (w words) number(k string, otherwise int) int {
	if n, err := strconv.Atoi(w[k]); err == nil {
		return n
	}
	return otherwise
}

func (w words) list(k string) []string {
	return strings.FieldsFunc(w[k], func(r rune) bool { return r == ',' })
}

type script struct{ in plan.Input }

func empty() *fleet.Cluster {
	return &fleet.Cluster{Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "sim"}
}

// newScript returns the script of a cluster of which there is nothing.
func newScript() *script {
	s := &script{in: plan.Input{Desired: empty(), Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}
	s.in.Observed.Secrets.Missing = fleet.Authorities()
	return s
}

func template(version, variant string) fleet.TemplateHash {
	return fleet.TemplateHash("1-" + version + variant)
}

// git reads one line of what Git asks for.
func (s *script) git(word string, w words) error {
	c := s.in.Desired
	switch word {
	case "cluster":
		c.Delete, c.Protect, c.Paused, c.Abandon = w.is("delete"), w.is("protect"), w.is("paused"), w.is("abandon")
		if what, value, ok := strings.Cut(w["rotate"], ":"); ok {
			c.Rotate = map[fleet.Rotation]string{fleet.Rotation(what): value}
		}
	case "control-plane":
		c.ControlPlane = pool("cp", fleet.RoleControlPlane, w)
		if w.is("retry-period") {
			period, most := int32(w.number("retry-period", 0)), int32(w.number("max-retry", 1))
			c.ControlPlane.Remediation = fleet.RemediationLimits{RetryPeriodSeconds: &period, MaxRetry: &most}
		}
	case "pool":
		c.Workers = append(c.Workers, pool(fleet.PoolName(w[""]), fleet.RoleWorker, w))
	case "class":
		s.class(w)
	case "health-check":
		timeout := int32(300)
		h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: w[""]}}
		h.Spec.Checks.UnhealthyNodeConditions = []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}}
		c.HealthChecks = append(c.HealthChecks, h)
	case "resources":
		set := fleet.ResourceSet{Name: w[""], Strategy: fleet.ReconcileStrategy, Prune: w.is("prune")}
		r := fleet.Resource{Name: "ConfigMap/" + w[""], Digest: w["objects"] + w["digest"]}
		for _, o := range w.list("objects") {
			r.Objects = append(r.Objects, fleet.Manifest{ObjectRef: object(o)})
		}
		set.Resources = []fleet.Resource{r}
		c.ResourceSets = append(c.ResourceSets, set)
	case "release":
		c.Releases = append(c.Releases, fleet.Release{
			ReleaseRef: fleet.ReleaseRef{Namespace: "net", Name: w[""]}, Proxy: w[""], Strategy: fleet.Continuous, Prune: true,
			Chart: fleet.Chart{Repository: "https://helm.example.com", Name: w[""], Version: w["version"]}, Digest: w["version"],
		})
	default:
		return fmt.Errorf("no word %s", word)
	}
	return nil
}

func object(name string) fleet.ObjectRef {
	return fleet.ObjectRef{Kind: "ConfigMap", Namespace: "net", Name: name}
}

func pool(name fleet.PoolName, role fleet.Role, w words) fleet.Pool {
	version := cmp.Or(w["version"], "v1.34.2")
	p := fleet.Pool{
		Name: name, Role: role, Replicas: w.number("replicas", 1), Version: version, Template: template(version, w["template"]),
		Strategy: fleet.RollingUpdate, MaxSurge: w.number("surge", 1), MaxUnavailable: w.number("unavailable", 0),
		MaxRemediations: -1, DeletionOrder: fleet.DeleteRandom, MinReadySeconds: w.number("min-ready", 0), Paused: w.is("paused"),
	}
	if w.is("on-delete") {
		p.Strategy = fleet.OnDelete
	}
	if w.is("label") {
		p.NodeLabels = map[string]string{"node-role.kubernetes.io/" + w["label"]: ""}
	}
	if w.is("rollout-after") {
		after, _ := time.ParseDuration(w["rollout-after"])
		p.RolloutAfter = newScript().in.Now.Add(after)
	}
	return p
}

// class reads "class versions=v1.33.4,v1.34.2 defer=md", which comes after the pools.
func (s *script) class(w words) {
	c := s.in.Desired
	c.Topology = &fleet.Topology{Class: fleet.Key{Namespace: "prod", Name: "dev"}, Listed: true, Concurrency: 1, Deferred: map[fleet.PoolName]string{}}
	for _, p := range c.Workers {
		c.Topology.Order = append(c.Topology.Order, p.Name)
	}
	for _, name := range w.list("defer") {
		c.Topology.Deferred[fleet.PoolName(name)] = "an annotation"
	}
	for _, v := range w.list("versions") {
		older := fleet.ClassVersion{Version: v, Pools: map[fleet.PoolName]fleet.Blueprint{}}
		for _, p := range c.Pools() {
			b := p.Blueprint()
			b.Template = template(v, "")
			older.Pools[p.Name] = b
		}
		c.Topology.Older = append(c.Topology.Older, older)
	}
}

// input returns what a plan is made of, where kubeadm says what is due.
func (s *script) input() plan.Input {
	in := s.in
	in.Observed.Distribution = providers.Facts(kubeadm.New(nil), in.Desired, &in.Observed)
	return in
}

// rest carries plans out on a model, from nothing, until there is nothing left to do. What
// the model made becomes what is there: under ids of the infrastructure, and older than the
// model makes it.
func (s *script) rest() error {
	desired := s.in.Desired
	s.in = newScript().in
	s.in.Desired = desired
	m := newModel(s.input())
	for range 1000 {
		p := plan.Compute(m.input())
		m.memory = p.Memory
		if len(p.Actions) == 0 && !p.NeedEtcd {
			s.in.Observed, s.in.Memory = m.observed, m.memory
			s.in.Observed.Workload.Applied, s.in.Observed.Workload.Made = inLine(s.in.Desired), &fleet.Made{Membership: fleet.MembershipPerMachine}
			s.rename()
			return nil
		}
		for _, a := range p.Actions {
			m.carryOut(p.Desired, a)
		}
		if p.NeedEtcd {
			m.listMembers()
		}
	}
	return fmt.Errorf("the cluster does not come to rest")
}

// inLine is a kubeadm-config that is as c asks for.
func inLine(c *fleet.Cluster) *fleet.Applied {
	config, addons := kubeadm.Marks(&c.ControlPlane)
	return &fleet.Applied{Version: c.ControlPlane.Version, Marks: map[string]string{"SyncKubeadmConfig": config, "SyncAddons": addons}}
}

func (s *script) rename() {
	o := &s.in.Observed
	for i := range o.Infrastructure.Machines {
		m := &o.Infrastructure.Machines[i]
		id := fleet.ProviderID("sim://" + string(m.Name))
		if j := slices.IndexFunc(o.Workload.Nodes, func(n fleet.Node) bool { return n.ProviderID == m.ProviderID }); j >= 0 {
			o.Workload.Nodes[j].ProviderID = id
		}
		m.ProviderID, m.Created, m.Origin.Made = id, s.in.Now.Add(-time.Hour), s.in.Now.Add(-time.Hour)
	}
}

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

// name returns the name of pool/index@version.
func (s *script) name(ref string) fleet.MachineName {
	of, rest, _ := strings.Cut(ref, "/")
	index, version, _ := strings.Cut(rest, "@")
	i, _ := strconv.Atoi(index)
	p, _ := s.in.Desired.Pool(fleet.PoolName(of))
	if version != "" {
		p = fleet.Pool{Name: fleet.PoolName(of), Template: template(version, "")}
	}
	return fleet.NewMachineName(s.in.Desired.Key, p.Name, p.Template, i)
}

// readable writes names of machines as scripts do.
func (s *script) readable(text string) string {
	for _, of := range []fleet.PoolName{"cp", "md", "a", "b"} {
		for _, version := range []string{"v1.31.1", "v1.32.1", "v1.33.4", "v1.34.2", "v1.34.2x", "v1.35.0"} {
			for i := range 8 {
				ref := fmt.Sprintf("%s/%d@%s", of, i, version)
				text = strings.ReplaceAll(text, string(s.name(ref)), ref)
			}
		}
	}
	return text
}

func (s *script) forecast() string {
	f := Of(s.input())
	var b strings.Builder
	for _, c := range f.Changes {
		b.WriteString(string(c.Kind))
		for _, of := range []string{string(c.Machine), c.Addon} {
			if of != "" {
				b.WriteString(" " + of)
			}
		}
		if c.By != "" {
			fmt.Fprintf(&b, " by %s", c.By)
		}
		fmt.Fprintf(&b, ": %s\n", c.Reason)
	}
	if len(f.Changes) == 0 {
		b.WriteString("nothing\n")
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&b, "note %s\n", n)
	}
	return s.readable(b.String())
}
