package api

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "aws"

// group is the API group of the kinds.
const group = "infrastructure.cluster.x-k8s.io"

// The kinds that are read by their names.
const (
	clusterKind  = "AWSCluster"
	machineKind  = "AWSMachine"
	templateKind = "AWSMachineTemplate"
	poolKind     = "AWSMachinePool"

	// ManagedControlPlane is the kind of control planes that EKS keeps.
	ManagedControlPlane = "AWSManagedControlPlane"
	// ManagedCluster is the kind of the infrastructure beside one.
	ManagedCluster  = "AWSManagedCluster"
	managedPoolKind = "AWSManagedMachinePool"
	fargateKind     = "AWSFargateProfile"

	RoleIdentity       = "AWSClusterRoleIdentity"
	StaticIdentity     = "AWSClusterStaticIdentity"
	ControllerIdentity = "AWSClusterControllerIdentity"
)

// DefaultIdentity is the name of the only AWSClusterControllerIdentity.
const DefaultIdentity = "default"

// IdentityNamespace is where the Secret of an AWSClusterStaticIdentity is: the namespace of upstream's
// controllers.
const IdentityNamespace = "capa-system"

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const newest, older, below = "v1beta2", "v1beta1", "spec.template."
	kind := func(role fleet.KindRole, name string, versions ...kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name}, versions...)
	}

	cluster := kind(fleet.InfrastructureCluster, clusterKind,
		kinds.Objects(kinds.Checked((*validator).cluster), newest), kinds.Objects(kinds.Converted(convertCluster, (*validator).cluster), older))
	cluster.Refused, cluster.Limited, cluster.Unused = refusedOfCluster("spec."), limitedOfCluster("spec."), unusedOfCluster("spec.")
	cluster.Networks, cluster.Elsewhere, cluster.Serving = networks, elsewhere, serving
	clusters := kind(fleet.InfrastructureClusterTemplate, "AWSClusterTemplate",
		kinds.Templates(kinds.Checked((*validator).clusterTemplate), newest), kinds.Templates(kinds.Converted(convertCluster, (*validator).clusterTemplate), older))
	clusters.Refused, clusters.Limited, clusters.Unused = refusedOfCluster(below+"spec."), limitedOfCluster(below+"spec."), unusedOfCluster(below+"spec.")

	checked, converted := kinds.Checked((*validator).machine), kinds.Converted(convertMachine, (*validator).machine)
	machine := kind(fleet.InfrastructureMachine, machineKind, kinds.Objects(checked, newest), kinds.Objects(converted, older))
	machine.Refused, machine.Limited, machine.Unused = refusedOfMachine("spec."), limitedOfMachine("spec."), unusedOfMachine("spec.")
	machines := kind(fleet.InfrastructureMachineTemplate, templateKind, kinds.Templates(checked, newest), kinds.Templates(converted, older))
	machines.Refused, machines.Limited, machines.Unused = refusedOfMachine(below+"spec."), limitedOfMachine(below+"spec."), unusedOfMachine(below+"spec.")
	machines.Refused[below+"metadata"] = "a machine of this provider has no labels and annotations of its own: " +
		"put them into the machine template of the MachineDeployment or KubeadmControlPlane"

	ownPool := kind(fleet.InfrastructureMachinePool, poolKind, kinds.Objects(machinePool, newest), kinds.Objects(oldMachinePool, older))
	ownPool.OwnMachines, ownPool.Rollout, ownPool.Hashed = true, rollout, hashedPool
	ownPool.Refused, ownPool.Limited, ownPool.Unused = refusedOfMachinePool(), limitedOfMachinePool(), unusedOfMachinePool()

	role := kind(fleet.InfrastructureCompanion, RoleIdentity, kinds.Objects(kinds.Checked((*validator).roleIdentity), newest, older))
	static := kind(fleet.InfrastructureCompanion, StaticIdentity, kinds.Objects(kinds.Checked((*validator).staticIdentity), newest, older))
	static.Limited = map[string]string{"spec.secretRef": "a Secret in the namespace " + IdentityNamespace}
	static.Secrets = secrets
	own := kind(fleet.InfrastructureCompanion, ControllerIdentity, kinds.Objects(controllerIdentity, newest, older))
	for _, k := range []*fleet.Kind{&role, &static, &own} {
		k.ClusterScoped = true
	}
	managed := kind(fleet.InfrastructureCluster, ManagedCluster, kinds.Objects(kinds.Checked((*validator).managedCluster), newest))
	managed.Unused = map[string]string{"spec.controlPlaneEndpoint": endpointOfEKS}
	managed.Serving = servingManaged
	managedClass := kind(fleet.InfrastructureClusterTemplate, ManagedCluster+"Template", kinds.BareTemplates(kinds.Checked((*validator).managedCluster), newest))
	managedClass.Refused = map[string]string{below + "spec.controlPlaneEndpoint": noEndpoint}
	pool := kind(fleet.InfrastructureMachinePool, managedPoolKind, kinds.Objects(managedPool, newest), kinds.Objects(oldPool, older))
	pool.Refused, pool.Limited, pool.Unused = refusedOfManagedPool(), limitedOfManagedPool(), unusedOfManagedPool()
	pool.NonNegative, pool.Configured, pool.Adoptable = true, hasOwnImage, true
	fargate := kind(fleet.InfrastructureCompanion, fargateKind, kinds.Objects(fargateProfile, newest), kinds.Objects(oldFargateProfile, older))
	fargate.Refused, fargate.Limited = map[string]string{"spec.rolePermissionsBoundary": noRoles}, map[string]string{"spec.roleName": "a role that exists; by default that of clusterawsadm, " + FargateRole}
	return []fleet.Kind{cluster, clusters, machine, machines, ownPool, managed, managedClass, pool, fargate, role, static, own}
}

