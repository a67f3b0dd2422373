package topology

import (
	"cmp"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"
)

// pools adds the MachineDeployments with their templates and health checks, and the MachinePools with what they are
// made from, and tells u of them.
func (x *expansion) pools(u *Upgrade) {
	names := poolNames{expansion: x, role: roleDeployment, list: "machineDeployments", variable: "machineDeployment", first: map[string]string{}}
	for i := range x.cluster.Spec.Topology.Workers.MachineDeployments {
		md := &x.cluster.Spec.Topology.Workers.MachineDeployments[i]
		class, index := x.class.machines(md.Class)
		if name := names.of(cmp.Or(class.Naming.Template, defaultPoolName), md.Name, index); name != "" {
			u.add(md.Metadata.Annotations, md.Name, name)
			x.pool(md, class, i, index, name)
		}
	}
	u.release()
	names = poolNames{expansion: x, role: roleMachinePool, list: "machinePools", variable: "machinePool", first: map[string]string{}}
	for i := range x.cluster.Spec.Topology.Workers.MachinePools {
		mp := &x.cluster.Spec.Topology.Workers.MachinePools[i]
		class, index := x.class.poolMachines(mp.Class)
		if name := names.of(cmp.Or(class.Naming.Template, defaultMachinePoolName), mp.Name, index); name != "" {
			u.add(mp.Metadata.Annotations, mp.Name, name)
			x.machinePool(mp, class, i, index, name)
		}
	}
}

// poolNames names the pools of one kind.
type poolNames struct {
	*expansion
	role, list, variable string
	first                map[string]string // name of a pool → what the topology calls the first that has it
}

// of returns the name that a naming template of class number c makes for a pool; empty after a problem.
func (n *poolNames) of(naming, pool string, c int) string {
	at := fmt.Sprintf("spec.workers.%s[%d].naming.template", n.list, c)
	name, err := n.engine.name(naming, n.object.key(), n.role, pool)
	if err != nil {
		n.classProblem(at, "", "makes no name: %s", err)
		return ""
	}
	if other, ok := n.first[name]; ok {
		n.classProblem(at, "put {{ ."+n.variable+".topologyName }} into it", "names two pools of %s %q: %s and %s", n.object, name, other, pool)
	}
	n.first[name] = pool
	return name
}

