package k3s

import (
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/rancher"
	"fairlead.dev/providers/kinds"
)

const (
	name              = "k3s"
	controlPlaneKind  = "KThreesControlPlane"
	configKind        = "KThreesConfig"
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
)

// Kinds returns the kinds of Cluster API's provider for K3s.
func Kinds() []fleet.Kind {
	const newest, older = "v1beta2", "v1beta1"
	return []fleet.Kind{
		kind(fleet.Kind{
			Role: fleet.ControlPlaneKind, Group: controlPlaneGroup, Kind: controlPlaneKind, Rotations: []fleet.Rotation{fleet.RotateCertificates},
			Unused: rancher.Machines("spec.machineTemplate.", "infrastructureRef", "spec.infrastructureTemplate"),
			Renamed: map[string]map[string]string{
				"v1beta2": {"spec.machineTemplate.spec": "spec.machineTemplate"},
				"v1beta1": {"spec.machineTemplate.spec.infrastructureRef": "spec.infrastructureTemplate"},
			},
		}, "spec.kthreesConfigSpec.", true, kinds.Objects(normaliseControlPlane, newest), kinds.Objects(normaliseOldControlPlane, older)),
		kind(fleet.Kind{
			Role: fleet.ControlPlaneTemplateKind, Group: controlPlaneGroup, Kind: controlPlaneKind + "Template", V1Beta1Contract: []string{newest},
			Unused: rancher.Machines("spec.template.spec.machineTemplate.", "infrastructureRef", ""),
		}, "spec.template.spec.kthreesConfigSpec.", true, kinds.Templates[templateSpec](nil, newest)),
		kind(fleet.Kind{Role: fleet.BootstrapConfigKind, Group: bootstrapGroup, Kind: configKind},
			"spec.", false, kinds.Objects(normaliseConfig, newest, older)),
		kind(fleet.Kind{Role: fleet.BootstrapConfigTemplateKind, Group: bootstrapGroup, Kind: configKind + "Template"},
			"spec.template.spec.", false, kinds.BareTemplates(normaliseConfig, newest, older)),
	}
}

// kind completes k, whose configuration is at prefix: that of servers, or of workers.
func kind(k fleet.Kind, prefix string, servers bool, versions ...kinds.Version) fleet.Kind {
	k.Distribution, k.NonNegative = name, true
	k.Refused = map[string]string{
		prefix + "version":              "it comes from the version of the KThreesControlPlane or MachineDeployment; set it there",
		prefix + "agentConfig.nodeName": "Nodes are called as their machines",
	}
	k.Limited = map[string]string{
		prefix + "files.contentFrom.secret": "a Secret in the same overlay",
		prefix + "agentConfig.airGapped":    "the image has K3s and the script that installs it, which asks for no download",
	}
	if k.Unused == nil {
		k.Unused = make(map[string]string)
	}
	k.Unused[prefix+"serverConfig.etcdProxyImage"] = "the servers report members of etcd, and no proxy is needed"
	k.Values = map[string][]string{prefix + "files.encoding": {"base64", "gzip", "gzip+base64"}}
	if !servers {
		for _, f := range []string{
			"kubeAPIServerArg", "kubeControllerManagerArgs", "kubeSchedulerArgs", "tlsSan", "bindAddress", "httpsListenPort", "advertiseAddress", "advertisePort",
			"clusterCidr", "serviceCidr", "clusterDNS", "clusterDomain", "disableComponents", "systemDefaultRegistry",
		} {
			k.Unused[prefix+"serverConfig."+f] = "is for servers, and these machines are agents"
		}
	}
	return kinds.Of(k, versions...)
}

// A controlPlaneConfig is what pools of servers have of their control plane.
type controlPlaneConfig struct {
	KThreesConfigSpec configSpec `json:"kthreesConfigSpec,omitzero"`
}

