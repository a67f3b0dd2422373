package decode

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"fairlead.dev/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A kind is one kind of object that the decoder knows, with the reviewed
// tables of its fields. What is in no table is honoured.
//
// Paths in the tables have no indices. A path that only one version has is for
// that version; one that several have means the same in all of them.
type kind struct {
	group       string
	name        string
	versions    []string                  // newest first
	secret      bool                      // values never show in messages
	global      bool                      // objects have no namespace
	nonNegative bool                      // no number may be negative
	union       bool                      // an empty mapping may be a choice: it is refused like a full one
	enums       map[reflect.Type][]string // values of types
	values      map[string][]string       // path → values, where the type is a plain string

	// new returns a pointer to a zero value of version.
	new func(version string) any
	// normalise turns a decoded value of any version into that of the newest,
	// defaulted, and says what is wrong with it by itself. Paths of errors are
	// those of the newest version.
	normalise func(v any) (any, field.ErrorList)
	// renamed maps paths of the newest version to those of an older one, so
	// that messages name what people wrote.
	renamed map[string]map[string]string

	// provider and role are those of a provider's kind, distribution and role those of a
	// distribution's. The versions of v1beta1Contract are those of Kind.V1Beta1Contract.
	// users are the providers that a companion is for, of a kind that several share.
	// An object of a kind with others chooses by the field at choice.
	provider        string
	users           []string
	choice          string
	others          []*kind
	distribution    string
	role            fleet.KindRole
	ownMachines     bool // of an InfrastructureMachinePool, as in fleet.Kind
	v1beta1Contract []string
	rotations       []fleet.Rotation // of a control plane

	// ours are the annotations of Fairlead that objects may have, with what says
	// which value they must have where they have a wrong one.
	ours map[string]func(value string) (must string)

	refused map[string]string // path → why, and the way out
	limited map[string]string // path → which values of it are honoured; wins over unused
	unused  map[string]string // path → why it may be there and does nothing
}

// groupKind returns "Kind.group", or "Kind" in the core group.
func groupKind(group, name string) string {
	if group == "" {
		return name
	}
	return name + "." + group
}

func (k *kind) groupKind() string { return groupKind(k.group, k.name) }

// allowed returns the values that the field of type t at path may have; none
// means any.
func (k *kind) allowed(t reflect.Type, path string) []string {
	if values, ok := k.values[path]; ok {
		return values
	}
	return k.enums[t]
}

// written returns the name of path in version.
func (k *kind) written(version, path string) string {
	longest := ""
	for newest := range k.renamed[version] {
		if strings.HasPrefix(path, newest) && len(newest) > len(longest) {
			longest = newest
		}
	}
	if longest == "" {
		return path
	}
	return k.renamed[version][longest] + strings.TrimPrefix(path, longest)
}

// serverFields are the fields that an API server fills in: an exported manifest
// has them, and they ask for nothing.
func serverFields() map[string]string {
	server := "written by API servers, not a setting"
	return map[string]string{
		"metadata.creationTimestamp":          server,
		"metadata.deletionGracePeriodSeconds": server,
		"metadata.deletionTimestamp":          server,
		"metadata.finalizers":                 "Fairlead needs no finalizers: what it made is found by its tags",
		"metadata.generation":                 server,
		"metadata.managedFields":              server,
		"metadata.ownerReferences":            "ownership follows from the references in spec",
		"metadata.resourceVersion":            server,
		"metadata.selfLink":                   server,
		"metadata.uid":                        server,
		"status":                              server,
	}
}

// metadataUnused adds what a kind of ours has that does nothing.
func metadataUnused(more map[string]string) map[string]string {
	unused := serverFields()
	unused["metadata.labels"] = "nothing depends on labels of this kind"
	unused["metadata.annotations"] = "nothing depends on annotations of this kind"
	return joined(unused, more)
}

// joined adds more to m, which it returns.
func joined(m, more map[string]string) map[string]string {
	maps.Copy(m, more)
	return m
}

// deletionBounds adds the bounds on steps of removing a machine that have no
// effect, below prefix in v1beta2 and below old in v1beta1.
func deletionBounds(prefix, old string, unused map[string]string) {
	node := "removing a Node object is repeated until it is done, and nothing waits for it"
	unused[prefix+"nodeDeletionTimeoutSeconds"] = node
	unused[old+"nodeDeletionTimeout"] = node
}

