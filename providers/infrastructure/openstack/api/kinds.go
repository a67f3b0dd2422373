package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "openstack"

// group is the API group of the kinds.
const group = "infrastructure.cluster.x-k8s.io"

// The kinds that are read by their names.
const (
	clusterKind  = "OpenStackCluster"
	machineKind  = "OpenStackMachine"
	templateKind = "OpenStackMachineTemplate"
	identityKind = "OpenStackClusterIdentity"
	poolKind     = "OpenStackFloatingIPPool"
)

// MaxDescription is how many characters of a description are the user's: what
// Neutron has room for, less the mark that says whose the thing is.
const MaxDescription = 80

// maxNameSuffix is how long the last part of a port's name may be, so that with
// the name of its machine there is room for the whole.
const maxNameSuffix = 128

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const newest, older, alpha = "v1beta2", "v1beta1", "v1alpha1"
	kind := func(role fleet.KindRole, group, name string, versions ...kinds.Version) fleet.Kind {
		return kinds.Of(fleet.Kind{Provider: ProviderName, Role: role, Group: group, Kind: name, Secrets: secrets}, versions...)
	}
	const (
		providerID = "Nova gives each server its own id: leave the field out"
		identity   = "the bastion is made with the identity of the cluster: leave the field out"
		floatingIP = "a bastion has one floating IP: name it in bastion.floatingIP, or leave that out too and one is made"
	)
	bastion := func(at string) map[string]string {
		return map[string]string{
			at + "bastion.spec.providerID":        providerID,
			at + "bastion.spec.identityRef":       identity,
			at + "bastion.spec.floatingIPPoolRef": floatingIP,
		}
	}
	spec, template := field.NewPath("spec"), field.NewPath("spec", "template", "spec")

	checked, converted := kinds.Checked((*validator).cluster), asWritten(kinds.Converted((*validator).convertCluster, (*validator).cluster))
	cluster := kind(fleet.InfrastructureCluster, group, clusterKind, kinds.Objects(checked, newest), kinds.Objects(converted, older))
	cluster.Elsewhere, cluster.Networks, cluster.Resolve, cluster.Refused = elsewhere, networks, resolveBelow(spec), bastion("spec.")
	cluster.Renamed = map[string]map[string]string{older: {
		"spec.apiServer.managedLoadBalancer": "spec.apiServerLoadBalancer",
		"spec.apiServer.enableFloatingIP":    "spec.disableAPIServerFloatingIP",
		"spec.apiServer.floatingIP":          "spec.apiServerFloatingIP",
		"spec.apiServer.fixedIP":             "spec.apiServerFixedIP",
	}}
	clusters := kind(fleet.InfrastructureClusterTemplate, group, "OpenStackClusterTemplate", kinds.Templates(checked, newest), kinds.BareTemplates(converted, older))
	clusters.Resolve, clusters.Refused = resolveBelow(template), bastion("spec.template.spec.")

	checkedMachine, convertedMachine := kinds.Checked((*validator).machine), asWritten(kinds.Converted((*validator).convertMachine, (*validator).machine))
	machines := kind(fleet.InfrastructureMachineTemplate, group, templateKind, kinds.BareTemplates(checkedMachine, newest), kinds.BareTemplates(convertedMachine, older))
	machines.Resolve, machines.Refused = resolveBelow(template), map[string]string{"spec.template.spec.providerID": providerID}
	machine := kind(fleet.InfrastructureMachine, group, machineKind, kinds.Objects(checkedMachine, newest), kinds.Objects(convertedMachine, older))
	machine.Resolve, machine.Refused = resolveBelow(spec), map[string]string{"spec.providerID": providerID}

	login := kind(fleet.InfrastructureCompanion, group, identityKind, kinds.Objects(kinds.Checked((*validator).clusterIdentity), alpha))
	login.ClusterScoped = true
	pool := kind(fleet.InfrastructureCompanion, group, poolKind, kinds.Objects(kinds.Checked((*validator).pool), alpha))
	image := kind(fleet.InfrastructureCompanion, imageGroup, imageKind, kinds.Objects(kinds.CheckedOf((*validator).orcImage), alpha))
	image.Refused = map[string]string{
		"spec.resource.content.download.decompress": "Glance does not unpack what it downloads: give the URL of the unpacked image, or upload it and import it by name",
		"spec.resyncPeriod":                         "images are looked at with the rest of the project: leave the field out",
	}
	return []fleet.Kind{cluster, clusters, machines, machine, login, pool, image}
}

// asWritten returns n with the paths of its errors as people wrote them in v1beta1.
func asWritten[S any](n kinds.Normaliser[S]) kinds.Normaliser[S] {
	return func(o metav1.Object, at *field.Path, spec *S) (any, field.ErrorList) {
		out, errs := n(o, at, spec)
		return out, writtenAsV1Beta1(errs)
	}
}

// resolveBelow returns resolve for a kind whose spec is at a path.
func resolveBelow(at *field.Path) func(any, func(string) map[string]any) (any, field.ErrorList) {
	return func(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
		return resolve(spec, companions, at)
	}
}

// secrets implements fleet.Kind.
func secrets(spec any, namespace string) []fleet.Key {
	var refs []*OpenStackIdentityReference
	switch s := spec.(type) {
	case *OpenStackClusterSpec:
		refs = append(refs, &s.IdentityRef)
	case *OpenStackMachineSpec:
		refs = append(refs, s.IdentityRef)
	case *OpenStackFloatingIPPoolSpec:
		refs = append(refs, &s.IdentityRef)
	case *ImageSpec:
		return []fleet.Key{{Namespace: namespace, Name: s.CloudCredentialsRef.SecretName}}
	case *OpenStackClusterIdentitySpec:
		return []fleet.Key{{Namespace: s.SecretRef.Namespace, Name: s.SecretRef.Name}}
	}
	var out []fleet.Key
	for _, r := range refs {
		if r != nil && r.Type == IdentitySecret {
			out = append(out, fleet.Key{Namespace: namespace, Name: r.Name})
		}
	}
	return out
}

// networks implements fleet.Kind.
func networks(v any) []string {
	spec, ok := v.(*OpenStackClusterSpec)
	if !ok {
		return nil
	}
	var out []string
	for _, s := range spec.ManagedSubnets {
		out = append(out, s.CIDR)
	}
	return out
}
