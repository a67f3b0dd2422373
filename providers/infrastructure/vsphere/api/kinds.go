package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "vsphere"

// group is the API group of the kinds.
const group = "infrastructure.cluster.x-k8s.io"

// The kinds.
const (
	clusterKind         = "VSphereCluster"
	clusterTemplateKind = "VSphereClusterTemplate"
	machineKind         = "VSphereMachine"
	templateKind        = "VSphereMachineTemplate"
	identityKind        = "VSphereClusterIdentity"
	failureDomainKind   = "VSphereFailureDomain"
	deploymentZoneKind  = "VSphereDeploymentZone"
)

// Where specs are in their objects.
var (
	specPath     = field.NewPath("spec")                     //nolint:gochecknoglobals // a constant that Go cannot write as one
	templatePath = field.NewPath("spec", "template", "spec") //nolint:gochecknoglobals // the same
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const newest, older = "v1beta2", "v1beta1"
	kind := func(role fleet.KindRole, name string, versions ...kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name, Secrets: secrets}, versions...)
	}

	cluster := kind(fleet.InfrastructureCluster, clusterKind, kinds.Objects(kinds.Checked((*validator).cluster), newest, older))
	cluster.Serving, cluster.Elsewhere, cluster.Resolve = serving, elsewhere, resolveCluster
	cluster.Unused = map[string]string{"spec.clusterModules": writtenBack}
	clusters := kind(fleet.InfrastructureClusterTemplate, clusterTemplateKind,
		kinds.Templates(kinds.Checked((*validator).clusterTemplate), newest), kinds.BareTemplates(kinds.Checked((*validator).clusterTemplate), older))
	clusters.Unused = map[string]string{"spec.template.spec.clusterModules": writtenBack}

	checked, converted := kinds.Checked((*validator).machine), kinds.Converted((*validator).convertMachine, (*validator).machine)
	machine := kind(fleet.InfrastructureMachine, machineKind, kinds.Objects(checked, newest), kinds.Objects(converted, older))
	machine.Refused, machine.Limited, machine.Renamed = refusedOfMachine("spec."), limitedOfMachine("spec."), renamedOfMachine("spec.")
	machine.Resolve, machine.Hashed = resolveBelow(specPath), hashed
	machines := kind(fleet.InfrastructureMachineTemplate, templateKind, kinds.Templates(checked, newest), kinds.Templates(converted, older))
	const below = "spec.template.spec."
	machines.Refused, machines.Limited, machines.Renamed = refusedOfMachine(below), limitedOfMachine(below), renamedOfMachine(below)
	machines.Refused["spec.template.metadata"] = "a machine of this provider has no labels and annotations of its own: " +
		"put them into the machine template of the MachineDeployment or KubeadmControlPlane"
	machines.Refused[below+"network.devices.ipAddrs"] = "every machine of the template would have the same address: " +
		"use addressesFromPools, or a VSphereMachine for a Machine that stands alone"
	machines.Resolve, machines.Hashed = resolveBelow(templatePath), hashed

	identity := kind(fleet.InfrastructureCompanion, identityKind, kinds.Objects(kinds.Checked((*validator).identity), newest, older))
	identity.Limited = map[string]string{"spec.secretName": "a Secret in the namespace " + IdentityNamespace}
	domain := kind(fleet.InfrastructureCompanion, failureDomainKind,
		kinds.Objects(kinds.Checked((*validator).failureDomain), newest),
		kinds.Objects(kinds.Converted((*validator).convertFailureDomain, (*validator).failureDomain), older))
	const tags = "false: tags of vCenter are made by people"
	domain.Limited = map[string]string{"spec.region.autoConfigure": tags, "spec.zone.autoConfigure": tags}
	zone := kind(fleet.InfrastructureCompanion, deploymentZoneKind, kinds.Objects(kinds.Checked((*validator).deploymentZone), newest, older))
	for _, k := range []*fleet.Kind{&identity, &domain, &zone} {
		k.ClusterScoped = true
	}
	return append([]fleet.Kind{cluster, clusters, machine, machines, identity, domain, zone}, addresses.Kinds(ProviderName)...)
}

const writtenBack = "written by the controller that made the modules, not a setting"

// refusedOfMachine are the refused fields of a machine whose spec is at a path.
func refusedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "providerID":                     "each clone gets an id of its own: leave the field out",
		at + "failureDomain":                  "Cluster API does not read it either: write failureDomain into the MachineDeployment or the Machine",
		at + "cryptoKeyID":                    "no keys are made here yet: name a storage policy that encrypts in cryptoProfile",
		at + "network.preferredAPIServerCidr": "no code of Cluster API reads it: leave the field out",
	}
}

// limitedOfMachine are the fields of a machine whose spec is at a path that are honoured in
// part.
func limitedOfMachine(at string) map[string]string {
	return map[string]string{
		at + "diskGiB": "where a clone is linked, the size of the template's disk alone: it cannot grow, and another one is refused when the machine is made",
		at + "os":      "Linux: machines of Windows are not set up here",
	}
}

// renamedOfMachine are the fields of a machine whose spec is at a path that older versions
// call otherwise.
func renamedOfMachine(at string) map[string]map[string]string {
	return map[string]map[string]string{"v1beta1": {
		at + "guestSoftPowerOffTimeoutSeconds": at + "guestSoftPowerOffTimeout",
		at + "naming":                          at + "namingStrategy",
	}}
}

// hashed implements fleet.Kind: how a vCenter is known and how a machine is switched off are
// no part of what it is made of. Cluster API changes the latter in place too.
// Source: CAPV, internal/webhooks/vspheremachine.go.
func hashed(spec any) any {
	s, ok := spec.(*VSphereMachineSpec)
	if !ok {
		return spec
	}
	out := *s
	out.Thumbprint, out.PowerOffMode, out.GuestSoftPowerOffTimeoutSeconds = "", "", 0
	return &out
}

// secrets implements fleet.Kind.
func secrets(spec any, namespace string) []fleet.Key {
	switch s := spec.(type) {
	case *VSphereClusterSpec:
		if s.IdentityRef.Kind == IdentitySecret {
			return []fleet.Key{{Namespace: namespace, Name: s.IdentityRef.Name}}
		}
	case *VSphereClusterIdentitySpec:
		return []fleet.Key{{Namespace: IdentityNamespace, Name: s.SecretName}}
	}
	return nil
}
