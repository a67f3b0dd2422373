package k3s

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/rancher"
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
	return []fleet.Kind{
		kind(fleet.Kind{
			Role: fleet.ControlPlaneKind, Group: controlPlaneGroup, Kind: controlPlaneKind, Versions: []string{"v1beta2", "v1beta1"},
			New: func(version string) any {
				if version == "v1beta1" {
					return &oldControlPlane{}
				}
				return &controlPlane{}
			},
			Normalise: normaliseControlPlane, Rotations: []fleet.Rotation{fleet.RotateCertificates},
			Unused: rancher.Machines("spec.machineTemplate.", "infrastructureRef", "spec.infrastructureTemplate"),
			Renamed: map[string]map[string]string{
				"v1beta2": {"spec.machineTemplate.spec": "spec.machineTemplate"},
				"v1beta1": {"spec.machineTemplate.spec.infrastructureRef": "spec.infrastructureTemplate"},
			},
		}, "spec.kthreesConfigSpec.", true),
		kind(fleet.Kind{
			Role: fleet.ControlPlaneTemplateKind, Group: controlPlaneGroup, Kind: controlPlaneKind + "Template",
			Versions: []string{"v1beta2"}, V1Beta1Contract: []string{"v1beta2"},
			New:    func(string) any { return &controlPlaneTemplate{} },
			Unused: rancher.Machines("spec.template.spec.machineTemplate.", "infrastructureRef", ""),
		}, "spec.template.spec.kthreesConfigSpec.", true),
		kind(fleet.Kind{
			Role: fleet.BootstrapConfigKind, Group: bootstrapGroup, Kind: configKind, Versions: []string{"v1beta2", "v1beta1"},
			New: func(string) any { return &config{} },
			Normalise: func(v any) (any, field.ErrorList) {
				return normaliseConfig(v.(*config).Spec, field.NewPath("spec"))
			},
		}, "spec.", false),
		kind(fleet.Kind{
			Role: fleet.BootstrapConfigTemplateKind, Group: bootstrapGroup, Kind: configKind + "Template", Versions: []string{"v1beta2", "v1beta1"},
			New: func(string) any { return &configTemplate{} },
			Normalise: func(v any) (any, field.ErrorList) {
				return normaliseConfig(v.(*configTemplate).Spec.Template.Spec, field.NewPath("spec", "template", "spec"))
			},
		}, "spec.template.spec.", false),
	}
}

// kind completes k, whose configuration is at prefix: that of servers, or of workers.
func kind(k fleet.Kind, prefix string, servers bool) fleet.Kind {
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
	return k
}

// A controlPlaneConfig is what pools of servers have of their control plane.
type controlPlaneConfig struct {
	KThreesConfigSpec configSpec `json:"kthreesConfigSpec,omitzero"`
}

func normaliseControlPlane(v any) (any, field.ErrorList) {
	c, ok := v.(*controlPlane)
	m := &fleet.ControlPlaneManifest{}
	if !ok {
		c = newest(v.(*oldControlPlane))
	}
	s := &c.Spec
	m.Object, m.Replicas, m.Version, m.Metadata = c, s.Replicas, s.Version, s.MachineTemplate.ObjectMeta
	m.OldInfrastructureRef = &s.MachineTemplate.InfrastructureRef
	m.Deletion, m.Remediation = s.MachineTemplate.Deletion(), s.RemediationStrategy.Limits()
	if s.RolloutAfter != nil {
		m.RolloutAfter = *s.RolloutAfter
	}
	path := field.NewPath("spec", "kthreesConfigSpec")
	errs := validate(&s.KThreesConfigSpec, path)
	errs = append(errs, rancher.ValidateVersion(s.Version, "+k3s", field.NewPath("spec", "version"))...)
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

// newest returns old as the newest version says it.
func newest(old *oldControlPlane) *controlPlane {
	o := &old.Spec
	c := &controlPlane{TypeMeta: old.TypeMeta, ObjectMeta: old.ObjectMeta}
	c.Spec = controlPlaneSpec{
		Replicas: o.Replicas, Version: o.Version, KThreesConfigSpec: o.KThreesConfigSpec, RolloutAfter: o.UpgradeAfter, RemediationStrategy: o.RemediationStrategy,
		MachineTemplate: rancher.MachineTemplate{ObjectMeta: o.MachineTemplate.ObjectMeta, InfrastructureRef: o.InfrastructureTemplate, NodeDrainTimeout: o.NodeDrainTimeout},
	}
	return c
}

func normaliseConfig(s configSpec, path *field.Path) (any, field.ErrorList) {
	errs := validate(&s, path)
	s = settled(s)
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
	return s
}

func validate(s *configSpec, path *field.Path) field.ErrorList {
	errs := rancher.ValidateFiles(rancher.Files(s.Files), path.Child("files"))
	errs = append(errs, rancher.ValidateLabels(s.AgentConfig.NodeLabels, path.Child("agentConfig", "nodeLabels"))...)
	return append(errs, rancher.ValidateTaints(s.AgentConfig.NodeTaints, path.Child("agentConfig", "nodeTaints"))...)
}