// normaliseControlPlane is a kinds.Normaliser.
func normaliseControlPlane(o metav1.Object, at *field.Path, s *controlPlaneSpec) (any, field.ErrorList) {
	m := &fleet.ControlPlaneManifest{Object: o, Replicas: s.Replicas, Version: s.Version, Metadata: s.MachineTemplate.ObjectMeta}
	m.OldInfrastructureRef = &s.MachineTemplate.InfrastructureRef
	m.Deletion, m.Remediation = s.MachineTemplate.Deletion(), s.RemediationStrategy.Limits()
	if s.RolloutAfter != nil {
		m.RolloutAfter = *s.RolloutAfter
	}
	path := at.Child("kthreesConfigSpec")
	errs := validate(&s.KThreesConfigSpec, path)
	errs = append(errs, rancher.ValidateVersion(s.Version, "+k3s", at.Child("version"))...)
	if port := s.KThreesConfigSpec.ServerConfig.HTTPSListenPort; port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			errs = append(errs, field.Invalid(path.Child("serverConfig", "httpsListenPort"), port, "must be a port"))
		}
		m.APIPort, m.JoinedAPIPort = int32(n), int32(n)
	}
	spec := settled(s.KThreesConfigSpec)
	m.Bootstrap = fleet.BootstrapManifest{Kind: controlPlaneKind, Path: path.String(), Spec: controlPlaneConfig{spec}, Settled: controlPlaneConfig{alike(spec)}, Secrets: rancher.Secrets(spec.Files, path.Child("files"))}
	return m, errs
}

// normaliseOldControlPlane is normaliseControlPlane for the older version.
func normaliseOldControlPlane(o metav1.Object, at *field.Path, s *oldControlPlaneSpec) (any, field.ErrorList) {
	old := o.(*kinds.Object[oldControlPlaneSpec])
	c := &kinds.Object[controlPlaneSpec]{TypeMeta: old.TypeMeta, ObjectMeta: old.ObjectMeta}
	c.Spec = controlPlaneSpec{
		Replicas: s.Replicas, Version: s.Version, KThreesConfigSpec: s.KThreesConfigSpec, RolloutAfter: s.UpgradeAfter, RemediationStrategy: s.RemediationStrategy,
		MachineTemplate: rancher.MachineTemplate{ObjectMeta: s.MachineTemplate.ObjectMeta, InfrastructureRef: s.InfrastructureTemplate, NodeDrainTimeout: s.NodeDrainTimeout},
	}
	return normaliseControlPlane(c, at, &c.Spec)
}

// normaliseConfig is a kinds.Normaliser.
func normaliseConfig(_ metav1.Object, path *field.Path, in *configSpec) (any, field.ErrorList) {
	errs := validate(in, path)
	s := settled(*in)
	c := s.ServerConfig
	s.ServerConfig = serverConfig{CloudProviderName: c.CloudProviderName, DisableCloudController: c.DisableCloudController} // an agent has no other
	agent := alike(s)
	agent.ServerConfig.DisableCloudController = nil // servers run it
	return &fleet.BootstrapManifest{Kind: configKind, Path: path.String(), Spec: s, Settled: agent, Secrets: rancher.Secrets(s.Files, path.Child("files"))}, errs
}

// settled returns s without what does nothing, and with one way of saying who the cloud
// provider is: that of the newest version.
// Source: cluster-api-k3s, conversion of KThreesServerConfig and its webhook.
func settled(s configSpec) configSpec {
	c := &s.ServerConfig
	c.EtcdProxyImage = ""
	if c.DisableExternalCloudProvider {
		none, no := "", false
		if c.CloudProviderName == nil {
			c.CloudProviderName = &none
		}
		if c.DisableCloudController == nil {
			c.DisableCloudController = &no
		}
	}
	c.DisableExternalCloudProvider = false
	return s
}

// alike returns s in one form for all that gives the same user data.
func alike(s configSpec) configSpec {
	c := &s.ServerConfig
	provider, disabled := cloudProvider(*c), c.DisableCloudController == nil || *c.DisableCloudController
	c.CloudProviderName, c.DisableCloudController = &provider, &disabled
	s.Files = rancher.Settled(s.Files)
	rancher.WithoutEmptyLists(reflect.ValueOf(&s).Elem())
	return s
}

func validate(s *configSpec, path *field.Path) field.ErrorList {
	errs := rancher.ValidateFiles(rancher.Files(s.Files), path.Child("files"))
	errs = append(errs, rancher.ValidateLabels(s.AgentConfig.NodeLabels, path.Child("agentConfig", "nodeLabels"))...)
	return append(errs, rancher.ValidateTaints(s.AgentConfig.NodeTaints, path.Child("agentConfig", "nodeTaints"))...)
}
