package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// checkPatches checks the rules of Cluster API's webhook for the patches of a class, and
// parses their templates. Source: Cluster API, core/webhooks/admission/patch_validation.go.
func (c *Class) checkPatches() {
	e := newEngine()
	defer c.engines.Put(e)
	seen := map[string]bool{}
	for i := range c.spec.Patches {
		p, at := &c.spec.Patches[i], fmt.Sprintf("spec.patches[%d]", i)
		switch {
		case p.Name == "":
			c.problem(at+".name", "", "is required")
		case seen[p.Name]:
			c.problem(at+".name", "rename one of them", "another patch is called %q too", p.Name)
		}
		seen[p.Name] = true
		if len(p.Definitions) == 0 {
			c.problem(at+".definitions", "", "patch %q has none", p.Name)
		}
		if p.EnabledIf != "" {
			c.parses(e, at+".enabledIf", p.Name, p.EnabledIf)
		}
		for j := range p.Definitions {
			c.checkDefinition(e, p, &p.Definitions[j], fmt.Sprintf("%s.definitions[%d]", at, j))
		}
	}
}

func (c *Class) parses(e *engine, at, patch, text string) {
	if _, err := e.parse(text); err != nil {
		c.problem(at, "", "the template of patch %q cannot be read: %s", patch, err)
	}
}

func (c *Class) checkDefinition(e *engine, p *clusterv1.ClusterClassPatch, d *clusterv1.PatchDefinition, at string) {
	c.checkSelector(p, &d.Selector, at+".selector")
	for k := range d.JSONPatches {
		op, at := &d.JSONPatches[k], fmt.Sprintf("%s.jsonPatches[%d]", at, k)
		if !slices.Contains([]string{"add", "replace", "remove"}, op.Op) {
			c.problem(at+".op", "use one of: add, replace, remove", "%q is not an operation of patch %q", op.Op, p.Name)
			continue
		}
		if op.Path != "/spec" && !strings.HasPrefix(op.Path, "/spec/") {
			c.problem(at+".path", "", "patch %q may change what is below /spec/ only, not %s", p.Name, op.Path)
		}
		for part := range strings.SplitSeq(op.Path, "/") {
			if n, err := strconv.Atoi(part); err == nil && (op.Op != "add" || n != 0) {
				c.problem(at+".path", `add to a list in front with 0 or at its end with -, or replace all of it`, "patch %q cannot reach element %d of a list", p.Name, n)
			}
		}
		if op.Op != "remove" {
			c.checkValue(e, p, op, at)
		}
	}
}

func (c *Class) checkValue(e *engine, p *clusterv1.ClusterClassPatch, op *clusterv1.JSONPatch, at string) {
	if (op.Value == nil) == (op.ValueFrom == nil) {
		c.problem(at, "", "patch %q needs one of value and valueFrom", p.Name)
		return
	}
	if op.ValueFrom == nil {
		return
	}
	variable, text := op.ValueFrom.Variable, op.ValueFrom.Template
	if (variable == "") == (text == "") {
		c.problem(at+".valueFrom", "", "patch %q needs one of variable and template", p.Name)
		return
	}
	if text != "" {
		c.parses(e, at+".valueFrom.template", p.Name, text)
		return
	}
	name, _, _ := strings.Cut(variable, ".")
	name, _, err := segment(name)
	if err != nil {
		c.problem(at+".valueFrom.variable", "", "%q is not the path of a variable: %s", variable, err)
		return
	}
	if _, ok := c.variables[name]; name == builtin && !isBuiltin(variable) || name != builtin && !ok {
		c.problem(at+".valueFrom.variable", "", "patch %q takes a value from %q, which is no variable of the class", p.Name, variable)
	}
}

// isBuiltin reports whether path is a builtin variable of Cluster API that Git can know: a
// cluster has no uid here.
func isBuiltin(path string) bool {
	path, _, _ = strings.Cut(path, "[")
	path = strings.TrimPrefix(strings.TrimPrefix(path, builtin), ".")
	known := []string{
		"", "cluster", "cluster.name", "cluster.namespace",
		"cluster.topology", "cluster.topology.version", "cluster.topology.class", "cluster.topology.classNamespace",
		"cluster.topology.classRef.name", "cluster.topology.classRef.namespace",
		"cluster.network", "cluster.network.serviceDomain", "cluster.network.services", "cluster.network.pods",
		"controlPlane", "controlPlane.name", "controlPlane.replicas", "controlPlane.version",
		"controlPlane.machineTemplate.infrastructureRef.name",
		"machineDeployment", "machineDeployment.class", "machineDeployment.name", "machineDeployment.replicas",
		"machineDeployment.topologyName", "machineDeployment.version",
		"machineDeployment.bootstrap.configRef.name", "machineDeployment.infrastructureRef.name",
	}
	path = strings.Replace(path, "machinePool", "machineDeployment", 1) // it has the same
	for _, object := range []string{"cluster", "controlPlane", "machineDeployment"} {
		for _, m := range []string{".metadata.labels", ".metadata.annotations"} {
			if path == object+m || strings.HasPrefix(path, object+m+".") {
				return true
			}
		}
	}
	return slices.Contains(known, path)
}

