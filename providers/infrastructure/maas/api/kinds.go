package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "maas"

const group = "infrastructure.cluster.x-k8s.io"

// The kinds that are read by their names.
const (
	clusterKind  = "MaasCluster"
	machineKind  = "MaasMachine"
	templateKind = "MaasMachineTemplate"
)

// Reasons for fields that are refused or have no effect.
const (
	ownID   = "Fairlead chooses the host: leave the field out, and select hosts with tags, resourcePool and failureDomain"
	noVMs   = "VM hosts are not supported, and MAAS 4 has none: leave the field out, and use hosts that MAAS manages itself"
	ofVMs   = "only VM hosts use it"
	noLabel = "a machine of this provider has no labels and annotations of its own: " +
		"put them into the machine template of the MachineDeployment or KubeadmControlPlane"
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const version = "v1beta1"
	kind := func(role fleet.KindRole, name string, v kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{
			Provider: ProviderName, Role: role, Group: group, Kind: name, Secrets: secrets, Hashed: hashed,
			Refused: make(map[string]string), Unused: make(map[string]string), Limited: make(map[string]string),
		}, v)
	}
	shared, machine := kinds.Checked((*validator).cluster), kinds.Checked((*validator).machine)
	cluster := kind(fleet.InfrastructureCluster, clusterKind, kinds.Objects(shared, version))
	clusters := kind(fleet.InfrastructureClusterTemplate, "MaasClusterTemplate", kinds.Templates(kinds.Checked((*validator).clusterTemplate), version))
	cluster.Elsewhere = elsewhere
	alone := kind(fleet.InfrastructureMachine, machineKind, kinds.Objects(machine, version))
	template := kind(fleet.InfrastructureMachineTemplate, templateKind, kinds.BareTemplates(machine, version))
	ofVMHosts(&cluster, "spec")
	ofVMHosts(&clusters, "spec.template.spec")
	ofMachine(&alone, "spec")
	ofMachine(&template, "spec.template.spec")
	clusters.Refused["spec.template.metadata"] = noLabel
	return []fleet.Kind{cluster, clusters, alone, template}
}

// ofVMHosts describes the fields of a cluster, below at, that are for VM hosts.
func ofVMHosts(k *fleet.Kind, at string) {
	k.Limited[at+".lxdConfig.enabled"] = "only false: " + noVMs
	for _, name := range []string{"networkBridge", "nicParent", "nicType", "resourcePool", "skipNetworkUpdate", "storageBackend", "storageSize", "zone"} {
		k.Unused[at+".lxdConfig."+name] = ofVMs
	}
}

// ofMachine describes the fields of a machine, below at, that are not honoured.
func ofMachine(k *fleet.Kind, at string) {
	k.Refused[at+".providerID"], k.Refused[at+".systemID"], k.Refused[at+".parent"] = ownID, ownID, noVMs
	k.Limited[at+".lxd.enabled"] = "only false: " + noVMs
	k.Unused[at+".lxd.vmConfig"] = ofVMs
	k.Values = map[string][]string{at + ".eraseDisks": {string(EraseQuick), string(EraseSecure), string(EraseFull), string(EraseNever)}}
}

// hashed implements fleet.Kind: a machine is not made from how its host is erased later.
func hashed(spec any) any {
	s, ok := spec.(*MaasMachineSpec)
	if !ok {
		return spec
	}
	out := *s
	out.EraseDisks = ""
	return &out
}

// secrets implements fleet.Kind.
func secrets(spec any, namespace string) []fleet.Key {
	if _, ok := spec.(*MaasClusterSpec); !ok {
		return nil
	}
	return []fleet.Key{{Namespace: namespace, Name: MAASSecret}}
}

// elsewhere implements fleet.Kind.
func elsewhere(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*MaasClusterSpec); ok {
		v.Forbidden(field.NewPath("spec", "virtualIP"), s.VirtualIP != nil, "the control plane is hosted, and its operator serves its endpoint: leave the field out")
	}
	return v.Errs
}

// ReadCluster returns the spec of a MaasCluster that was normalised.
func ReadCluster(o fleet.Object) (*MaasClusterSpec, error) {
	return objects.Read[MaasClusterSpec](o, clusterKind)
}

// ReadMachine returns the spec of a MaasMachine, or of the machines of a MaasMachineTemplate, that was
// normalised.
func ReadMachine(o fleet.Object) (*MaasMachineSpec, error) {
	if o.GVK.Kind == machineKind {
		return objects.Read[MaasMachineSpec](o, machineKind)
	}
	return objects.Read[MaasMachineSpec](o, templateKind)
}
