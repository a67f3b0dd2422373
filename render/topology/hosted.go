package topology

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// hostedControlPlane adds a control plane without machines, made from t.
func (x *expansion) hostedControlPlane(t *patchTarget, name string) createdRef {
	x.patch(t)
	e, m := x.fromTemplate(t, name)
	e.from("metadata.name", x.class.object, x.class.written("spec.controlPlane.naming.template"))
	child(e.Raw, "spec")["version"] = x.version
	e.from("spec.version", x.object, "spec.topology.version")
	return m
}

// checkHosted refuses what a class says of machines of a control plane that has none.
func (c *Class) checkHosted() {
	s := &c.spec.ControlPlane
	c.refuseMachines(machinesField, s.MachineInfrastructure.TemplateRef.IsDefined())
	c.refuseMachines("spec.controlPlane.healthCheck", s.HealthCheck.IsDefined())
	c.refuseMachines("spec.controlPlane.taints", s.Taints != nil)
	c.refuseMachines("spec.controlPlane.readinessGates", s.ReadinessGates != nil)
	c.refuseMachines("spec.controlPlane.deletion", s.Deletion != (clusterv1.ControlPlaneClassMachineDeletionSpec{}))
}

func (c *Class) refuseMachines(field string, set bool) {
	if set && c.hosted {
		c.problem(field, "leave it out", "is for machines of the control plane, and %s makes one without machines", c.spec.ControlPlane.TemplateRef.Kind)
	}
}

// checkHosted is checkHosted of the class for the Cluster.
func (x *expansion) checkHosted() {
	t := &x.cluster.Spec.Topology.ControlPlane
	for field, set := range map[string]bool{
		"replicas": t.Replicas != nil, "healthCheck": t.HealthCheck.IsDefined() || is(t.HealthCheck.Enabled), "taints": t.Taints != nil,
		"readinessGates": t.ReadinessGates != nil, "rollout": !t.Rollout.After.IsZero(),
		"deletion": t.Deletion != (clusterv1.ControlPlaneTopologyMachineDeletionSpec{}),
	} {
		if set && x.class.hosted {
			x.problem(topologyControlPlane+"."+field, "leave it out", "is for machines of the control plane, and ClusterClass %s makes one without machines", x.class.Key)
		}
	}
}
