package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "hosts"

// group is the API group of the kinds.
const group = "fairlead.dev"

// The kinds that are read by their names.
const (
	clusterKind  = "HostCluster"
	machineKind  = "HostMachine"
	templateKind = "HostMachineTemplate"
	poolKind     = "HostPool"
	hostKind     = "Host"
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const version = "v1alpha1"
	kind := func(role fleet.KindRole, name string, versions ...kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name, Secrets: secrets}, versions...)
	}
	const ownID = "each machine gets an id of its own: leave the field out"
	checked := kinds.Checked((*validator).machine)
	machine := kind(fleet.InfrastructureMachine, machineKind, kinds.Objects(checked, version))
	machine.Refused = map[string]string{"spec.providerID": ownID}
	template := kind(fleet.InfrastructureMachineTemplate, templateKind, kinds.Templates(checked, version))
	template.Refused = map[string]string{
		"spec.template.spec.providerID": ownID,
		"spec.template.metadata": "a machine of this provider has no labels and annotations of its own: " +
			"put them into the machine template of the MachineDeployment or KubeadmControlPlane",
	}
	cluster := kind(fleet.InfrastructureCluster, clusterKind, kinds.Objects(kinds.Checked((*validator).cluster), version))
	cluster.Serving, cluster.Elsewhere, cluster.Resolve = serving, elsewhere, resolveCluster
	clusters := kind(fleet.InfrastructureClusterTemplate, "HostClusterTemplate", kinds.Templates(kinds.Checked((*validator).clusterTemplate), version))
	pool := kind(fleet.InfrastructureCompanion, poolKind, kinds.Objects(kinds.Checked((*validator).pool), version))
	host := kind(fleet.InfrastructureCompanion, hostKind, kinds.Objects(kinds.Checked((*validator).hostObject), version))
	pool.Networks, host.Networks, host.Resolve = networks, networks, resolveHost
	return []fleet.Kind{cluster, clusters, machine, template, pool, host}
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
	return objects.Read[HostClusterSpec](o, clusterKind)
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
	return objects.Read[HostPoolSpec](o, poolKind)
}

// ReadHost returns the spec of a Host that was normalised.
func ReadHost(o fleet.Object) (*HostSpec, error) { return objects.Read[HostSpec](o, hostKind) }
