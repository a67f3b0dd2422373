package decode

import (
	"fairlead.dev/fleet"
)

// keptPool returns the pool of a MachinePool of c.
func (b *builder) keptPool(o *object, in *machinePool, c *fleet.Cluster) fleet.KeptPool {
	const ref, at = "spec.template.spec.infrastructureRef", "spec.template.spec.version"
	machine := &in.Spec.Template.Spec
	p := fleet.KeptPool{
		Name: fleet.PoolName(o.name), Count: int(*in.Spec.Replicas), Range: in.between, Version: machine.Version,
		FailureDomains: in.Spec.FailureDomains, NodeLabels: nodeLabels(in.Spec.Template.Labels), Taints: machine.Taints,
		MinReadySeconds: seconds(machine.MinReadySeconds), Paused: isPaused(nil, o),
	}
	if p.Range != nil {
		p.Count = p.Range.Bound(p.Count)
	}
	if p.Version == "" {
		p.Version = c.Version()
	}
	switch why := validateSkew(p.Version, c.Version()); {
	case p.Version == "" && !b.broken(o):
		b.addf(o, at, "", "is missing: the object of the control plane names no version that it could be by default")
	case why != "":
		b.addf(o, at, "", "%s %s", p.Version, why)
	}
	var provider string
	p.Infrastructure, provider = b.infrastructure(o, ref, machine.InfrastructureRef, fleet.InfrastructureMachinePool)
	if provider != "" && b.provider != "" && provider != b.provider {
		b.addf(o, ref, "use a MachineDeployment with a machine template of "+provider,
			"refers to %s of the provider %s, and the cluster's infrastructure is of %s: a cloud keeps pools of its own clusters", machine.InfrastructureRef.Kind, provider, b.provider)
	}
	return p
}

// insteadOf says what to do about a reference to an object that has not the role.
func insteadOf(role fleet.KindRole) string {
	if role == fleet.InfrastructureMachinePool {
		return "a MachinePool is for pools that a cloud keeps; for machines that Fairlead creates, use a MachineDeployment with a machine template"
	}
	return ""
}
