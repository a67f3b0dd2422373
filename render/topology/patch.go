package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A place is where a template is used in a class.
type place int

const (
	infrastructureCluster place = iota
	controlPlane
	controlPlaneMachine
	poolBootstrap
	poolMachine
	machinePool
)

// A patchTarget is one template from which an object is created.
type patchTarget struct {
	place     place
	class     string // class of machines, at poolBootstrap, poolMachine and machinePool
	template  Object
	overrides map[string]json.RawMessage // variables of the pool
	builtin   map[string]any             // builtin variables of the pool
	labels    map[string]string          // labels of the object, where patches can change them
	notes     map[string]string

	data   map[string]any // all variables for templates; nil until they are needed
	values map[string]json.RawMessage
	ops    []operation
	spec   map[string]any // spec of the patched template
}

// An operation is one that a patch does to a template.
type operation struct {
	patch string
	field string // field of the class with it
	op    string
	path  string
	value json.RawMessage
}

// selects reports whether a patch applies to t.
func selects(s *clusterv1.PatchSelector, t *patchTarget) bool {
	if t.template.text("apiVersion") != s.APIVersion || t.template.text("kind") != s.Kind {
		return false
	}
	m := &s.MatchResources
	switch t.place {
	case infrastructureCluster:
		return is(m.InfrastructureCluster)
	case controlPlane, controlPlaneMachine:
		return is(m.ControlPlane)
	}
	var names []string
	switch {
	case t.place == machinePool && m.MachinePoolClass != nil:
		names = m.MachinePoolClass.Names
	case t.place != machinePool && m.MachineDeploymentClass != nil:
		names = m.MachineDeploymentClass.Names
	}
	return slices.ContainsFunc(names, func(name string) bool { return matchesName(name, t.class) })
}

// patch computes the operations of all patches on t, in their order, and applies them.
func (x *expansion) patch(t *patchTarget) {
	before := len(x.problems)
	for i := range x.class.spec.Patches {
		p := &x.class.spec.Patches[i]
		at := fmt.Sprintf("spec.patches[%d]", i)
		asked, enabled := false, false
		for j := range p.Definitions {
			d := &p.Definitions[j]
			if !selects(&d.Selector, t) {
				continue
			}
			if !asked {
				asked, enabled = true, x.enabled(p, t, at)
			}
			if !enabled {
				break
			}
			for k := range d.JSONPatches {
				x.operation(p, &d.JSONPatches[k], t, fmt.Sprintf("%s.definitions[%d].jsonPatches[%d]", at, j, k))
			}
		}
	}
	if len(x.problems) == before {
		x.apply(t)
	}
}

// oneVariable matches a template that only prints one variable.
var oneVariable = regexp.MustCompile(`^\s*{{-?\s*\.(\w+)\s*-?}}\s*$`)

// enabled reports whether a patch is to be applied to t.
func (x *expansion) enabled(p *clusterv1.ClusterClassPatch, t *patchTarget, at string) bool {
	if p.EnabledIf == "" {
		return true
	}
	if m := oneVariable.FindStringSubmatch(p.EnabledIf); m != nil && x.class.variables[m[1]] != nil && x.variables(t)[m[1]] == nil {
		return false // a known variable without a value
	}
	out, err := x.evaluate(p.EnabledIf, t)
	if err != nil {
		x.classProblem(at+".enabledIf", "", "patch %q fails for %s: %s", p.Name, t.template, err)
	}
	return string(out) == "true"
}