// pool adds one MachineDeployment, number i of the topology, of class number c.
// Source: Cluster API, exp/topology/desiredstate.
func (x *expansion) pool(md *clusterv1.MachineDeploymentTopology, class *clusterv1.MachineDeploymentClass, i, c int, name string) {
	at, classAt := fmt.Sprintf("spec.topology.workers.machineDeployments[%d]", i), fmt.Sprintf("spec.workers.machineDeployments[%d]", c)
	for _, msg := range validation.IsValidLabelValue(md.Name) {
		x.problem(at+".name", "", "%q: %s", md.Name, msg)
	}
	pool := map[string]string{clusterv1.ClusterTopologyMachineDeploymentNameLabel: md.Name}
	labels, notes := x.poolMetadata(pool, md.Metadata, class.Metadata)
	key, prefix := x.object.key(), x.object.name()+"-"+md.Name+"-"
	bootstrapName := simpleName(prefix, key, "bootstrap", md.Name)
	machineName := simpleName(prefix, key, "machine", md.Name)
	known := map[string]any{
		"version": x.version, "class": md.Class, "name": name, "topologyName": md.Name,
		"metadata":          builtinMetadata(labels, notes),
		"bootstrap":         map[string]any{"configRef": map[string]any{"name": bootstrapName}},
		"infrastructureRef": map[string]any{"name": machineName},
	}
	if md.Replicas != nil {
		known["replicas"] = *md.Replicas
	}
	overrides := x.values(at+".variables.overrides", md.Variables.Overrides, false)
	made := func(p place, ref clusterv1.ClusterClassTemplateReference, name string) createdRef {
		t := &patchTarget{place: p, class: md.Class, template: x.class.templates[ref], overrides: overrides, builtin: map[string]any{"machineDeployment": known}}
		x.patch(t)
		_, m := x.cloneTemplate(t, name, pool)
		return m
	}
	bootstrap := made(poolBootstrap, class.Bootstrap.TemplateRef, bootstrapName)
	machine := made(poolMachine, class.Infrastructure.TemplateRef, machineName)
	selector := merged(x.ours(), pool)

	out := clusterv1.MachineDeployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: x.object.Namespace, Labels: labels, Annotations: notes},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: x.object.name(), Replicas: md.Replicas, Rollout: rollout(md, class),
			Selector:    metav1.LabelSelector{MatchLabels: selector},
			Deletion:    clusterv1.MachineDeploymentDeletionSpec{Order: cmp.Or(md.Deletion.Order, class.Deletion.Order)},
			Remediation: clusterv1.MachineDeploymentRemediationSpec{MaxInFlight: firstOf(md.HealthCheck.Remediation.MaxInFlight, class.HealthCheck.Remediation.MaxInFlight)},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels, Annotations: notes},
				Spec: clusterv1.MachineSpec{
					ClusterName: x.object.name(), Version: x.version,
					Bootstrap: clusterv1.Bootstrap{ConfigRef: bootstrap.ref()}, InfrastructureRef: machine.ref(),
					FailureDomain: cmp.Or(md.FailureDomain, class.FailureDomain),
					Deletion: clusterv1.MachineDeletionSpec{
						NodeDrainTimeoutSeconds:        firstOf(md.Deletion.NodeDrainTimeoutSeconds, class.Deletion.NodeDrainTimeoutSeconds),
						NodeVolumeDetachTimeoutSeconds: firstOf(md.Deletion.NodeVolumeDetachTimeoutSeconds, class.Deletion.NodeVolumeDetachTimeoutSeconds),
						NodeDeletionTimeoutSeconds:     firstOf(md.Deletion.NodeDeletionTimeoutSeconds, class.Deletion.NodeDeletionTimeoutSeconds),
					},
					Taints:          first(md.Taints, class.Taints),
					ReadinessGates:  first(md.ReadinessGates, class.ReadinessGates),
					MinReadySeconds: firstOf(md.MinReadySeconds, class.MinReadySeconds),
				},
			},
		},
	}
	e := x.typed(&out)
	e.from("", x.object, at)
	e.from("metadata.name", x.class.object, x.class.written(classAt+".naming.template"))
	e.from("spec.replicas", x.object, at+".replicas")
	e.from("spec.template.spec.version", x.object, "spec.topology.version")
	for _, f := range []struct {
		in, from string
		cluster  bool
	}{
		{"metadata", ".metadata", true},
		{"spec.template.metadata", ".metadata", len(md.Metadata.Labels)+len(md.Metadata.Annotations) > 0},
		{"spec.rollout", ".rollout", hasRollout(md)},
		{"spec.deletion.order", ".deletion.order", md.Deletion.Order != ""},
		{"spec.remediation.maxInFlight", ".healthCheck.remediation.maxInFlight", md.HealthCheck.Remediation.MaxInFlight != nil},
		{"spec.template.spec.failureDomain", ".failureDomain", md.FailureDomain != ""},
		{"spec.template.spec.taints", ".taints", md.Taints != nil},
		{"spec.template.spec.readinessGates", ".readinessGates", md.ReadinessGates != nil},
		{"spec.template.spec.minReadySeconds", ".minReadySeconds", md.MinReadySeconds != nil},
		{"spec.template.spec.deletion", ".deletion", md.Deletion != (clusterv1.MachineDeploymentTopologyMachineDeletionSpec{})},
	} {
		x.sourceOf(e, f.in, at+f.from, classAt+f.from, f.cluster)
	}
	e.from("spec.template.spec.bootstrap.configRef", x.class.object, x.class.written(classAt+".bootstrap.templateRef"))
	e.from("spec.template.spec.infrastructureRef", x.class.object, x.class.written(classAt+".infrastructure.templateRef"))
	x.healthCheck(name, x.poolHealth(md, class, i, c), pool)
}

// poolMetadata returns the labels and annotations of a pool.
func (x *expansion) poolMetadata(pool map[string]string, topology, class clusterv1.ObjectMeta) (labels, notes map[string]string) {
	notes = merged(topology.Annotations, class.Annotations)
	delete(notes, clusterv1.ClusterTopologyDeferUpgradeAnnotation)
	delete(notes, clusterv1.ClusterTopologyHoldUpgradeSequenceAnnotation)
	return merged(pool, x.ours(), topology.Labels, class.Labels), notes
}

func hasRollout(md *clusterv1.MachineDeploymentTopology) bool {
	return !reflect.DeepEqual(md.Rollout, clusterv1.MachineDeploymentTopologyRolloutSpec{})
}

// rollout is that of the topology, or else that of the class.
func rollout(md *clusterv1.MachineDeploymentTopology, class *clusterv1.MachineDeploymentClass) clusterv1.MachineDeploymentRolloutSpec {
	out := clusterv1.MachineDeploymentRolloutSpec{}
	s := &out.Strategy
	if hasRollout(md) {
		from := &md.Rollout.Strategy
		out.After = md.Rollout.After
		s.Type, s.RollingUpdate.MaxSurge, s.RollingUpdate.MaxUnavailable = from.Type, from.RollingUpdate.MaxSurge, from.RollingUpdate.MaxUnavailable
		return out
	}
	from := &class.Rollout.Strategy
	s.Type, s.RollingUpdate.MaxSurge, s.RollingUpdate.MaxUnavailable = from.Type, from.RollingUpdate.MaxSurge, from.RollingUpdate.MaxUnavailable
	return out
}

// typed adds an object of the newest version.
func (x *expansion) typed(v any) *Expanded {
	e := &Expanded{File: x.object.File}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(marshal(v), &e.Raw); err != nil {
		panic(err) // it is JSON of ours
	}
	delete(e.Raw, "status")
	x.out = append(x.out, e)
	return e
}
