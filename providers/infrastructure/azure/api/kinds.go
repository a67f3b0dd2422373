package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "azure"

const group = "infrastructure.cluster.x-k8s.io"

// The kinds that are read by their names.
const (
	clusterKind  = "AzureCluster"
	machineKind  = "AzureMachine"
	templateKind = "AzureMachineTemplate"
	poolKind     = "AzureMachinePool"

	IdentityKind = "AzureClusterIdentity"

	// ManagedControlPlane is the kind of control planes that AKS keeps.
	ManagedControlPlane = "AzureManagedControlPlane"
	managedClusterKind  = "AzureManagedCluster"
	managedPoolKind     = "AzureManagedMachinePool"
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const version, below = "v1beta1", "spec.template."
	kind := func(role fleet.KindRole, name string, v kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name}, v)
	}
	cluster := kind(fleet.InfrastructureCluster, clusterKind, kinds.Objects(kinds.Checked((*validator).cluster), version))
	cluster.Refused, cluster.Limited, cluster.Unused = refusedOfCluster("spec."), limitedOfCluster("spec."), unusedOfCluster("spec.")
	cluster.Networks, cluster.Elsewhere = networks, elsewhere
	clusters := kind(fleet.InfrastructureClusterTemplate, "AzureClusterTemplate", kinds.Templates(kinds.Checked((*validator).clusterTemplate), version))
	clusters.Refused, clusters.Limited, clusters.Unused = refusedOfCluster(below+"spec."), limitedOfCluster(below+"spec."), unusedOfCluster(below+"spec.")
	clusters.Refused[below+"metadata"] = noLabels

	checked := kinds.Checked((*validator).machine)
	machine := kind(fleet.InfrastructureMachine, machineKind, kinds.Objects(checked, version))
	machine.Refused, machine.Limited, machine.Unused = refusedOfMachine("spec."), limitedOfMachine("spec."), unusedOfMachine("spec.")
	machines := kind(fleet.InfrastructureMachineTemplate, templateKind, kinds.Templates(checked, version))
	machines.Refused, machines.Limited, machines.Unused = refusedOfMachine(below+"spec."), limitedOfMachine(below+"spec."), unusedOfMachine(below+"spec.")
	machines.Refused[below+"metadata"] = noLabels
	own := kind(fleet.InfrastructureMachinePool, poolKind, kinds.Objects(kinds.Checked((*validator).pool), version))
	own.OwnMachines, own.Rollout, own.Hashed = true, rollout, hashedPool
	own.Refused, own.Limited, own.Unused = refusedOfPool("spec."), limitedOfPool("spec."), unusedOfPool("spec.")
	machine.Answers, machines.Answers, own.Answers = answers, answers, answers

	identity := kind(fleet.InfrastructureCompanion, IdentityKind, kinds.Objects(identityOf, version))
	identity.Limited, identity.Unused = limitedOfIdentity(), unusedOfIdentity()
	identity.Secrets = secrets

	managed := kind(fleet.InfrastructureCluster, managedClusterKind, kinds.Objects(kinds.Checked((*validator).managedCluster), version))
	managed.Unused = map[string]string{"spec.controlPlaneEndpoint": endpointOfAKS}
	managed.Serving = servingManaged
	manageds := kind(fleet.InfrastructureClusterTemplate, managedClusterKind+"Template", kinds.BareTemplates(kinds.Checked((*validator).managedClusterTemplate), version))
	pool := kind(fleet.InfrastructureMachinePool, managedPoolKind, kinds.Objects(managedPool, version))
	pool.Range = scalingOf
	pool.Refused, pool.Limited, pool.Unused = refusedOfManagedPool("spec."), limitedOfManagedPool("spec."), unusedOfManagedPool("spec.")
	pool.Adoptable = true
	pools := kind(fleet.InfrastructureMachinePoolTemplate, managedPoolKind+"Template", kinds.BareTemplates(managedPool, version))
	pools.Refused, pools.Limited, pools.Unused = refusedOfManagedPool(below+"spec."), limitedOfManagedPool(below+"spec."), unusedOfManagedPool(below+"spec.")
	return []fleet.Kind{cluster, clusters, machine, machines, own, managed, manageds, pool, pools, identity}
}

// Distribution is the name of the distribution of machines that join a control plane of AKS.
const Distribution = "aks"

