package topology

import (
	"encoding/json"
	"maps"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// controlPlane adds the control plane, its machine template and its health check.
// Source: Cluster API, exp/topology/desiredstate.
func (x *expansion) controlPlane() createdRef {
	class, topology := &x.class.spec.ControlPlane, &x.cluster.Spec.Topology.ControlPlane
	labels := merged(x.ours(), topology.Metadata.Labels, class.Metadata.Labels)
	notes := merged(topology.Metadata.Annotations, class.Metadata.Annotations)
	name := x.setName(x.cluster.Spec.ControlPlaneRef, class.Naming.Template, "control-plane", "spec.controlPlane.naming.template")
	machineName := simpleName(x.object.name()+"-", x.object.key(), "control-plane-machine", "")

	t := &patchTarget{place: controlPlane, template: x.class.templates[class.TemplateRef]}
	inner := child(t.template.Raw, "spec", "template", "metadata")
	t.labels = merged(labels, texts(inner["labels"]))
	t.notes = merged(clonedFrom(t.template), notes, texts(inner["annotations"]))
	t.overrides = x.values(topologyControlPlane+".variables.overrides", topology.Variables.Overrides, false)
	known := map[string]any{"name": name, "version": x.version, "metadata": builtinMetadata(t.labels, t.notes)}
	t.builtin = map[string]any{"controlPlane": known}
	if x.class.hosted() {
		x.patch(t)
		e, m := x.fromTemplate(t, name)
		e.from("metadata.name", x.class.object, x.class.written("spec.controlPlane.naming.template"))
		child(e.Raw, "spec")["version"] = x.version
		e.from("spec.version", x.object, "spec.topology.version")
		return m
	}
	known["machineTemplate"] = map[string]any{"infrastructureRef": map[string]any{"name": machineName}}
	if topology.Replicas != nil {
		known["replicas"] = *topology.Replicas
	}
	machine := &patchTarget{
		place: controlPlaneMachine, template: x.class.templates[class.MachineInfrastructure.TemplateRef],
		overrides: t.overrides, builtin: t.builtin,
	}
	x.patch(t)
	x.patch(machine)
	_, machines := x.cloneTemplate(machine, machineName, nil)
	e, m := x.fromTemplate(t, name)
	e.from("metadata.name", x.class.object, x.class.written("spec.controlPlane.naming.template"))
	x.complete(e, t, machines, labels, notes)
	x.healthCheck(name, x.controlPlaneHealth(), map[string]string{
		clusterv1.ClusterTopologyOwnedLabel: "", clusterv1.MachineControlPlaneLabel: "",
	})
	return m
}

// controlPlaneFields sets the fields of a control plane that the topology and the class
// define. Their values in the template count as they were before patches.
type controlPlaneFields struct {
	*expansion
	e             *Expanded
	old           bool // the template follows the contract of v1beta1
	topology      *clusterv1.ControlPlaneTopology
	class         *clusterv1.ControlPlaneClass
	spec          map[string]any // of the control plane
	machine       map[string]any // its machineTemplate
	machineFields map[string]any // its part that describes a machine, at prefix
	prefix        string
	unpatched     map[string]any // machineTemplate of the unpatched template
}

const topologyControlPlane = "spec.topology.controlPlane"

// complete fills in e, the control plane made from t.
func (x *expansion) complete(e *Expanded, t *patchTarget, machines createdRef, labels, notes map[string]string) {
	c := &controlPlaneFields{
		expansion: x, e: e, old: t.template.Contract == V1Beta1,
		topology: &x.cluster.Spec.Topology.ControlPlane, class: &x.class.spec.ControlPlane,
		spec: child(e.Raw, "spec"), unpatched: child(t.template.Raw, "spec", "template", "spec", "machineTemplate"),
		prefix: "spec.machineTemplate",
	}
	c.machine = mapping(c.spec, "machineTemplate")
	c.machineFields = c.machine
	if !c.old {
		c.machineFields, c.prefix = mapping(c.machine, "spec"), c.prefix+".spec"
	}
	c.metadata(labels, notes)
	c.machineFields["infrastructureRef"] = machines.fields(c.old, x.object.Namespace)
	e.from(c.prefix+".infrastructureRef", x.class.object, x.class.written("spec.controlPlane.machineInfrastructure.templateRef"))
	c.lists()
	c.timeouts()
	c.rollout()
	c.spec["version"] = x.version
	e.from("spec.version", x.object, "spec.topology.version")
	if n := c.topology.Replicas; n != nil {
		c.spec["replicas"] = int64(*n)
	}
	e.from("spec.replicas", x.object, topologyControlPlane+".replicas")
}

// machineFieldsBefore returns the part of the unpatched machineTemplate that describes a machine.
func (c *controlPlaneFields) machineFieldsBefore() map[string]any {
	if c.old {
		return c.unpatched
	}
	return child(c.unpatched, "spec")
}

func (c *controlPlaneFields) metadata(labels, notes map[string]string) {
	meta := child(c.unpatched, "metadata")
	c.machine["metadata"] = metadataOnly(merged(labels, texts(meta["labels"])), merged(notes, texts(meta["annotations"])))
	given := len(c.topology.Metadata.Labels)+len(c.topology.Metadata.Annotations) > 0
	c.sourceOf(c.e, "spec.machineTemplate.metadata", topologyControlPlane+".metadata", "spec.controlPlane.metadata", given)
}

// lists fills in taints and readiness gates.
func (c *controlPlaneFields) lists() {
	fill := func(name string, list any, given, fromCluster bool) {
		if v, ok := c.machineFieldsBefore()[name]; ok {
			c.machineFields[name] = v
		}
		if given {
			c.machineFields[name] = plain(list)
			c.sourceOf(c.e, c.prefix+"."+name, topologyControlPlane+"."+name, "spec.controlPlane."+name, fromCluster)
		}
	}
	gates, taints := first(c.topology.ReadinessGates, c.class.ReadinessGates), first(c.topology.Taints, c.class.Taints)
	fill("readinessGates", gates, gates != nil, c.topology.ReadinessGates != nil)
	fill("taints", taints, taints != nil, c.topology.Taints != nil)
}

// timeouts fills in the timeouts of deleting machines.
func (c *controlPlaneFields) timeouts() {
	deletion, before, prefix, suffix := c.machineFields, c.machineFieldsBefore(), c.prefix, ""
	if !c.old {
		deletion, before, prefix, suffix = maps.Clone(child(c.machineFields, "deletion")), child(before, "deletion"), prefix+".deletion", "Seconds"
		if deletion == nil {
			deletion = map[string]any{}
		}
	}
	for _, bound := range []struct {
		name            string
		topology, class *int32
	}{
		{"nodeDrainTimeout", c.topology.Deletion.NodeDrainTimeoutSeconds, c.class.Deletion.NodeDrainTimeoutSeconds},
		{"nodeVolumeDetachTimeout", c.topology.Deletion.NodeVolumeDetachTimeoutSeconds, c.class.Deletion.NodeVolumeDetachTimeoutSeconds},
		{"nodeDeletionTimeout", c.topology.Deletion.NodeDeletionTimeoutSeconds, c.class.Deletion.NodeDeletionTimeoutSeconds},
	} {
		field := bound.name + suffix
		if v, ok := before[field]; ok {
			deletion[field] = v
		}
		n := firstOf(bound.topology, bound.class)
		if n == nil {
			continue
		}
		deletion[field] = int64(*n)
		if c.old {
			deletion[field] = duration(*n)
		}
		from := ".deletion." + bound.name + "Seconds"
		c.sourceOf(c.e, prefix+"."+field, topologyControlPlane+from, "spec.controlPlane"+from, bound.topology != nil)
	}
	if !c.old && len(deletion) > 0 {
		c.machineFields["deletion"] = deletion
	}
}

func (c *controlPlaneFields) rollout() {
	after, field := c.topology.Rollout.After, "spec.rollout.after"
	switch {
	case after.IsZero():
		return
	case c.old:
		field = "spec.rolloutAfter"
		c.spec["rolloutAfter"] = plain(after)
	default:
		mapping(c.spec, "rollout")["after"] = plain(after)
	}
	c.e.from(field, c.object, topologyControlPlane+".rollout.after")
}

// mapping returns the mapping at a key of m, as a copy that is not shared with the
// template.
func mapping(m map[string]any, key string) map[string]any {
	out := maps.Clone(child(m, key))
	if out == nil {
		out = map[string]any{}
	}
	m[key] = out
	return out
}

// sourceOf adds the source of a field that comes from the Cluster, or else from the class.
func (x *expansion) sourceOf(e *Expanded, field, topology, class string, fromCluster bool) {
	if fromCluster {
		e.from(field, x.object, x.written(topology))
		return
	}
	e.from(field, x.class.object, x.class.written(class))
}

func metadataOnly(labels, notes map[string]string) map[string]any {
	out := metadata("", "", labels, notes)
	delete(out, "name")
	delete(out, "namespace")
	return out
}

// first returns the first list that is there.
func first[T any](lists ...[]T) []T {
	for _, l := range lists {
		if l != nil {
			return l
		}
	}
	return nil
}

// firstOf returns the first pointer that is not nil.
func firstOf[T any](list ...*T) *T {
	for _, p := range list {
		if p != nil {
			return p
		}
	}
	return nil
}

// plain returns v as JSON has it.
func plain(v any) any {
	var out any
	if err := json.Unmarshal(marshal(v), &out); err != nil {
		panic(err) // it is JSON of ours
	}
	return out
}
