package api

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "openstack"

// group is the API group of the kinds.
const group = "infrastructure.cluster.x-k8s.io"

// The kinds that machines are made from.
const (
	machineKind  = "OpenStackMachine"
	templateKind = "OpenStackMachineTemplate"
)

// MaxDescription is how many characters of a description are the user's: what
// Neutron has room for, less the mark that says whose the thing is.
const MaxDescription = 80

// maxNameSuffix is how long the last part of a port's name may be, so that with
// the name of its machine there is room for the whole.
const maxNameSuffix = 128

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const (
		providerID = "Nova gives each server its own id: leave the field out"
		identity   = "the bastion is made with the identity of the cluster: leave the field out"
		floatingIP = "a bastion has one floating IP: name it in bastion.floatingIP, or leave that out too and one is made"
	)
	versions := []string{"v1beta2", "v1beta1"}
	bastion := func(at string) map[string]string {
		return map[string]string{
			at + "bastion.spec.providerID":        providerID,
			at + "bastion.spec.identityRef":       identity,
			at + "bastion.spec.floatingIPPoolRef": floatingIP,
		}
	}
	return append([]fleet.Kind{
		{
			Provider: ProviderName, Role: fleet.InfrastructureCluster,
			Group: group, Kind: "OpenStackCluster", Versions: versions,
			New: func(version string) any {
				if version == "v1beta1" {
					return new(v1beta1Cluster)
				}
				return new(OpenStackCluster)
			},
			Normalise: normalise, Elsewhere: elsewhere, Networks: networks,
			Renamed: map[string]map[string]string{"v1beta1": {
				"spec.apiServer.managedLoadBalancer": "spec.apiServerLoadBalancer",
				"spec.apiServer.enableFloatingIP":    "spec.disableAPIServerFloatingIP",
				"spec.apiServer.floatingIP":          "spec.apiServerFloatingIP",
				"spec.apiServer.fixedIP":             "spec.apiServerFixedIP",
			}},
			Resolve: resolveBelow(field.NewPath("spec")),
			Secrets: secrets,
			Refused: bastion("spec."),
		},
		{
			Provider: ProviderName, Role: fleet.InfrastructureClusterTemplate,
			Group: group, Kind: "OpenStackClusterTemplate", Versions: versions,
			New: func(version string) any {
				if version == "v1beta1" {
					return new(v1beta1ClusterTemplate)
				}
				return new(OpenStackClusterTemplate)
			},
			Normalise: normalise,
			Resolve:   resolveBelow(field.NewPath("spec", "template", "spec")),
			Secrets:   secrets,
			Refused:   bastion("spec.template.spec."),
		},
		{
			Provider: ProviderName, Role: fleet.InfrastructureMachineTemplate,
			Group: group, Kind: templateKind, Versions: versions,
			New: func(version string) any {
				if version == "v1beta1" {
					return new(v1beta1MachineTemplate)
				}
				return new(OpenStackMachineTemplate)
			},
			Normalise: normalise,
			Resolve:   resolveBelow(field.NewPath("spec", "template", "spec")),
			Secrets:   secrets,
			Refused:   map[string]string{"spec.template.spec.providerID": providerID},
		},
		{
			Provider: ProviderName, Role: fleet.InfrastructureMachine,
			Group: group, Kind: machineKind, Versions: versions,
			New: func(version string) any {
				if version == "v1beta1" {
					return new(v1beta1Machine)
				}
				return new(OpenStackMachine)
			},
			Normalise: normalise,
			Resolve:   resolveBelow(field.NewPath("spec")),
			Secrets:   secrets,
			Refused:   map[string]string{"spec.providerID": providerID},
		},
	}, companionKinds()...)
}

// companionKinds returns the kinds that clusters and machines refer to.
func companionKinds() []fleet.Kind {
	return []fleet.Kind{
		{
			Provider: ProviderName, Role: fleet.InfrastructureCompanion,
			Group: group, Kind: "OpenStackClusterIdentity", Versions: []string{"v1alpha1"}, ClusterScoped: true,
			New:       func(string) any { return new(OpenStackClusterIdentity) },
			Normalise: normalise,
			Secrets:   secrets,
		},
		{
			Provider: ProviderName, Role: fleet.InfrastructureCompanion,
			Group: group, Kind: "OpenStackFloatingIPPool", Versions: []string{"v1alpha1"},
			New:       func(string) any { return new(OpenStackFloatingIPPool) },
			Normalise: normalise,
			Secrets:   secrets,
		},
		{
			Provider: ProviderName, Role: fleet.InfrastructureCompanion,
			Group: imageGroup, Kind: imageKind, Versions: []string{"v1alpha1"},
			New:       func(string) any { return new(Image) },
			Normalise: normalise,
			Secrets:   secrets,
			Refused: map[string]string{
				"spec.resource.content.download.decompress": "Glance does not unpack what it downloads: give the URL of the unpacked image, or upload it and import it by name",
				"spec.resyncPeriod":                         "images are looked at with the rest of the project: leave the field out",
			},
		},
	}
}

// resolveBelow returns resolve for a kind whose spec is at a path.
func resolveBelow(at *field.Path) func(any, func(string) map[string]any) (any, field.ErrorList) {
	return func(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
		return resolve(spec, companions, at)
	}
}

// normalise implements fleet.Kind. Paths of errors are those of the version that
// was read.
func normalise(in any) (any, field.ErrorList) {
	var v validator
	spec, template := field.NewPath("spec"), field.NewPath("spec", "template", "spec")
	switch o := in.(type) {
	case *OpenStackCluster:
		v.cluster(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *OpenStackClusterTemplate:
		v.cluster(template, &o.Spec.Template.Spec)
		return &o.Spec.Template.Spec, v.Errs
	case *OpenStackMachine:
		v.machine(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *OpenStackMachineTemplate:
		v.machine(template, &o.Spec.Template.Spec)
		return &o.Spec.Template.Spec, v.Errs
	case *OpenStackClusterIdentity:
		v.clusterIdentity(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *OpenStackFloatingIPPool:
		v.pool(spec, &o.Spec)
		return &o.Spec, v.Errs
	case *Image:
		v.orcImage(spec, &o.Spec, o.Name)
		return &o.Spec, v.Errs
	case *v1beta1Cluster:
		s := v.convertCluster(spec, &o.Spec)
		v.cluster(spec, s)
		return s, v.writtenAsV1Beta1()
	case *v1beta1ClusterTemplate:
		s := v.convertCluster(template, &o.Spec.Template.Spec)
		v.cluster(template, s)
		return s, v.writtenAsV1Beta1()
	case *v1beta1Machine:
		s := v.convertMachine(spec, &o.Spec)
		v.machine(spec, s)
		return s, v.writtenAsV1Beta1()
	case *v1beta1MachineTemplate:
		s := v.convertMachine(template, &o.Spec.Template.Spec)
		v.machine(template, s)
		return s, v.writtenAsV1Beta1()
	}
	return nil, field.ErrorList{field.InternalError(spec, fmt.Errorf("%T is no kind of this provider", in))}
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
