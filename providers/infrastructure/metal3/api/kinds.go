package api

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/kinds"
)

// ProviderName is the name of the provider in the registry and in its kinds.
const ProviderName = "metal3"

// The API groups of the kinds.
const (
	group     = "infrastructure.cluster.x-k8s.io"
	hostGroup = "metal3.io"
	// PoolGroup is that of IPPool.
	PoolGroup = "ipam.metal3.io"
)

// The kinds.
const (
	clusterKind         = "Metal3Cluster"
	clusterTemplateKind = "Metal3ClusterTemplate"
	templateKind        = "Metal3MachineTemplate"
	dataTemplateKind    = "Metal3DataTemplate"
	remediationKind     = "Metal3RemediationTemplate"
	settingsKind        = "HostFirmwareSettings"
	componentsKind      = "HostFirmwareComponents"
	// HostKind is a computer of the inventory.
	HostKind = "BareMetalHost"
	// PoolKind is a pool of addresses of Metal3.
	PoolKind = "IPPool"
)

// Where specs are in their objects.
var (
	specPath     = field.NewPath("spec")                     //nolint:gochecknoglobals // a constant that Go cannot write as one
	templatePath = field.NewPath("spec", "template", "spec") //nolint:gochecknoglobals // the same
)

// Kinds returns the kinds of this provider.
func Kinds() []fleet.Kind {
	const newest, older, alpha = "v1beta2", "v1beta1", "v1alpha1"
	kind := func(role fleet.KindRole, group, name string, versions ...kinds.Version) fleet.Kind {
		k := fleet.Kind{
			Provider: ProviderName, Role: role, Group: group, Kind: name,
			Secrets: secrets, Refused: make(map[string]string), Unused: make(map[string]string),
		}
		maps.Copy(k.Refused, notYet()[name])
		return kinds.Of(k, versions...)
	}
	cluster := kind(fleet.InfrastructureCluster, group, clusterKind,
		kinds.Objects(kinds.Checked((*validator).cluster), newest),
		kinds.Objects(kinds.Converted((*validator).convertCluster, (*validator).cluster), older))
	cluster.Serving, cluster.Elsewhere = serving, elsewhere
	clusters := kind(fleet.InfrastructureClusterTemplate, group, clusterTemplateKind,
		kinds.Templates(kinds.Checked((*validator).clusterTemplate), newest),
		kinds.BareTemplates(kinds.Converted((*validator).convertCluster, (*validator).clusterTemplate), older))

	machines := kind(fleet.InfrastructureMachineTemplate, group, templateKind,
		kinds.Objects(normaliseMachines, newest), kinds.Objects(normaliseOldMachines, older))
	maps.Copy(machines.Refused, refusedOfMachine())
	machines.Renamed = map[string]map[string]string{older: {"spec.template.spec.image.diskFormat": "spec.template.spec.image.format"}}
	machines.Resolve, machines.Hashed = resolveMachine, hashed

	data := kind(fleet.InfrastructureCompanion, group, dataTemplateKind,
		kinds.Objects(kinds.Checked((*validator).dataTemplate), newest),
		kinds.Objects(kinds.Converted((*validator).convertDataTemplate, (*validator).dataTemplate), older))
	data.Refused["spec.templateReference"] = "it is gone in v1beta2: indexes are counted for each Metal3DataTemplate; leave the field out"
	data.Unused["spec.clusterName"] = "no code of Metal3 reads it"
	data.Resolve = resolveData
	data.Renamed = map[string]map[string]string{older: {}}
	for _, what := range []string{"ipAddresses", "prefixes", "gateways", "dnsServers"} {
		data.Renamed[older]["spec.metaData."+what+"FromPool"] = "spec.metaData." + what + "FromIPPool"
	}

	pool := kind(fleet.InfrastructureCompanion, PoolGroup, PoolKind, kinds.Objects(kinds.Checked((*validator).pool), alpha))
	pool.Networks = networks
	pool.Unused["spec.clusterName"] = "a pool is for all clusters of its namespace"
	pool.Unused["spec.namePrefix"] = "there are no IPAddress objects to be named"
	pool.Limited = map[string]string{"spec.allocationStrategy": "either way the search for a free address begins where a hash of the machine's name says"}

	host := kind(fleet.InfrastructureCompanion, hostGroup, HostKind, kinds.Objects(kinds.CheckedOf((*validator).host), alpha))
	maps.Copy(host.Refused, refusedOfHost())
	host.Unused["spec.description"] = "it is for people"
	host.Identities = identities
	settings := kind(fleet.InfrastructureCompanion, hostGroup, settingsKind, kinds.Objects(kinds.CheckedOf((*validator).settings), alpha))
	components := kind(fleet.InfrastructureCompanion, hostGroup, componentsKind, kinds.Objects(kinds.CheckedOf((*validator).components), alpha))
	settings.Resolve, components.Resolve = resolveFirmware, resolveFirmware
	remediation := kind(fleet.InfrastructureCompanion, group, remediationKind,
		kinds.BareTemplates(kinds.Checked((*validator).remediation), newest),
		kinds.BareTemplates(kinds.Converted((*validator).convertRemediation, (*validator).remediation), older))
	remediation.Reboots = reboots
	remediation.Renamed = map[string]map[string]string{older: {"spec.template.spec.strategy.timeoutSeconds": "spec.template.spec.strategy.timeout"}}

	return append([]fleet.Kind{cluster, clusters, machines, data, pool, host, settings, components, remediation}, addresses.Kinds(ProviderName)...)
}

