package topology

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// hosted reports whether no machine of a cluster of the class serves its API.
func (c *Class) hosted() bool {
	return c.templates[c.spec.ControlPlane.TemplateRef].Contract == Hosted
}

// checkHosted requires the machines of a control plane, and refuses what is for machines where it is hosted.
func (c *Class) checkHosted() {
	class := &c.spec.ControlPlane
	if !c.hosted() {
		if _, known := c.templates[class.TemplateRef]; known && !class.MachineInfrastructure.TemplateRef.IsDefined() {
			c.problem(machinesField, "", "needs kind, name and apiVersion")
		}
		return
	}
	for _, f := range []struct {
		field string
		set   bool
	}{
		{machinesField, class.MachineInfrastructure.TemplateRef.IsDefined()},
		{"spec.controlPlane.healthCheck", class.HealthCheck.IsDefined()},
		{"spec.controlPlane.deletion", class.Deletion != (clusterv1.ControlPlaneClassMachineDeletionSpec{})},
		{"spec.controlPlane.readinessGates", class.ReadinessGates != nil},
		{"spec.controlPlane.taints", class.Taints != nil},
	} {
		if f.set {
			c.problem(f.field, leaveOut, "is for machines of the control plane, and %s has none", made(class.TemplateRef.Kind))
		}
	}
}

const leaveOut = "leave it out"

// checkHosted refuses what the topology says of machines of a control plane that has none.
func (x *expansion) checkHosted() {
	if !x.class.hosted() {
		return
	}
	t := &x.cluster.Spec.Topology.ControlPlane
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"replicas", t.Replicas != nil},
		{"rollout", !t.Rollout.After.IsZero()},
		{"healthCheck", t.HealthCheck.Enabled != nil || t.HealthCheck.IsDefined()},
		{"deletion", t.Deletion != (clusterv1.ControlPlaneTopologyMachineDeletionSpec{})},
		{"readinessGates", t.ReadinessGates != nil},
		{"taints", t.Taints != nil},
	} {
		if f.set {
			x.problem(topologyControlPlane+"."+f.name, leaveOut, "is for machines of the control plane, and the %s of ClusterClass %s has none",
				made(x.class.spec.ControlPlane.TemplateRef.Kind), x.class.Key)
		}
	}
}

// keptBootstrap checks that t, the patched bootstrap template of class number c of machine pools that a cloud keeps,
// configures nothing: Cluster API requires one of every class.
func (x *expansion) keptBootstrap(t *patchTarget, pool string, c int) {
	if spec := child(t.spec, "template", "spec"); len(spec) > 0 {
		x.classProblem(fmt.Sprintf("spec.workers.machinePools[%d].bootstrap.templateRef", c), "let spec.template.spec of it be {}",
			"refers to %s, which configures machines, and the cloud sets up those of pool %q by itself", t.template, pool)
	}
}