// ControlPlaneKinds returns the kinds of control planes that AKS keeps.
func ControlPlaneKinds() []fleet.Kind {
	kind := func(role fleet.KindRole, name, at string, v kinds.Version) fleet.Kind {
		k := kinds.Of(fleet.Kind{Distribution: Distribution, Role: role, Group: group, Kind: name, NonNegative: true}, v)
		k.Refused, k.Limited, k.Unused = refusedOfManagedControlPlane(at), limitedOfManagedControlPlane(at), unusedOfManagedControlPlane(at)
		return k
	}
	plane := kind(fleet.HostedControlPlaneKind, ManagedControlPlane, "spec.", kinds.Objects(managedControlPlane, "v1beta1"))
	plane.Adoptable = true
	class := kind(fleet.HostedControlPlaneTemplateKind, ManagedControlPlane+"Template", "spec.template.spec.", kinds.BareTemplates(managedControlPlane, "v1beta1"))
	delete(class.Unused, "spec.template.spec.controlPlaneEndpoint")
	class.Refused["spec.template.spec.controlPlaneEndpoint"] = noEndpoint
	return []fleet.Kind{plane, class}
}

func identityOf(o metav1.Object, at *field.Path, s *AzureClusterIdentitySpec) (any, field.ErrorList) {
	var v validator
	v.identity(at, s)
	return s, v.Errs
}

// secrets implements fleet.Kind.
func secrets(spec any, namespace string) []fleet.Key {
	s, ok := spec.(*AzureClusterIdentitySpec)
	if !ok || s.ClientSecret.Name == "" {
		return nil
	}
	return []fleet.Key{s.SecretOf(namespace)}
}

// SecretOf returns the key of the Secret of an identity in a namespace.
func (s *AzureClusterIdentitySpec) SecretOf(namespace string) fleet.Key {
	k := fleet.Key{Namespace: s.ClientSecret.Namespace, Name: s.ClientSecret.Name}
	if k.Namespace == "" {
		k.Namespace = namespace
	}
	return k
}

// The keys of the Secret with azure.json, the configuration of the cloud controller manager, for a machine.
const (
	ControlPlaneJSON = "control-plane-azure.json"
	WorkerJSON       = "worker-node-azure.json"
)

// JSONSecret is the name of that Secret for machines of an object.
// Source: CAPZ, controllers/helpers.go.
func JSONSecret(object string) string { return object + "-azure-json" }

// answers implements fleet.Kind.
func answers(name string) map[string][]string {
	return map[string][]string{JSONSecret(name): {ControlPlaneJSON, WorkerJSON}}
}

// networks implements fleet.Kind.
func networks(spec any) []string {
	s, ok := spec.(*AzureClusterSpec)
	if !ok {
		return nil
	}
	var out []string
	for _, n := range s.NetworkSpec.Subnets {
		out = append(out, n.CIDRBlocks...)
	}
	return out
}

// elsewhere implements fleet.Kind: where another makes the control plane, no load balancer is made.
func elsewhere(spec any) field.ErrorList {
	var v validator
	if s, ok := spec.(*AzureClusterSpec); ok {
		at := field.NewPath("spec", "networkSpec")
		v.Forbidden(at.Child("additionalAPIServerLBPorts"), len(s.NetworkSpec.AdditionalAPIServerLBPorts) > 0, "no load balancer is made, since the control plane is elsewhere: leave it out")
		v.Forbidden(at.Child("controlPlaneOutboundLB"), s.NetworkSpec.ControlPlaneOutboundLB != nil, "no server needs it, since the control plane is elsewhere: leave it out")
		v.Forbidden(at.Child("apiServerLB", "name"), s.NetworkSpec.APIServerLB.Name != "", "no load balancer is made, since the control plane is elsewhere: leave it out")
	}
	return v.Errs
}

// ReadCluster returns the spec of an AzureCluster that was normalised.
func ReadCluster(o fleet.Object) (*AzureClusterSpec, error) {
	return objects.Read[AzureClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of an AzureMachine, or of the machines of an AzureMachineTemplate or an AzureMachinePool, that
// was normalised.
func ReadMachine(o fleet.Object) (*AzureMachineSpec, error) {
	switch o.GVK.Kind {
	case machineKind:
		return objects.Read[AzureMachineSpec](o, machineKind)
	case poolKind:
		s, err := objects.Read[AzureMachinePoolSpec](o, poolKind)
		if err != nil {
			return nil, err
		}
		return s.machine(), nil
	}
	return objects.Read[AzureMachineSpec](o, templateKind)
}