// metadataRefused adds what metadata of no kind may hold.
func metadataRefused(more map[string]string) map[string]string {
	refused := map[string]string{
		"metadata.generateName": "names in Git are fixed; set metadata.name",
	}
	maps.Copy(refused, more)
	return refused
}

// knownKinds returns all kinds by groupKind.
func knownKinds(providers []fleet.Kind) map[string]*kind {
	out := make(map[string]*kind)
	values := enums()
	for _, k := range []*kind{
		clusterKind(), machineDeploymentKind(), machineSetKind(), machineKind(), machinePoolKind(), machineHealthCheckKind(), machineDrainRuleKind(),
		kubeadmConfigTemplateKind(), kubeadmConfigKind(), kubeadmControlPlaneKind(),
		clusterClassKind(), kubeadmControlPlaneTemplateKind(),
		clusterResourceSetKind(), helmChartProxyKind(),
		secretKind(), configMapKind(), namespaceKind(),
	} {
		k.enums = values
		out[k.groupKind()] = k
	}
	for _, p := range providers {
		k := providerKind(p)
		if other := out[k.groupKind()]; other != nil && k.role == fleet.InfrastructureCompanion && other.role == k.role {
			other.users = append(other.users, p.Provider)
			continue
		} else if other != nil && k.choice != "" {
			other.others = append(other.others, k)
			continue
		}
		if p.Distribution != "" {
			k = distributionKind(p)
			k.enums = values
		}
		out[k.groupKind()] = k
	}
	return out
}

// each returns k and the kinds of its name that other providers have.
func (k *kind) each() []*kind { return append([]*kind{k}, k.others...) }

// chosen returns the one of each that raw chooses.
func (k *kind) chosen(raw map[string]any) *kind {
	for _, other := range k.each() {
		if other.choice != "" && valueAt(raw, other.choice) != nil {
			return other
		}
	}
	return k
}

