package topology

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// An expansion expands one cluster.
type expansion struct {
	class   *Class
	object  Object // the Cluster
	cluster clusterv1.Cluster
	version string // of control plane and pools
	engine  *engine
	cost    int64 // what CEL rules may still cost

	globals  map[string]json.RawMessage // variables of the cluster, with defaults
	builtin  map[string]any             // builtin.cluster
	out      []*Expanded
	problems []fleet.Problem
}

// An Expansion is what a class makes of a Cluster.
type Expansion struct {
	Version string // of the topology
	Objects []*Expanded
	Upgrade Upgrade
	// Older is what it makes at those kubernetesVersions of the class that are older than
	// the Cluster's, the oldest first. An upgrade may stop at each of them.
	Older []Older
}

// An Older is what a class makes of a Cluster at an older version than the Cluster's.
type Older struct {
	Version string
	Objects []*Expanded
}

// Expand returns what the class makes of a Cluster, or problems. The Cluster's fields have
// been checked against its kind.
func (c *Class) Expand(o Object) (*Expansion, []fleet.Problem) {
	e := c.engines.Get().(*engine)
	e.budget = &budget{left: maxWork}
	defer c.engines.Put(e)
	x := &expansion{class: c, object: o, engine: e, cost: rulesCost}
	if len(c.Problems) > 0 {
		first := c.Problems[0]
		x.problem("spec.topology.classRef.name", "fix the class; this is the first of its problems", "ClusterClass %s is refused: %s", c.Key, first)
		return nil, x.problems
	}
	if err := x.read(); err != nil {
		x.problem("spec.topology", "", "cannot be read: %s", err)
		return nil, x.problems
	}
	x.check()
	x.globals = x.values("spec.topology.variables", x.cluster.Spec.Topology.Variables, true)
	if len(x.problems) > 0 {
		return nil, x.problems
	}
	x.builtin = x.clusterBuiltin()
	out := &Expansion{Version: x.cluster.Spec.Topology.Version, Upgrade: x.upgrade()}
	out.Objects = x.objectsAt(x.cluster.Spec.Topology.Version, &out.Upgrade)
	x.engine.budget, x.cost = &budget{left: maxWork}, rulesCost // for all older versions together
	for _, v := range x.older() {
		if len(x.problems) > 0 {
			break
		}
		made := Older{Version: v, Objects: x.objectsAt(v, nil)}
		for i := range x.problems {
			x.problems[i].Message = fmt.Sprintf("at version %s: %s", v, x.problems[i].Message)
		}
		out.Older = append(out.Older, made)
	}
	if len(x.problems) > 0 {
		// A patch fails for each template in the same way.
		slices.SortStableFunc(x.problems, func(a, b fleet.Problem) int { return strings.Compare(a.String(), b.String()) })
		return nil, slices.Compact(x.problems)
	}
	return out, nil
}

// objectsAt returns the objects of the class at a version. It adds the names of pools to u, unless u
// is nil.
func (x *expansion) objectsAt(version string, u *Upgrade) []*Expanded {
	x.version, x.out = version, nil
	infrastructure := x.infrastructure()
	control := x.controlPlane()
	x.root(infrastructure, control)
	x.pools(u)
	return x.out
}

// read fills in the cluster in the newest version. A Kubernetes version without v gets one,
// as in Cluster API.
func (x *expansion) read() error {
	err := x.convert()
	if v := &x.cluster.Spec.Topology.Version; !strings.HasPrefix(*v, "v") {
		if _, err := version.ParseSemantic(*v); err == nil {
			*v = "v" + *v
		}
	}
	return err
}

func (x *expansion) convert() error {
	raw := marshal(x.object.Raw)
	if !x.old() {
		return json.Unmarshal(raw, &x.cluster)
	}
	var old clusterv1beta1.Cluster
	if err := json.Unmarshal(raw, &old); err != nil {
		return err
	}
	return clusterv1beta1.Convert_v1beta1_Cluster_To_v1beta2_Cluster(&old, &x.cluster, nil)
}

func (x *expansion) old() bool {
	return x.object.gvk().Version == clusterv1beta1.GroupVersion.Version
}

