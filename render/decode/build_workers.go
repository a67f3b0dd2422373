package decode

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// deploymentPool returns the pool of a MachineDeployment.
func (b *builder) deploymentPool(o *object, in *clusterv1.MachineDeployment, controlPlane string) fleet.Pool {
	machine := &in.Spec.Template.Spec
	replicas := int(*in.Spec.Replicas)
	p := workerPool(b.poolName(o), o, machine, in.Spec.Template.Labels, in.Spec.Template.Annotations)
	p.Replicas = replicas
	p.Strategy, p.DeletionOrder = fleet.Strategy(in.Spec.Rollout.Strategy.Type), fleet.DeletionOrder(in.Spec.Deletion.Order)
	p.Paused = isPaused(in.Spec.Paused, o)
	p.RolloutAfter = in.Spec.Rollout.After.Time
	if kind := fleet.PoolKind(o.gvk.Kind); kind == fleet.LoneMachineSet || kind == fleet.MachinePoolKind {
		p.Kind = kind
	}
	rollout := fleet.Rollout{MaxInFlight: in.Spec.Remediation.MaxInFlight}
	if p.Strategy == fleet.RollingUpdate {
		u := in.Spec.Rollout.Strategy.RollingUpdate
		rollout.MaxSurge, rollout.MaxUnavailable = u.MaxSurge, u.MaxUnavailable
	}
	rollout.Resolve(&p)
	if p.Scaling = b.scaling(o, in); p.Scaling != nil {
		p.Scaling.Rollout = rollout
		p = p.Sized(replicas)
	}
	b.addMachineTemplate(o, &p, machine, "spec.template.spec.", controlPlane)
	p.NamePattern = b.namesOf(in.Spec.MachineNaming.Template, "machineSet.name", machineSetName(o.name, &p))
	return p
}

// machine returns a standalone Machine as a pool of one machine.
func (b *builder) machine(o *object, in *clusterv1.Machine, controlPlane string) fleet.Pool {
	p := workerPool(fleet.PoolName(o.name), o, &in.Spec, in.Labels, in.Annotations)
	p.Kind, p.Replicas, p.Strategy = fleet.LoneMachine, 1, fleet.OnDelete
	p.Paused = isPaused(nil, o)
	fleet.Rollout{}.Resolve(&p)
	b.addMachineTemplate(o, &p, &in.Spec, "spec.", controlPlane)
	return p
}

// workerPool returns the pool of workers of o with that name, without bootstrap configuration and
// infrastructure template.
func workerPool(name fleet.PoolName, o *object, machine *clusterv1.MachineSpec, labels, annotations map[string]string) fleet.Pool {
	return fleet.Pool{
		Name: name, Role: fleet.RoleWorker, Version: machine.Version,
		FailureDomain:   machine.FailureDomain,
		MinReadySeconds: seconds(machine.MinReadySeconds),
		Replace:         requestedMachines(o.notes, fleet.ReplaceAnnotation), Remediate: requestedMachines(o.notes, fleet.RemediateAnnotation),
		Labels: copied(labels), NodeLabels: nodeLabels(labels),
		Annotations:                    copied(annotations),
		Taints:                         machine.Taints,
		ReadinessGates:                 machine.ReadinessGates,
		NodeDrainTimeoutSeconds:        seconds(machine.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeoutSeconds: seconds(machine.Deletion.NodeVolumeDetachTimeoutSeconds),
	}
}

// addMachineTemplate adds bootstrap configuration and infrastructure template, at path of o, to p.
func (b *builder) addMachineTemplate(o *object, p *fleet.Pool, machine *clusterv1.MachineSpec, path, controlPlane string) {
	if why := b.skew(machine.Version, controlPlane); why != "" {
		b.addf(o, path+"version", "", "%s %s", machine.Version, why)
	}
	role := fleet.InfrastructureMachineTemplate
	switch p.Kind {
	case fleet.LoneMachine:
		role = fleet.InfrastructureMachine
	case fleet.MachinePoolKind:
		role = fleet.InfrastructureMachinePool
	}
	infra, provider := b.infrastructure(o, path+"infrastructureRef", machine.InfrastructureRef, role)
	p.Infrastructure, p.Provider = infra, b.site(o, path+"infrastructureRef", machine.InfrastructureRef.Kind, provider)
	b.bootstrap(o, p, path, machine.Bootstrap.ConfigRef)
	addHashes(p, hashSchemas())
}

// bootstrap adds to p the bootstrap configuration that ref refers to, in the MachineSpec at
// path of o. It has to belong to the distribution of the control plane.
func (b *builder) bootstrap(o *object, p *fleet.Pool, path string, ref clusterv1.ContractVersionedObjectReference) {
	field := path + "bootstrap.configRef"
	t := b.resolve(o, field, ref)
	if t == nil || len(t.problems) > 0 {
		return
	}
	role, distribution := fleet.BootstrapConfigTemplateKind, ""
	if p.Kind == fleet.LoneMachine || p.Kind == fleet.MachinePoolKind {
		role = fleet.BootstrapConfigKind
	}
	if b.controlPlaneKind != nil {
		distribution = b.controlPlaneKind.distribution
	}
	in, ok := t.value.(*fleet.BootstrapManifest)
	switch {
	case !ok, t.kind.role != role:
		b.addf(o, field, "", "must refer to a %s, not to %s", b.decoder.kindsOf(role, distribution), t.gvk.Kind)
	case distribution != "" && t.kind.distribution != distribution:
		b.addf(o, field, "use a "+b.decoder.kindsOf(role, distribution), "refers to %s, which is for %s; the control plane of cluster %s is a %s",
			t, t.kind.distribution, b.key, b.controlPlaneKind.name)
	default:
		p.Bootstrap = bootstrapFrom(in)
		b.secrets(t, in)
		b.configure(p.Name, config{pool: o, version: path + "version", object: t, path: in.Path})
	}
}

// secrets checks that the values which a bootstrap configuration in o takes from Secrets
// exist.
func (b *builder) secrets(o *object, m *fleet.BootstrapManifest) {
	for _, ref := range m.Secrets {
		b.givenValue(o, ref)
	}
}

// answered returns the Secrets that providers answer when machines are made, and their keys.
func (b *builder) answered() map[string][]string {
	out := make(map[string][]string)
	for _, o := range b.set.objects {
		if in, ok := o.value.(*infrastructure); ok && o.namespace == b.key.Namespace && in.kind.Answers != nil {
			maps.Copy(out, in.kind.Answers(o.name))
		}
	}
	return out
}

// givenValue checks that a value which o takes from a Secret exists.
func (b *builder) givenValue(o *object, ref fleet.SecretRef) {
	field := o.written(ref.Field)
	s := b.set.get("", "Secret", b.key.Namespace, ref.Name)
	if s == nil {
		if !b.set.unreadable && !slices.Contains(b.answered()[ref.Name], ref.Key) {
			b.addf(o, field, "add it to the overlay", "refers to Secret %s/%s, which the overlay does not hold", b.key.Namespace, ref.Name)
		}
		return
	}
	if data, ok := s.value.(fleet.SecretData); ok {
		if _, ok := data[ref.Key]; !ok {
			b.addf(o, field, "it has "+strings.Join(quote(slices.Sorted(maps.Keys(data))), ", "), "refers to key %q of %s, which it does not have", ref.Key, s)
		}
	}
}
