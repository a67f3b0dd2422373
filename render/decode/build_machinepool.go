package decode

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// machinePool adds the pool of a MachinePool to c: one of machines that Fairlead creates, if the infrastructure is of a
// kind for these, or one that a cloud keeps.
func (b *builder) machinePool(o *object, in *machinePool, c *fleet.Cluster) {
	ref := &in.Spec.Template.Spec.InfrastructureRef
	if t := b.set.get(ref.APIGroup, ref.Kind, o.namespace, ref.Name); t != nil && t.kind != nil && t.kind.ownMachines {
		c.Workers = append(c.Workers, b.ownPool(o, in, c.Version(), t))
		return
	}
	c.KeptPools = append(c.KeptPools, b.keptPool(o, in, c))
}

// ownPool returns the pool of a MachinePool whose machines Fairlead creates, as infra says: that of a MachineDeployment with
// the same template.
func (b *builder) ownPool(o *object, in *machinePool, controlPlane string, infra *object) fleet.Pool {
	m := &clusterv1.MachineDeployment{ObjectMeta: in.ObjectMeta, Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: in.Spec.ClusterName, Replicas: in.Spec.Replicas, Template: *in.Spec.Template.DeepCopy(),
	}}
	machine := &m.Spec.Template.Spec
	machine.Version = cmp.Or(machine.Version, controlPlane)
	if of, ok := infra.value.(*infrastructure); ok && of.kind.Rollout != nil {
		m.Spec.Rollout.Strategy.RollingUpdate, m.Spec.Deletion.Order = of.kind.Rollout(of.value)
	}
	_ = defaultRollout(m) // there is nothing in it that could be wrong
	defaultSelector(m)
	m.Spec.Template.Labels[clusterv1.MachinePoolNameLabel] = o.name
	for _, err := range requireRef(machine.Bootstrap.ConfigRef, field.NewPath("spec", "template", "spec", "bootstrap", "configRef")) {
		b.addf(o, err.Field, "", "%s", err.ErrorBody())
	}
	p := b.deploymentPool(o, m, controlPlane)
	p.FailureDomains = in.Spec.FailureDomains
	return p
}

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
	if provider == "" {
		return p
	}
	configured := false
	if t := b.set.get(machine.InfrastructureRef.APIGroup, machine.InfrastructureRef.Kind, o.namespace, machine.InfrastructureRef.Name); t != nil {
		of, ok := t.value.(*infrastructure)
		configured = ok && of.kind.Configured != nil && of.kind.Configured(of.value)
		if ok && of.kind.Range != nil {
			b.between(o, in, &p, of.kind.Range(of.value))
		}
	}
	b.refuseForKept(o, in, p.Range, configured)
	if configured && machine.Bootstrap.ConfigRef.IsDefined() {
		own := fleet.Pool{Name: p.Name, Kind: fleet.MachinePoolKind}
		b.bootstrap(o, &own, "spec.template.spec.", machine.Bootstrap.ConfigRef)
		p.Bootstrap = &own.Bootstrap
	}
	return p
}

// between has p, the pool of in, decided by the cloud within the bounds that its infrastructure names; nil: it names none. Bounds of
// the MachinePool are the same, or are refused.
func (b *builder) between(o *object, in *machinePool, p *fleet.KeptPool, r *fleet.PoolRange) {
	kind := in.Spec.Template.Spec.InfrastructureRef.Kind
	switch note := clusterv1.ReplicasManagedByAnnotation; {
	case r == nil:
		return
	case in.Annotations[note] == "false":
		b.addf(o, "metadata.annotations["+note+"]", "remove the annotation, or the bounds of the "+kind, "is false, and the %s has the cloud decide the number of machines, from %d to %d", kind, r.Min, r.Max)
	case p.Range != nil && p.Range.Max > 0 && *p.Range != *r:
		b.addf(o, "metadata.annotations["+clusterv1.AutoscalerMaxSizeAnnotation+"]", "name the bounds once, or the same", "with the minimum beside it bounds the number of machines from %d to %d, and the %s from %d to %d", p.Range.Min, p.Range.Max, kind, r.Min, r.Max)
	}
	p.Range, p.Count = r, r.Bound(int(*in.Spec.Replicas))
}

// refuseForKept refuses what is for machines that Fairlead creates. Those that are configured have a bootstrap configuration.
func (b *builder) refuseForKept(o *object, in *machinePool, between *fleet.PoolRange, configured bool) {
	const drains = "the cloud drains its machines with time limits of its own: set them in the object that infrastructureRef names, if it has any"
	machine := &in.Spec.Template.Spec
	for _, f := range []struct {
		path string
		set  bool
		why  string
	}{
		{"bootstrap.configRef", machine.Bootstrap.ConfigRef.IsDefined() && !configured, "the cloud sets up the machines by itself: leave it out, and set dataSecretName to the empty name; for machines that Fairlead sets up, use a MachineDeployment"},
		{"readinessGates", machine.ReadinessGates != nil, "the cloud's machines are no machines of Fairlead, and only readiness of their Nodes is counted: leave them out"},
		{"deletion.nodeDrainTimeoutSeconds", machine.Deletion.NodeDrainTimeoutSeconds != nil, drains},
		{"deletion.nodeVolumeDetachTimeoutSeconds", machine.Deletion.NodeVolumeDetachTimeoutSeconds != nil, drains},
	} {
		if f.set {
			b.addf(o, o.written("spec.template.spec."+f.path), "", "is not supported for a pool that a cloud keeps: %s", f.why)
		}
	}
	if configured && !machine.Bootstrap.ConfigRef.IsDefined() {
		b.addf(o, o.written("spec.template.spec.bootstrap.configRef"), "", "is required: the %s names an image of your own, and the cloud does not set up its machines: name the configuration that does, such as a NodeadmConfig", machine.InfrastructureRef.Kind)
	}
	if between != nil && between.Max == 0 {
		b.addf(o, "metadata.annotations["+clusterv1.AutoscalerMaxSizeAnnotation+"]", "",
			"is required: others decide the number of machines: name the bounds for the cloud, with %s beside it", clusterv1.AutoscalerMinSizeAnnotation)
	}
}

// insteadOf says what to do about a reference to an object that has not the role.
func insteadOf(role fleet.KindRole) string {
	if role == fleet.InfrastructureMachinePool {
		return "a MachinePool is for pools that a cloud keeps; for machines that Fairlead creates, use a MachineDeployment with a machine template"
	}
	return ""
}