// Distribution is the name of the distribution of machines that join a control plane of EKS.
const Distribution = "eks"

// ControlPlaneKinds returns the kinds of control planes that EKS keeps. The template is as upstream has it: in one version.
func ControlPlaneKinds() []fleet.Kind {
	const group, newest, below = "controlplane.cluster.x-k8s.io", "v1beta2", "spec.template."
	plane := kinds.Of(fleet.Kind{Distribution: Distribution, Role: fleet.HostedControlPlaneKind, Group: group, Kind: ManagedControlPlane, Adoptable: true},
		kinds.Objects(managedControlPlane, newest), kinds.Objects(oldControlPlane, "v1beta1"))
	plane.Refused, plane.Limited, plane.Unused = refusedOfManagedControlPlane("spec."), limitedOfManagedControlPlane("spec."), unusedOfManagedControlPlane("spec.")
	plane.Limited["spec.disableVPCCNI"] = plane.Limited["spec.vpcCni.disable"]
	class := kinds.Of(fleet.Kind{Distribution: Distribution, Role: fleet.HostedControlPlaneTemplateKind, Group: group, Kind: ManagedControlPlane + "Template"},
		kinds.BareTemplates[AWSManagedControlPlaneSpec](nil, newest))
	class.Refused, class.Limited, class.Unused = refusedOfManagedControlPlane(below+"spec."), limitedOfManagedControlPlane(below+"spec."), unusedOfManagedControlPlane(below+"spec.")
	delete(class.Limited, below+"spec.version")
	delete(class.Unused, below+"spec.controlPlaneEndpoint")
	class.Refused[below+"spec.controlPlaneEndpoint"] = noEndpoint
	class.Unused[below+"spec.version"] = "spec.topology.version of the Cluster says it"
	return []fleet.Kind{plane, class}
}

// secrets implements fleet.Kind.
func secrets(spec any, _ string) []fleet.Key {
	s, ok := spec.(*AWSClusterStaticIdentitySpec)
	if !ok || s.SecretRef == "" {
		return nil
	}
	return []fleet.Key{{Namespace: IdentityNamespace, Name: s.SecretRef}}
}

// networks implements fleet.Kind.
func networks(spec any) []string {
	s, ok := spec.(*AWSClusterSpec)
	if !ok || s.Network.VPC.CIDRBlock == "" {
		return nil
	}
	out := []string{s.Network.VPC.CIDRBlock}
	for _, b := range s.Network.VPC.SecondaryCIDRBlocks {
		out = append(out, b.IPv4CIDRBlock)
	}
	return out
}

// elsewhere implements fleet.Kind: where another makes the control plane, no load balancer is made.
func elsewhere(spec any) field.ErrorList {
	s, ok := spec.(*AWSClusterSpec)
	if !ok || s.ControlPlaneLoadBalancer.LoadBalancerType == Disabled {
		return nil
	}
	at := field.NewPath("spec", "controlPlaneLoadBalancer")
	if lb := s.ControlPlaneLoadBalancer; s.SecondaryControlPlaneLoadBalancer != nil || lb.Name != "" || len(lb.AdditionalListeners) > 0 || len(lb.IngressRules) > 0 {
		return field.ErrorList{field.Forbidden(at, "no load balancer is made here, since the control plane is elsewhere: leave it out, or set loadBalancerType: disabled")}
	}
	return nil
}

// serving implements fleet.Kind: something has to lead to the servers.
func serving(spec any) field.ErrorList {
	s, ok := spec.(*AWSClusterSpec)
	if !ok || s.ControlPlaneLoadBalancer.LoadBalancerType != Disabled || s.ControlPlaneEndpoint != nil {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("spec", "controlPlaneEndpoint"), "without a load balancer, say where the API server is reached")}
}

// convertCluster returns the spec of v1beta1 as v1beta2 has it, whose fields have the same names.
func convertCluster(v *validator, at *field.Path, old *v1beta1ClusterSpec) *AWSClusterSpec {
	return renewed[AWSClusterSpec](v, at, old)
}

func convertMachine(v *validator, at *field.Path, old *v1beta1MachineSpec) *AWSMachineSpec {
	return renewed[AWSMachineSpec](v, at, old)
}

// renewed returns old as a T, which has its fields by the same names, but those that are refused.
func renewed[T any](v *validator, at *field.Path, old any) *T {
	out := new(T)
	data, err := json.Marshal(old)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		v.Add(field.InternalError(at, err))
	}
	return out
}