// checkSelector refuses a selector that can match nothing: the patch would silently have no
// effect.
func (c *Class) checkSelector(p *clusterv1.ClusterClassPatch, s *clusterv1.PatchSelector, at string) {
	at += ".matchResources"
	is1 := func(r clusterv1.ClusterClassTemplateReference) bool {
		return s.Kind == r.Kind && s.APIVersion == r.APIVersion
	}
	never := func(at string) {
		c.problem(at, "", "patch %q selects nothing: the class refers to no %s of %s there", p.Name, s.Kind, s.APIVersion)
	}
	m := &s.MatchResources
	var deployments, pools []string
	if m.MachineDeploymentClass != nil {
		deployments = m.MachineDeploymentClass.Names
	}
	if m.MachinePoolClass != nil {
		pools = m.MachinePoolClass.Names
	}
	if !is(m.InfrastructureCluster) && !is(m.ControlPlane) && len(deployments)+len(pools) == 0 {
		c.problem(at, "use controlPlane, infrastructureCluster, machineDeploymentClass or machinePoolClass", "patch %q selects nothing", p.Name)
	}
	if is(m.InfrastructureCluster) && !is1(c.spec.Infrastructure.TemplateRef) {
		never(at + ".infrastructureCluster")
	}
	if is(m.ControlPlane) && !is1(c.spec.ControlPlane.TemplateRef) && !is1(c.spec.ControlPlane.MachineInfrastructure.TemplateRef) {
		never(at + ".controlPlane")
	}
	classes := func(list string, names []string, selected func(name string) bool) {
		for i, name := range names {
			at := fmt.Sprintf("%s.%s.names[%d]", at, list, i)
			if n := strings.Count(name, "*"); n > 1 || n == 1 && !strings.HasPrefix(name, "*") && !strings.HasSuffix(name, "*") {
				c.problem(at, "", "%q: a * may be the first or the last letter only", name)
			} else if !selected(name) {
				never(at)
			}
		}
	}
	classes("machineDeploymentClass", deployments, func(name string) bool {
		return slices.ContainsFunc(c.spec.Workers.MachineDeployments, func(md clusterv1.MachineDeploymentClass) bool {
			return matchesName(name, md.Class) && (is1(md.Bootstrap.TemplateRef) || is1(md.Infrastructure.TemplateRef))
		})
	})
	classes("machinePoolClass", pools, func(name string) bool {
		return slices.ContainsFunc(c.spec.Workers.MachinePools, func(mp clusterv1.MachinePoolClass) bool {
			return matchesName(name, mp.Class) && (is1(mp.Bootstrap.TemplateRef) || is1(mp.Infrastructure.TemplateRef))
		})
	})
}

// matchesName reports whether pattern selects class: a name, which may begin or end with *.
func matchesName(pattern, class string) bool {
	if rest, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(class, rest)
	}
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(class, rest)
	}
	return pattern == class
}

// checkNaming parses the templates of names.
func (c *Class) checkNaming() {
	e := newEngine()
	check := func(at, text string) {
		if _, err := e.parseName(text); err != nil {
			c.problem(at+".naming.template", "", "cannot be read: %s", err)
		}
	}
	check("spec.infrastructure", c.spec.Infrastructure.Naming.Template)
	check("spec.controlPlane", c.spec.ControlPlane.Naming.Template)
	for i := range c.spec.Workers.MachineDeployments {
		check(fmt.Sprintf("spec.workers.machineDeployments[%d]", i), c.spec.Workers.MachineDeployments[i].Naming.Template)
	}
	for i := range c.spec.Workers.MachinePools {
		check(fmt.Sprintf("spec.workers.machinePools[%d]", i), c.spec.Workers.MachinePools[i].Naming.Template)
	}
}
