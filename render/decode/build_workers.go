package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func (b *builder) workers(o *object, in *clusterv1.MachineDeployment, controlPlane string) fleet.Pool {
	machine := &in.Spec.Template.Spec
	replicas := int(*in.Spec.Replicas)
	p := worker(o, machine, in.Spec.Template.Labels, in.Spec.Template.Annotations)
	p.Replicas = replicas
	p.Strategy, p.DeletionOrder = fleet.Strategy(in.Spec.Rollout.Strategy.Type), fleet.DeletionOrder(in.Spec.Deletion.Order)
	p.Paused = isPaused(in.Spec.Paused, o)
	p.RolloutAfter = in.Spec.Rollout.After.Time
	if o.gvk.Kind == string(fleet.LoneMachineSet) {
		p.Kind = fleet.LoneMachineSet
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
	b.made(o, &p, machine, "spec.template.spec.", controlPlane)
	p.NamePattern = b.namesOf(in.Spec.MachineNaming.Template, "machineSet.name", machineSetName(o.name, p.Template))
	return p
}

// machine returns a Machine that stands alone as a pool that has nothing but it.
func (b *builder) machine(o *object, in *clusterv1.Machine, controlPlane string) fleet.Pool {
	p := worker(o, &in.Spec, in.Labels, in.Annotations)
	p.Kind, p.Replicas, p.Strategy = fleet.LoneMachine, 1, fleet.OnDelete
	p.Paused = isPaused(nil, o)
	fleet.Rollout{}.Resolve(&p)
	b.made(o, &p, &in.Spec, "spec.", controlPlane)
	return p
}

// worker returns what o, a pool of workers, says of each of its machines, but
// for what they are made of.
func worker(o *object, machine *clusterv1.MachineSpec, labels, annotations map[string]string) fleet.Pool {
	return fleet.Pool{
		Name: fleet.PoolName(o.name), Role: fleet.RoleWorker, Version: machine.Version,
		FailureDomain:   machine.FailureDomain,
		MinReadySeconds: seconds(machine.MinReadySeconds),
		Replace:         wished(o.notes, fleet.ReplaceAnnotation), Remediate: wished(o.notes, fleet.RemediateAnnotation),
		Labels: copied(labels), NodeLabels: nodeLabels(labels),
		Annotations:                    copied(annotations),
		Taints:                         machine.Taints,
		ReadinessGates:                 machine.ReadinessGates,
		NodeDrainTimeoutSeconds:        seconds(machine.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeoutSeconds: seconds(machine.Deletion.NodeVolumeDetachTimeoutSeconds),
	}
}

// made adds to p what its machines are made of, as the machine at path of o says.
func (b *builder) made(o *object, p *fleet.Pool, machine *clusterv1.MachineSpec, path, controlPlane string) {
	if why := validateSkew(machine.Version, controlPlane); why != "" {
		b.addf(o, path+"version", "", "%s %s", machine.Version, why)
	}
	role := fleet.InfrastructureMachineTemplate
	if p.Kind == fleet.LoneMachine {
		role = fleet.InfrastructureMachine
	}
	infra, provider := b.infrastructure(o, path+"infrastructureRef", machine.InfrastructureRef, role)
	p.Infrastructure, p.Provider = infra, b.site(o, path+"infrastructureRef", machine.InfrastructureRef.Kind, provider)
	if t := b.resolve(o, path+"bootstrap.configRef", machine.Bootstrap.ConfigRef); t != nil && len(t.problems) == 0 {
		config, ok := bootstrapOf(t, p.Kind)
		if !ok {
			b.addf(o, path+"bootstrap.configRef", "", "must refer to a %s, not to %s", bootstrapKind(p.Kind), t.gvk.Kind)
			return
		}
		p.Bootstrap = bootstrapFrom(config)
		at := "spec.template.spec"
		if p.Kind == fleet.LoneMachine {
			at = "spec"
		}
		b.secrets(t, at, config)
	}
	addHashes(p, hashSchemas())
}

// bootstrapKind is what pools of a kind have their bootstrap configuration in.
func bootstrapKind(k fleet.PoolKind) string {
	if k == fleet.LoneMachine {
		return "KubeadmConfig"
	}
	return "KubeadmConfigTemplate"
}

// bootstrapOf returns the configuration in o, if o is of the kind for pools of kind k.
func bootstrapOf(o *object, k fleet.PoolKind) (*bootstrapv1.KubeadmConfigSpec, bool) {
	switch v := o.value.(type) {
	case *bootstrapv1.KubeadmConfig:
		return &v.Spec, k == fleet.LoneMachine
	case *bootstrapv1.KubeadmConfigTemplate:
		return &v.Spec.Template.Spec, k != fleet.LoneMachine
	}
	return nil, false
}

// secrets checks that the values which a bootstrap configuration, at field of
// o, takes from secrets are there.
func (b *builder) secrets(o *object, field string, c *bootstrapv1.KubeadmConfigSpec) {
	check := func(field, name, key string) {
		if name == "" {
			return
		}
		s := b.set.get("", "Secret", b.key.Namespace, name)
		if s == nil {
			if b.set.unreadable {
				return
			}
			b.addf(o, field, "add it to the overlay", "refers to Secret %s/%s, which the overlay does not hold", b.key.Namespace, name)
			return
		}
		if data, ok := s.value.(fleet.SecretData); ok {
			if _, ok := data[key]; !ok {
				b.addf(o, field, "it has "+strings.Join(quote(slices.Sorted(maps.Keys(data))), ", "), "refers to key %q of %s, which it does not have", key, s)
			}
		}
	}
	for i, f := range c.Files {
		check(fmt.Sprintf("%s.files[%d].contentFrom.secret", field, i), f.ContentFrom.Secret.Name, f.ContentFrom.Secret.Key)
	}
	for i, u := range c.Users {
		check(fmt.Sprintf("%s.users[%d].passwdFrom.secret", field, i), u.PasswdFrom.Secret.Name, u.PasswdFrom.Secret.Key)
	}
}
