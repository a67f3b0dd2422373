package api

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "hosts"

// group is the API group of the kinds.
const group = "fairlead.dev"

// The kinds that machines are made from.
const (
	machineKind  = "HostMachine"
	templateKind = "HostMachineTemplate"
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	versions := []string{"v1alpha1"}
	kind := func(role fleet.KindRole, name string, object func() any) fleet.Kind {
		return fleet.Kind{
			Provider: ProviderName, Role: role, Group: group, Kind: name, Versions: versions,
			New: func(string) any { return object() }, Normalise: normalise, Secrets: secrets,
		}
	}
	const ownID = "each machine gets an id of its own: leave the field out"
	machine := kind(fleet.InfrastructureMachine, machineKind, func() any { return new(HostMachine) })
	machine.Refused = map[string]string{"spec.providerID": ownID}
	template := kind(fleet.InfrastructureMachineTemplate, templateKind, func() any { return new(HostMachineTemplate) })
	template.Refused = map[string]string{
		"spec.template.spec.providerID": ownID,
		"spec.template.metadata": "a machine of this provider has no labels and annotations of its own: " +
			"put them into the machine template of the MachineDeployment or KubeadmControlPlane",
	}
	cluster := kind(fleet.InfrastructureCluster, "HostCluster", func() any { return new(HostCluster) })
	cluster.Serving, cluster.Elsewhere, cluster.Resolve = serving, elsewhere, resolveCluster
	pool := kind(fleet.InfrastructureCompanion, "HostPool", func() any { return new(HostPool) })
	host := kind(fleet.InfrastructureCompanion, "Host", func() any { return new(Host) })
	pool.Networks, host.Networks = networks, networks
	return []fleet.Kind{
		cluster,
		kind(fleet.InfrastructureClusterTemplate, "HostClusterTemplate", func() any { return new(HostClusterTemplate) }),
		machine,
		template,
		pool,
		host,
	}
}

// normalise implements fleet.Kind.
func normalise(in any) (any, field.ErrorList) {
	var v validator
	spec, template := field.NewPath("spec"), field.NewPath("spec", "template", "spec")
	switch o := in.(type) {
	case *HostCluster:
		v.cluster(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *HostClusterTemplate:
		v.cluster(template, &o.Spec.Template.Spec)
		v.endpoint(template, &o.Spec.Template.Spec)
		return &o.Spec.Template.Spec, v.Errs
	case *HostMachine:
		v.machine(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *HostMachineTemplate:
		v.machine(template, &o.Spec.Template.Spec)
		return &o.Spec.Template.Spec, v.Errs
	case *HostPool:
		v.pool(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *Host:
		v.Required(spec.Child("poolName"), o.Spec.PoolName, "name the HostPool that the host belongs to")
		v.host(spec, &o.Spec.HostDetails)
		return &o.Spec, v.Errs
	}
	return nil, field.ErrorList{field.InternalError(spec, fmt.Errorf("%T is no kind of this provider", in))}
}

// serving implements fleet.Kind.
func serving(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*HostClusterSpec); ok && s.ControlPlaneEndpoint.Host == "" {
		v.endpoint(field.NewPath("spec"), s)
	}
	return v.Errs
}

// elsewhere implements fleet.Kind.
func elsewhere(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*HostClusterSpec); ok {
		const why = "the control plane is hosted, and its operator serves its endpoint: leave the field out"
		v.Forbidden(field.NewPath("spec", "loadBalancer"), s.LoadBalancer != nil, why)
		v.Forbidden(field.NewPath("spec", "virtualIP"), s.VirtualIP != nil, why)
	}
	return v.Errs
}

// secrets implements fleet.Kind.
func secrets(spec any, namespace string) []fleet.Key {
	var out []fleet.Key
	add := func(r *IdentityReference) {
		if r != nil {
			out = append(out, fleet.Key{Namespace: namespace, Name: r.Name})
		}
	}
	of := func(s *SSH) {
		if s == nil {
			return
		}
		add(s.IdentityRef)
		if s.Bastion != nil {
			add(s.Bastion.IdentityRef)
		}
	}
	switch s := spec.(type) {
	case *HostPoolSpec:
		of(&s.SSH)
		for i := range s.Hosts {
			of(s.Hosts[i].SSH)
		}
	case *HostSpec:
		of(s.SSH)
	}
	return out
}

// ReadCluster returns the spec of a HostCluster that was normalised.
func ReadCluster(o fleet.Object) (*HostClusterSpec, error) {
	return objects.Read[HostClusterSpec](o, "HostCluster")
}

// ReadMachine returns the spec of a HostMachine, or of the machines of a
// HostMachineTemplate, that was normalised.
func ReadMachine(o fleet.Object) (*HostMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return objects.Read[HostMachineSpec](o, machineKind)
	}
	return objects.Read[HostMachineSpec](o, templateKind)
}

// ReadPool returns the spec of a HostPool that was normalised.
func ReadPool(o fleet.Object) (*HostPoolSpec, error) {
	return objects.Read[HostPoolSpec](o, "HostPool")
}

// ReadHost returns the spec of a Host that was normalised.
func ReadHost(o fleet.Object) (*HostSpec, error) { return objects.Read[HostSpec](o, "Host") }
