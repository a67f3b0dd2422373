package api

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
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
	kind := func(role fleet.KindRole, group, name string, newest, older func() any) fleet.Kind {
		k := fleet.Kind{
			Provider: ProviderName, Role: role, Group: group, Kind: name, Versions: []string{"v1alpha1"},
			New: func(version string) any {
				if version == "v1beta1" {
					return older()
				}
				return newest()
			},
			Normalise: normalise, Secrets: secrets, Refused: make(map[string]string), Unused: make(map[string]string),
		}
		if older != nil {
			k.Versions = []string{"v1beta2", "v1beta1"}
		}
		maps.Copy(k.Refused, notYet()[name])
		return k
	}
	cluster := kind(fleet.InfrastructureCluster, group, clusterKind, func() any { return new(Metal3Cluster) }, func() any { return new(v1beta1Cluster) })
	cluster.Serving, cluster.Elsewhere = serving, elsewhere
	clusters := kind(fleet.InfrastructureClusterTemplate, group, clusterTemplateKind,
		func() any { return new(Metal3ClusterTemplate) }, func() any { return new(v1beta1ClusterTemplate) })

	machines := kind(fleet.InfrastructureMachineTemplate, group, templateKind,
		func() any { return new(Metal3MachineTemplate) }, func() any { return new(v1beta1MachineTemplate) })
	maps.Copy(machines.Refused, refusedOfMachine())
	machines.Renamed = map[string]map[string]string{"v1beta1": {"spec.template.spec.image.diskFormat": "spec.template.spec.image.format"}}
	machines.Resolve, machines.Hashed = resolveMachine, hashed

	data := kind(fleet.InfrastructureCompanion, group, dataTemplateKind, func() any { return new(Metal3DataTemplate) }, func() any { return new(v1beta1DataTemplate) })
	data.Refused["spec.templateReference"] = "it is gone in v1beta2: indexes are counted for each Metal3DataTemplate; leave the field out"
	data.Unused["spec.clusterName"] = "no code of Metal3 reads it"
	data.Resolve = resolveData
	data.Renamed = map[string]map[string]string{"v1beta1": {}}
	for _, what := range []string{"ipAddresses", "prefixes", "gateways", "dnsServers"} {
		data.Renamed["v1beta1"]["spec.metaData."+what+"FromPool"] = "spec.metaData." + what + "FromIPPool"
	}

	pool := kind(fleet.InfrastructureCompanion, PoolGroup, PoolKind, func() any { return new(IPPool) }, nil)
	pool.Networks = networks
	pool.Unused["spec.clusterName"] = "a pool is for all clusters of its namespace"
	pool.Unused["spec.namePrefix"] = "there are no IPAddress objects to be named"
	pool.Limited = map[string]string{"spec.allocationStrategy": "either way the search for a free address begins where a hash of the machine's name says"}

	host := kind(fleet.InfrastructureCompanion, hostGroup, HostKind, func() any { return new(BareMetalHost) }, nil)
	maps.Copy(host.Refused, refusedOfHost())
	host.Unused["spec.description"] = "it is for people"
	host.Identities = identities
	settings := kind(fleet.InfrastructureCompanion, hostGroup, settingsKind, func() any { return new(HostFirmwareSettings) }, nil)
	components := kind(fleet.InfrastructureCompanion, hostGroup, componentsKind, func() any { return new(HostFirmwareComponents) }, nil)
	settings.Resolve, components.Resolve = resolveFirmware, resolveFirmware
	remediation := kind(fleet.InfrastructureCompanion, group, remediationKind,
		func() any { return new(Metal3RemediationTemplate) }, func() any { return new(v1beta1RemediationTemplate) })
	remediation.Reboots = reboots
	remediation.Renamed = map[string]map[string]string{"v1beta1": {"spec.template.spec.strategy.timeoutSeconds": "spec.template.spec.strategy.timeout"}}

	return append([]fleet.Kind{cluster, clusters, machines, data, pool, host, settings, components, remediation}, addresses.Kinds(ProviderName)...)
}

// normalise implements fleet.Kind.
func normalise(in any) (any, field.ErrorList) {
	var v validator
	switch o := in.(type) {
	case *Metal3Cluster:
		v.cluster(specPath, &o.Spec)
		return &o.Spec, v.Errs
	case *v1beta1Cluster:
		s := v.convertCluster(specPath, &o.Spec)
		v.cluster(specPath, s)
		return s, v.Errs
	case *Metal3ClusterTemplate:
		v.clusterTemplate(templatePath, &o.Spec.Template.Spec)
		return &o.Spec.Template.Spec, v.Errs
	case *v1beta1ClusterTemplate:
		s := v.convertCluster(templatePath, &o.Spec.Template.Spec)
		v.clusterTemplate(templatePath, s)
		return s, v.Errs
	case *Metal3MachineTemplate:
		s := &MachineSpec{Metal3MachineSpec: o.Spec.Template.Spec, NodeReuse: deref(o.Spec.NodeReuse)}
		v.machine(templatePath, &s.Metal3MachineSpec, o.Namespace)
		return s, v.Errs
	case *v1beta1MachineTemplate:
		s := &MachineSpec{Metal3MachineSpec: *v.convertMachine(templatePath, &o.Spec.Template.Spec), NodeReuse: o.Spec.NodeReuse}
		v.machine(templatePath, &s.Metal3MachineSpec, o.Namespace)
		return s, v.Errs
	case *Metal3DataTemplate:
		v.dataTemplate(specPath, &o.Spec)
		return &o.Spec, v.Errs
	case *v1beta1DataTemplate:
		s := convertDataTemplate(&o.Spec)
		v.dataTemplate(specPath, s)
		return s, v.Errs
	}
	return normaliseOthers(in)
}

// normaliseOthers is normalise for what is neither of clusters nor of machines.
func normaliseOthers(in any) (any, field.ErrorList) {
	var v validator
	switch o := in.(type) {
	case *IPPool:
		v.pool(specPath, &o.Spec)
		return &o.Spec, v.Errs
	case *BareMetalHost:
		v.host(specPath, o)
		return &o.Spec, v.Errs
	case *HostFirmwareSettings:
		o.Spec.host = o.Name
		v.settings(specPath, &o.Spec)
		return &o.Spec, v.Errs
	case *HostFirmwareComponents:
		o.Spec.host = o.Name
		v.components(specPath, &o.Spec)
		return &o.Spec, v.Errs
	case *Metal3RemediationTemplate:
		v.remediation(templatePath, &o.Spec.Template.Spec)
		return &o.Spec.Template.Spec, v.Errs
	case *v1beta1RemediationTemplate:
		s := v.convertRemediation(templatePath, &o.Spec.Template.Spec)
		v.remediation(templatePath, s)
		return s, v.Errs
	}
	return nil, field.ErrorList{field.InternalError(specPath, fmt.Errorf("%T is no kind of this provider", in))}
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