// problem adds what is wrong with a field of the Cluster.
func (x *expansion) problem(path, hint, format string, args ...any) {
	x.problems = append(x.problems, fleet.Problem{
		File: x.object.File, Object: x.object.String(), Field: x.written(path), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// classProblem adds what is wrong with the class for this cluster.
func (x *expansion) classProblem(path, hint, format string, args ...any) {
	if slices.ContainsFunc(x.problems, func(p fleet.Problem) bool { return strings.HasSuffix(p.Message, errWork.Error()) }) {
		return // later errors are consequences of it
	}
	x.problems = append(x.problems, fleet.Problem{
		File: x.class.object.File, Object: x.class.object.String(), Field: x.class.written(path),
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// written returns path in the version that the Cluster is written in.
func (x *expansion) written(path string) string {
	if !x.old() {
		return path
	}
	return strings.NewReplacer(
		"spec.topology.classRef.namespace", "spec.topology.classNamespace", "spec.topology.classRef.name", "spec.topology.class",
		".healthCheck.enabled", ".machineHealthCheck.enable", ".healthCheck", ".machineHealthCheck",
		".deletion.nodeDrainTimeoutSeconds", ".nodeDrainTimeout", ".rollout.strategy", ".strategy",
	).Replace(path)
}

// check keeps the rules of Cluster API's webhook for a Cluster with a topology.
// Source: Cluster API, core/webhooks/admission/cluster.go.
func (x *expansion) check() {
	t := &x.cluster.Spec.Topology
	if _, err := version.ParseSemantic(t.Version); err != nil || !strings.HasPrefix(t.Version, "v") {
		x.problem("spec.topology.version", "", `%q must be a version of Kubernetes such as "v1.34.1"`, t.Version)
	}
	if known := x.class.spec.KubernetesVersions; len(known) > 0 && !slices.Contains(known, t.Version) {
		x.problem("spec.topology.version", "it has "+strings.Join(known, ", "), "%q is not in kubernetesVersions of ClusterClass %s", t.Version, x.class.Key)
	}
	if v, ok := x.cluster.Annotations[clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation]; ok && concurrency(v) < 1 {
		x.problem("metadata.annotations."+clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation, "", "%q must be a number of pools, at least 1", v)
	}
	x.checkHosted()
	if h := &t.ControlPlane.HealthCheck; !x.class.hosted() && is(h.Enabled) && !h.IsDefined() && !x.class.spec.ControlPlane.HealthCheck.IsDefined() {
		x.problem("spec.topology.controlPlane.healthCheck.enabled", "", "neither the Cluster nor ClusterClass %s says what is healthy", x.class.Key)
	}
	deployments, pools := map[string]bool{}, map[string]bool{}
	for i := range t.Workers.MachineDeployments {
		md, at := &t.Workers.MachineDeployments[i], fmt.Sprintf("spec.topology.workers.machineDeployments[%d]", i)
		class, _ := x.class.machines(md.Class)
		if class != nil && is(md.HealthCheck.Enabled) && !md.HealthCheck.IsDefined() && !class.HealthCheck.IsDefined() {
			x.problem(at+".healthCheck.enabled", "", "neither the Cluster nor ClusterClass %s says what is healthy", x.class.Key)
		}
		x.checkPool(at, "machines", md.Class, md.Name, x.class.machineClasses(), deployments)
	}
	for i := range t.Workers.MachinePools {
		mp := &t.Workers.MachinePools[i]
		x.checkPool(fmt.Sprintf("spec.topology.workers.machinePools[%d]", i), "machine pools", mp.Class, mp.Name, x.class.poolClasses(), pools)
	}
}

// checkPool checks that a pool of the topology has one of classes, and a name that seen does not have.
func (x *expansion) checkPool(at, what, class, name string, classes []string, seen map[string]bool) {
	if !slices.Contains(classes, class) {
		x.problem(at+".class", "it has "+cmp.Or(strings.Join(classes, ", "), "none"), "ClusterClass %s has no class of %s called %q", x.class.Key, what, class)
	}
	switch {
	case name == "":
		x.problem(at+".name", "", "is required")
	case seen[name]:
		x.problem(at+".name", "rename one of them", "another pool is called %q too", name)
	}
	seen[name] = true
}

// machines returns a class of machines and its index, or nil.
func (c *Class) machines(name string) (*clusterv1.MachineDeploymentClass, int) {
	if i := slices.Index(c.machineClasses(), name); i >= 0 {
		return &c.spec.Workers.MachineDeployments[i], i
	}
	return nil, 0
}

// poolMachines returns a class of machine pools and its index, or nil.
func (c *Class) poolMachines(name string) (*clusterv1.MachinePoolClass, int) {
	if i := slices.Index(c.poolClasses(), name); i >= 0 {
		return &c.spec.Workers.MachinePools[i], i
	}
	return nil, 0
}

func (c *Class) machineClasses() []string {
	var names []string
	for i := range c.spec.Workers.MachineDeployments {
		names = append(names, c.spec.Workers.MachineDeployments[i].Class)
	}
	return names
}

func (c *Class) poolClasses() []string {
	var names []string
	for i := range c.spec.Workers.MachinePools {
		names = append(names, c.spec.Workers.MachinePools[i].Class)
	}
	return names
}

// values checks the variables that are set at path, and fills in defaults. all is for the
// variables of the whole cluster, which need all required variables, and get all defaults.
func (x *expansion) values(path string, set []clusterv1.ClusterVariable, all bool) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	check := func(name, at string, raw json.RawMessage) {
		v := x.class.variables[name]
		value, errs, left := v.check(raw, x.cost)
		x.cost = left
		for _, err := range errs {
			x.problem(at+strings.TrimPrefix(err.Field, wrapped), "", "variable %q: %s", name, oneLine(err.ErrorBody()))
		}
		if value != nil {
			out[name] = value
		}
	}
	given := map[string]bool{}
	for i, v := range set {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case x.class.variables[v.Name] == nil:
			x.problem(at+".name", "it has "+x.class.variableNames(), "ClusterClass %s has no variable %q", x.class.Key, v.Name)
			continue
		case given[v.Name]:
			x.problem(at+".name", "keep one of them", "variable %q is set twice", v.Name)
			continue
		}
		given[v.Name] = true
		raw := v.Value.Raw
		if raw == nil {
			raw = []byte("null")
		}
		check(v.Name, at+".value", raw)
	}
	if !all {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(x.class.variables)) {
		v := x.class.variables[name]
		if given[name] {
			continue
		}
		if v.hasDefault {
			check(name, path, nil)
		} else if v.required {
			x.problem(path, "", "variable %q of ClusterClass %s must be set", name, x.class.Key)
		}
	}
	return out
}

func (c *Class) variableNames() string {
	if len(c.variables) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.variables)), ", ")
}
