package topology

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machinePool adds one MachinePool, number i of the topology, of class number c. What it refers to are objects that are
// made from the templates of the class. Source: Cluster API, exp/topology/desiredstate.
func (x *expansion) machinePool(mp *clusterv1.MachinePoolTopology, class *clusterv1.MachinePoolClass, i, c int, name string) {
	at, classAt := fmt.Sprintf("spec.topology.workers.machinePools[%d]", i), fmt.Sprintf("spec.workers.machinePools[%d]", c)
	for _, msg := range validation.IsValidLabelValue(mp.Name) {
		x.problem(at+".name", "", "%q: %s", mp.Name, msg)
	}
	labels, notes := x.poolMetadata(map[string]string{clusterv1.ClusterTopologyMachinePoolNameLabel: mp.Name}, mp.Metadata, class.Metadata)
	key, prefix := x.object.key(), x.object.name()+"-"+mp.Name+"-"
	bootstrapName := simpleName(prefix, key, roleMachinePool+"-bootstrap", mp.Name)
	machineName := simpleName(prefix, key, roleMachinePool+"-machine", mp.Name)
	known := map[string]any{
		"version": x.version, "class": mp.Class, "name": name, "topologyName": mp.Name,
		"metadata":          builtinMetadata(labels, notes),
		"bootstrap":         map[string]any{"configRef": map[string]any{"name": bootstrapName}},
		"infrastructureRef": map[string]any{"name": machineName},
	}
	if mp.Replicas != nil {
		known["replicas"] = *mp.Replicas
	}
	kept := x.class.templates[class.Infrastructure.TemplateRef].Kept
	if kept {
		delete(known, "bootstrap")
	}
	overrides := x.values(at+".variables.overrides", mp.Variables.Overrides, false)
	patched := func(ref clusterv1.ClusterClassTemplateReference) *patchTarget {
		t := &patchTarget{place: machinePool, class: mp.Class, template: x.class.templates[ref], overrides: overrides, builtin: map[string]any{"machinePool": known}}
		x.patch(t)
		return t
	}
	var bootstrap clusterv1.Bootstrap
	if t := patched(class.Bootstrap.TemplateRef); kept {
		bootstrap.DataSecretName = new(string)
		x.keptBootstrap(t, mp.Name, c)
	} else {
		_, config := x.fromTemplate(t, bootstrapName)
		bootstrap.ConfigRef = config.ref()
	}
	_, machine := x.fromTemplate(patched(class.Infrastructure.TemplateRef), machineName)

	e := x.typed(&clusterv1.MachinePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachinePool"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: x.object.Namespace, Labels: labels, Annotations: notes},
		Spec: clusterv1.MachinePoolSpec{
			ClusterName: x.object.name(), Replicas: mp.Replicas, FailureDomains: first(mp.FailureDomains, class.FailureDomains),
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels, Annotations: notes},
				Spec: clusterv1.MachineSpec{
					ClusterName: x.object.name(), Version: x.version,
					Bootstrap: bootstrap, InfrastructureRef: machine.ref(),
					Deletion: clusterv1.MachineDeletionSpec{
						NodeDrainTimeoutSeconds:        firstOf(mp.Deletion.NodeDrainTimeoutSeconds, class.Deletion.NodeDrainTimeoutSeconds),
						NodeVolumeDetachTimeoutSeconds: firstOf(mp.Deletion.NodeVolumeDetachTimeoutSeconds, class.Deletion.NodeVolumeDetachTimeoutSeconds),
						NodeDeletionTimeoutSeconds:     firstOf(mp.Deletion.NodeDeletionTimeoutSeconds, class.Deletion.NodeDeletionTimeoutSeconds),
					},
					Taints:          first(mp.Taints, class.Taints),
					MinReadySeconds: firstOf(mp.MinReadySeconds, class.MinReadySeconds),
				},
			},
		},
	})
	e.from("", x.object, at)
	e.from("metadata.name", x.class.object, x.class.written(classAt+".naming.template"))
	e.from("spec.replicas", x.object, at+".replicas")
	e.from("spec.template.spec.version", x.object, "spec.topology.version")
	for _, f := range []struct {
		in, from string
		cluster  bool
	}{
		{"metadata", ".metadata", true},
		{"spec.template.metadata", ".metadata", len(mp.Metadata.Labels)+len(mp.Metadata.Annotations) > 0},
		{"spec.failureDomains", ".failureDomains", mp.FailureDomains != nil},
		{"spec.template.spec.taints", ".taints", mp.Taints != nil},
		{"spec.template.spec.minReadySeconds", ".minReadySeconds", mp.MinReadySeconds != nil},
		{"spec.template.spec.deletion", ".deletion", mp.Deletion != (clusterv1.MachinePoolTopologyMachineDeletionSpec{})},
	} {
		x.sourceOf(e, f.in, at+f.from, classAt+f.from, f.cluster)
	}
	e.from("spec.template.spec.bootstrap", x.class.object, x.class.written(classAt+".bootstrap.templateRef"))
	e.from("spec.template.spec.infrastructureRef", x.class.object, x.class.written(classAt+".infrastructure.templateRef"))
}