// valueAt returns the value at path, which leads through mappings; nil: there is none.
func valueAt(raw map[string]any, path string) any {
	var v any = raw
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// An infrastructure is a decoded object of a provider's kind.
type infrastructure struct {
	provider string
	role     fleet.KindRole
	spec     json.RawMessage // without what companions say
	hashed   json.RawMessage // what of it counts in hashes; nil: all of it
	secrets  []fleet.Key     // that it refers to
	kind     *fleet.Kind
	value    any // what spec is of
}

// providerKind wraps what a provider says of one of its kinds.
func providerKind(p fleet.Kind) *kind {
	return &kind{
		provider: p.Provider,
		users:    []string{p.Provider},
		choice:   p.Choice,
		role:     p.Role,
		global:   p.ClusterScoped, ownMachines: p.OwnMachines,
		group:    p.Group,
		name:     p.Kind,
		versions: p.Versions,
		union:    true,
		new:      p.New,
		refused:  metadataRefused(p.Refused),
		limited:  p.Limited, values: p.Values, nonNegative: p.NonNegative, renamed: p.Renamed,
		unused: joined(serverFields(), p.Unused),
		normalise: func(v any) (any, field.ErrorList) {
			value, errs := p.Normalise(v)
			if len(errs) > 0 {
				return nil, errs
			}
			spec, hashed, errs := written(&p, value, func(string) map[string]any { return nil })
			if len(errs) > 0 {
				return nil, errs
			}
			in := &infrastructure{provider: p.Provider, role: p.Role, spec: spec, hashed: hashed, kind: &p, value: value}
			if o, ok := v.(metav1.Object); ok && p.Secrets != nil {
				in.secrets = p.Secrets(value, o.GetNamespace())
			}
			return in, nil
		},
	}
}

// written returns value, which k's Normalise returned, as JSON with what companions
// say, and what of it counts in hashes; nil: all of it.
func written(k *fleet.Kind, value any, companions func(kind string) map[string]any) (spec, hashed json.RawMessage, errs field.ErrorList) {
	if k.Resolve != nil {
		if value, errs = k.Resolve(value, companions); len(errs) > 0 {
			return nil, nil, errs
		}
	}
	spec, err := canonicalJSON(value)
	if err == nil && k.Hashed != nil {
		hashed, err = canonicalJSON(k.Hashed(value))
	}
	if err != nil {
		return nil, nil, field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	return spec, hashed, nil
}

// refuseKind says why an object of a kind that the decoder does not know is
// refused, and what to do.
func (d *Decoder) refuseKind(group, version, name string) (message, hint string) {
	gk := groupKind(group, name)
	if hint, ok := unsupported()[gk]; ok {
		return name + " is not supported", hint
	}
	switch group {
	case "cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io",
		"addons.cluster.x-k8s.io", "ipam.cluster.x-k8s.io", "runtime.cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io":
		return name + " is not supported", "remove it from the overlay"
	}
	if group == "infrastructure.cluster.x-k8s.io" || strings.HasSuffix(group, ".infrastructure.cluster.x-k8s.io") || group == "metal3.io" {
		return fmt.Sprintf("no infrastructure provider of this build knows %s of %s/%s", name, group, version),
			"these kinds of infrastructure are known: " + d.infrastructureKinds()
	}
	apiVersion := version
	if group != "" {
		apiVersion = group + "/" + version
	}
	return fmt.Sprintf("%s of %s is no Cluster API object", name, apiVersion),
		"Fairlead applies Cluster API objects only, not what runs in a cluster; keep it outside of the overlay"
}

// unsupported are kinds of Cluster API that people's fleets hold and Fairlead
// does not honour, with the way out.
func unsupported() map[string]string {
	return map[string]string{
		"IPAddressClaim.ipam.cluster.x-k8s.io":                          "remove it from the overlay: a machine has its addresses in its own tags; what keeps an address for something else is excludedAddresses of the pool",
		"IPAddress.ipam.cluster.x-k8s.io":                               "remove it from the overlay: a machine has its addresses in its own tags",
		"InClusterPrefixPool.ipam.cluster.x-k8s.io":                     "no machine of a provider here takes a prefix: use an InClusterIPPool",
		"GlobalInClusterPrefixPool.ipam.cluster.x-k8s.io":               "no machine of a provider here takes a prefix: use a GlobalInClusterIPPool",
		"HelmReleaseProxy.addons.cluster.x-k8s.io":                      "remove it from the overlay: the addon provider for Helm writes it",
		"ClusterResourceSetBinding.addons.cluster.x-k8s.io":             "remove it from the overlay: what was applied is written down in the cluster itself",
		"OpenStackServer.infrastructure.cluster.x-k8s.io":               "Fairlead makes servers itself; use an OpenStackMachineTemplate, or bastion of the OpenStackCluster",
		"VSphereVM.infrastructure.cluster.x-k8s.io":                     "Fairlead makes virtual machines itself; use a VSphereMachineTemplate",
		"Metal3Machine.infrastructure.cluster.x-k8s.io":                 "Fairlead makes machines itself; use a Metal3MachineTemplate, in a MachineDeployment of one replica for a machine that stands alone",
		"Metal3Data.infrastructure.cluster.x-k8s.io":                    metal3 + "keep the Metal3DataTemplate that it is made from",
		"Metal3DataClaim.infrastructure.cluster.x-k8s.io":               metal3 + "keep the Metal3DataTemplate that it claims from",
		"Metal3Remediation.infrastructure.cluster.x-k8s.io":             metal3 + "a MachineHealthCheck reports unhealthy machines",
		"IPClaim.ipam.metal3.io":                                        metal3 + "a machine has its addresses in the extra of its node in Ironic; what keeps an address for a host is preAllocations of the IPPool",
		"IPAddress.ipam.metal3.io":                                      metal3 + "a machine has its addresses in the extra of its node in Ironic; what keeps an address for a host is preAllocations of the IPPool",
		"HardwareData.metal3.io":                                        metal3 + "what a host is made of is found by its inspection",
		"FirmwareSchema.metal3.io":                                      metal3 + "a BMC says which settings it has",
		"PreprovisioningImage.metal3.io":                                metal3 + "Ironic's own ramdisk is booted",
		"HostClaim.metal3.io":                                           "Fairlead claims hosts itself, at Ironic; use a Metal3MachineTemplate, with a hostSelector for what the host has to have",
		"HostDeployPolicy.metal3.io":                                    "it says who may claim hosts, and here clusters claim those of their own namespace alone: remove it from the overlay",
		"HostUpdatePolicy.metal3.io":                                    "a host with a machine is serviced while people keep it off, with online: false: remove it from the overlay",
		"HostNetworkAttachment.metal3.io":                               "switches are not set up here: do it by hand, and remove it from the overlay",
		"BareMetalSwitch.metal3.io":                                     "switches are not set up here: do it by hand, and remove it from the overlay",
		"BMCEventSubscription.metal3.io":                                "events of BMCs are not subscribed to here: do it at the BMC, and remove it from the overlay",
		"DataImage.metal3.io":                                           "no second medium is attached to hosts here: put what it holds into the image of the Metal3MachineTemplate",
		"VSphereCluster.vmware.infrastructure.cluster.x-k8s.io":         supervisor + "a VSphereCluster of infrastructure.cluster.x-k8s.io, which names a vCenter",
		"VSphereClusterTemplate.vmware.infrastructure.cluster.x-k8s.io": supervisor + "a VSphereClusterTemplate of infrastructure.cluster.x-k8s.io, which names a vCenter",
		"VSphereMachine.vmware.infrastructure.cluster.x-k8s.io":         supervisor + "a VSphereMachine of infrastructure.cluster.x-k8s.io, which names a template of a vCenter",
		"VSphereMachineTemplate.vmware.infrastructure.cluster.x-k8s.io": supervisor + "a VSphereMachineTemplate of infrastructure.cluster.x-k8s.io, which names a template of a vCenter",
		"ProviderServiceAccount.vmware.infrastructure.cluster.x-k8s.io": supervisor + "the credentials of vCenter for what needs them, and remove it from the overlay",
		"VirtualMachine.vmoperator.vmware.com":                          supervisor + "a VSphereMachineTemplate of infrastructure.cluster.x-k8s.io",
		"EKSConfig.bootstrap.cluster.x-k8s.io":                          eks,
		"EKSConfigTemplate.bootstrap.cluster.x-k8s.io":                  eks,

		"ROSACluster.infrastructure.cluster.x-k8s.io":                         rosa,
		"ROSAMachinePool.infrastructure.cluster.x-k8s.io":                     rosa,
		"ROSANetwork.infrastructure.cluster.x-k8s.io":                         rosa,
		"ROSARoleConfig.infrastructure.cluster.x-k8s.io":                      rosa,
		"ROSAControlPlane.controlplane.cluster.x-k8s.io":                      rosa,
		"AzureMachinePoolMachine.infrastructure.cluster.x-k8s.io":             azurePool,
		"AzureASOManagedCluster.infrastructure.cluster.x-k8s.io":              aso,
		"AzureASOManagedClusterTemplate.infrastructure.cluster.x-k8s.io":      aso,
		"AzureASOManagedControlPlane.infrastructure.cluster.x-k8s.io":         aso,
		"AzureASOManagedControlPlaneTemplate.infrastructure.cluster.x-k8s.io": aso,
		"AzureASOManagedMachinePool.infrastructure.cluster.x-k8s.io":          aso,
		"AzureASOManagedMachinePoolTemplate.infrastructure.cluster.x-k8s.io":  aso,
		"KamajiControlPlane.controlplane.cluster.x-k8s.io":                    kamaji,
		"KamajiControlPlaneTemplate.controlplane.cluster.x-k8s.io":            kamaji,
		"K0smotronControlPlane.controlplane.cluster.x-k8s.io":                 "machines that k0s sets up are not built in: have workers of kubeadm join a control plane that they can, with an ExternalControlPlane of fairlead.dev/v1alpha1 (docs/guides/clusters/hosted-control-planes.md)",
	}
}

// supervisor is why kinds of vSphere's supervisor are refused, and how the way out begins.
const supervisor = "a supervisor's own controllers make its machines, so that it is a management cluster, and vCenter is not asked: use "

// metal3 is why kinds that controllers of Metal3 write are refused, and how the way out begins.
const metal3 = "remove it from the overlay, a controller of Metal3 writes it, and there is none here: "

// kamaji is the way out for a control plane that Kamaji makes.
const kamaji = "have Kamaji make the control plane with a TenantControlPlane, and refer to that with an ExternalControlPlane of fairlead.dev/v1alpha1 (docs/guides/clusters/hosted-control-planes.md)"

// eks is the way out for machines that join EKS by themselves.
const eks = "it sets up Amazon Linux 2, of which EKS has no images from Kubernetes 1.33 on: use a NodeadmConfigTemplate in a MachineDeployment, or a MachinePool with an AWSManagedMachinePool"

// The ways out for what is not made of AKS, and for scale sets of Azure.
const (
	aso       = "no objects of Azure Service Operator are made: use an AzureManagedControlPlane, an AzureManagedCluster and AzureManagedMachinePools"
	azurePool = "controllers write it: Fairlead creates the machines of an AzureMachinePool itself, so remove it from the overlay"
)

// rosa is the way out for clusters of OpenShift on AWS.
const rosa = "the API of OpenShift makes clusters of ROSA, not AWS: make them with the rosa command line, and remove it from the overlay"
