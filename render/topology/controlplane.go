package topology

import (
	"encoding/json"
	"maps"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// controlPlane adds the KubeadmControlPlane, its machine template and its
// health check.
// Source: Cluster API, exp/topology/desiredstate.
func (x *expansion) controlPlane() made {
	const at = "spec.topology.controlPlane"
	class, topology := &x.class.spec.ControlPlane, &x.cluster.Spec.Topology.ControlPlane
	labels := merged(x.ours(), topology.Metadata.Labels, class.Metadata.Labels)
	notes := merged(topology.Metadata.Annotations, class.Metadata.Annotations)
	name := x.setName(x.cluster.Spec.ControlPlaneRef, class.Naming.Template, "control-plane", "spec.controlPlane.naming.template")
	machineName := simpleName(x.object.name()+"-", x.object.key(), "control-plane-machine", "")

	t := &item{place: controlPlane, template: x.class.templates[class.TemplateRef]}
	inner := child(t.template.Raw, "spec", "template", "metadata")
	t.labels = merged(labels, texts(inner["labels"]))
	t.notes = merged(clonedFrom(t.template), notes, texts(inner["annotations"]))
	t.overrides = x.values(at+".variables.overrides", topology.Variables.Overrides, false)
	known := map[string]any{
		"name": name, "version": x.version, "metadata": builtinMetadata(t.labels, t.notes),
		"machineTemplate": map[string]any{"infrastructureRef": map[string]any{"name": machineName}},
	}
	if topology.Replicas != nil {
		known["replicas"] = *topology.Replicas
	}
	t.builtin = map[string]any{"controlPlane": known}
	machine := &item{
		place: controlPlaneMachine, template: x.class.templates[class.MachineInfrastructure.TemplateRef],
		overrides: t.overrides, builtin: t.builtin,
	}
	x.patch(t)
	x.patch(machine)
	_, machines := x.copied(machine, machineName, nil)
	e, m := x.instance(t, name)
	e.from("metadata.name", x.class.object, x.class.written("spec.controlPlane.naming.template"))
	x.complete(e, t, machines, labels, notes)
	x.healthCheck(name, x.controlPlaneHealth(), map[string]string{
		clusterv1.ClusterTopologyOwnedLabel: "", clusterv1.MachineControlPlaneLabel: "",
	})
	return m
}

// complete fills in what the topology says of a control plane. What the template
// itself says of these fields stays as it was before patches.
func (x *expansion) complete(e *Expanded, t *item, machines made, labels, notes map[string]string) {
	const at = "spec.topology.controlPlane"
	class, topology := &x.class.spec.ControlPlane, &x.cluster.Spec.Topology.ControlPlane
	old := t.template.gvk().Version == "v1beta1"
	spec := child(e.Raw, "spec")
	before := child(t.template.Raw, "spec", "template", "spec", "machineTemplate")
	machine := maps.Clone(child(spec, "machineTemplate"))
	if machine == nil {
		machine = map[string]any{}
	}
	meta := child(before, "metadata")
	machine["metadata"] = metadataOnly(merged(labels, texts(meta["labels"])), merged(notes, texts(meta["annotations"])))
	x.sourceOf(e, "spec.machineTemplate.metadata", at+".metadata", "spec.controlPlane.metadata", len(topology.Metadata.Labels)+len(topology.Metadata.Annotations) > 0)

	inner, innerBefore, prefix := machine, before, "spec.machineTemplate"
	if !old {
		inner, innerBefore, prefix = maps.Clone(child(machine, "spec")), child(before, "spec"), prefix+".spec"
		if inner == nil {
			inner = map[string]any{}
		}
		machine["spec"] = inner
	}
	inner["infrastructureRef"] = machines.fields(old, x.object.Namespace)
	e.from(prefix+".infrastructureRef", x.class.object, x.class.written("spec.controlPlane.machineInfrastructure.templateRef"))

	for _, list := range []string{"taints", "readinessGates"} {
		if v, ok := innerBefore[list]; ok {
			inner[list] = v
		}
	}
	if gates := first(topology.ReadinessGates, class.ReadinessGates); gates != nil {
		inner["readinessGates"] = plain(gates)
		x.sourceOf(e, prefix+".readinessGates", at+".readinessGates", "spec.controlPlane.readinessGates", topology.ReadinessGates != nil)
	}
	if taints := first(topology.Taints, class.Taints); taints != nil {
		inner["taints"] = plain(taints)
		x.sourceOf(e, prefix+".taints", at+".taints", "spec.controlPlane.taints", topology.Taints != nil)
	}
	deletion, deletionBefore := inner, innerBefore
	if !old {
		deletion, deletionBefore = maps.Clone(child(inner, "deletion")), child(innerBefore, "deletion")
		if deletion == nil {
			deletion = map[string]any{}
		}
		prefix += ".deletion"
	}
	for _, bound := range []struct {
		name            string
		topology, class *int32
	}{
		{"nodeDrainTimeout", topology.Deletion.NodeDrainTimeoutSeconds, class.Deletion.NodeDrainTimeoutSeconds},
		{"nodeVolumeDetachTimeout", topology.Deletion.NodeVolumeDetachTimeoutSeconds, class.Deletion.NodeVolumeDetachTimeoutSeconds},
		{"nodeDeletionTimeout", topology.Deletion.NodeDeletionTimeoutSeconds, class.Deletion.NodeDeletionTimeoutSeconds},
	} {
		field := bound.name + "Seconds"
		if old {
			field = bound.name
		}
		if v, ok := deletionBefore[field]; ok {
			deletion[field] = v
		}
		if n := firstOf(bound.topology, bound.class); n != nil {
			deletion[field] = int64(*n)
			if old {
				deletion[field] = duration(*n)
			}
			from := ".deletion." + bound.name + "Seconds"
			x.sourceOf(e, prefix+"."+field, at+from, "spec.controlPlane"+from, bound.topology != nil)
		}
	}
	if !old && len(deletion) > 0 {
		inner["deletion"] = deletion
	}
	spec["machineTemplate"] = machine
	if after := topology.Rollout.After; !after.IsZero() {
		if old {
			spec["rolloutAfter"] = plain(after)
			e.from("spec.rolloutAfter", x.object, at+".rollout.after")
		} else {
			rollout := maps.Clone(child(spec, "rollout"))
			if rollout == nil {
				rollout = map[string]any{}
			}
			rollout["after"], spec["rollout"] = plain(after), rollout
			e.from("spec.rollout.after", x.object, at+".rollout.after")
		}
	}
	spec["version"] = x.version
	e.from("spec.version", x.object, "spec.topology.version")
	if topology.Replicas != nil {
		spec["replicas"] = int64(*topology.Replicas)
	}
	e.from("spec.replicas", x.object, at+".replicas")
}

// sourceOf adds the source of a field that comes from the Cluster, or else from
// the class.
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