// operation adds what one JSON patch does to t.
func (x *expansion) operation(p *clusterv1.ClusterClassPatch, in *clusterv1.JSONPatch, t *patchTarget, at string) {
	op := operation{patch: p.Name, field: at, op: in.Op, path: in.Path}
	var err error
	switch {
	case in.Op == "remove":
	case in.Value != nil:
		op.value = in.Value.Raw
	case in.ValueFrom.Variable != "":
		at += ".valueFrom.variable"
		if err = x.spendVariable(t, in.ValueFrom.Variable); err == nil {
			op.value, err = lookup(x.variables(t), in.ValueFrom.Variable)
		}
	default:
		at += ".valueFrom.template"
		op.value, err = x.evaluate(in.ValueFrom.Template, t)
	}
	if err != nil {
		x.classProblem(at, "give the variable a value or a default, or the patch an enabledIf", "patch %q fails for %s: %s", p.Name, t.template, err)
		return
	}
	if in.Op != "remove" && op.value == nil {
		op.value = json.RawMessage("null")
	}
	t.ops = append(t.ops, op)
}

// variables returns the variables that hold for t, builtin among them.
func (x *expansion) variables(t *patchTarget) map[string]json.RawMessage {
	if t.values == nil {
		t.values = maps.Clone(x.globals)
		maps.Copy(t.values, t.overrides)
		known := maps.Clone(t.builtin)
		if known == nil {
			known = map[string]any{}
		}
		known["cluster"] = x.builtin
		t.values[builtin] = marshal(known)
	}
	return t.values
}

// spendVariable takes the cost of reading a variable from the budget.
func (x *expansion) spendVariable(t *patchTarget, path string) error {
	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	return x.engine.budget.spend(1000 + 10*len(x.variables(t)[name]))
}

// evaluate runs a template with the variables of t.
func (x *expansion) evaluate(template string, t *patchTarget) ([]byte, error) {
	data, err := x.data(t, template)
	if err != nil {
		return nil, err
	}
	return x.engine.value(template, data)
}

// data returns the variables of t for a template. A template that may change them gets a
// copy.
func (x *expansion) data(t *patchTarget, template string) (map[string]any, error) {
	functions := strings.ToLower(template)
	changes := strings.Contains(functions, "set") || strings.Contains(functions, "merge")
	if t.data != nil && !changes {
		return t.data, nil
	}
	raw := marshal(x.variables(t))
	if err := x.engine.budget.spend(20 * len(raw)); err != nil {
		return nil, err
	}
	// Numbers become float64, as in Cluster API.
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err) // it is JSON of ours
	}
	if !changes {
		t.data = out
	}
	return out, nil
}

// withMetadata returns the template with the labels and annotations of its object, which
// patches may read and replace. Source: Cluster API,
// core/reconcilers/topology/cluster/patches/engine.go.
func (x *expansion) withMetadata(t *patchTarget) map[string]any {
	doc := maps.Clone(t.template.Raw)
	if t.place != infrastructureCluster && t.place != controlPlane {
		return doc
	}
	spec := maps.Clone(child(doc, "spec"))
	template := maps.Clone(child(spec, "template"))
	if spec == nil || template == nil {
		return doc
	}
	meta := maps.Clone(child(template, "metadata"))
	if meta == nil {
		meta = map[string]any{}
	}
	meta["labels"], meta["annotations"] = t.labels, t.notes
	template["metadata"], spec["template"], doc["spec"] = meta, template, spec
	return doc
}

// child returns the mapping at a path of m, or nil.
func child(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m, _ = m[p].(map[string]any)
	}
	return m
}

// trace adds the patches of t to the sources of the object: prefix is where the object has
// the template's spec.template.spec.
func (x *expansion) trace(e *Expanded, t *patchTarget, prefix string) {
	for _, op := range t.ops {
		parts := strings.Split(strings.TrimPrefix(op.path, "/"), "/")
		for i, p := range parts {
			parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
		}
		s := source{object: x.class.object.String(), file: x.class.object.File, field: op.field, patch: op.patch}
		if last := parts[len(parts)-1]; last == "-" || last == "0" {
			s.adds, parts = true, parts[:len(parts)-1]
		}
		s.at = strings.Join(parts, ".")
		if rest, ok := strings.CutPrefix(s.at, "spec.template.spec"); ok {
			s.at = prefix + rest
		} else if prefix == "spec" {
			s.at = prefix
		}
		e.sources = append(e.sources, s)
	}
}