func normaliseMachines(o metav1.Object, _ *field.Path, in *Metal3MachineTemplateSpec) (any, field.ErrorList) {
	var v validator
	s := &MachineSpec{Metal3MachineSpec: in.Template.Template.Spec, NodeReuse: deref(in.NodeReuse)}
	v.machine(templatePath, &s.Metal3MachineSpec, o.GetNamespace())
	return s, v.Errs
}

func normaliseOldMachines(o metav1.Object, _ *field.Path, in *v1beta1MachineTemplateSpec) (any, field.ErrorList) {
	var v validator
	s := &MachineSpec{Metal3MachineSpec: *v.convertMachine(templatePath, &in.Template.Spec), NodeReuse: in.NodeReuse}
	v.machine(templatePath, &s.Metal3MachineSpec, o.GetNamespace())
	return s, v.Errs
}

// reboots implements fleet.Kind.
func reboots(spec any) fleet.RebootRules {
	s, ok := spec.(*Metal3RemediationSpec)
	if !ok || s.Strategy == nil {
		return fleet.RebootRules{}
	}
	return fleet.RebootRules{RetryLimit: int(s.Strategy.RetryLimit), Timeout: time.Duration(s.Strategy.TimeoutSeconds) * time.Second}
}

// hashed implements fleet.Kind: how a host is cleaned, and whether the next machine gets the
// same, are no part of what a machine is made of; of its data template the content counts,
// and not the name.
func hashed(spec any) any {
	s, ok := spec.(*MachineSpec)
	if !ok {
		return spec
	}
	out := *s
	out.NodeReuse, out.AutomatedCleaningMode, out.DataTemplate = false, "", nil
	return &out
}

// secrets implements fleet.Kind.
func secrets(spec any, namespace string) []fleet.Key {
	switch s := spec.(type) {
	case *Metal3ClusterSpec:
		return []fleet.Key{{Namespace: namespace, Name: IronicSecret}}
	case *BareMetalHostSpec:
		out := []fleet.Key{{Namespace: namespace, Name: s.BMC.CredentialsName}}
		if s.PreprovisioningNetworkDataName != "" {
			out = append(out, fleet.Key{Namespace: namespace, Name: s.PreprovisioningNetworkDataName})
		}
		return out
	}
	return nil
}
