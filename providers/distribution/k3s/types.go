package k3s

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/providers/distribution/rancher"
)

// The specs of the kinds of Cluster API's provider for K3s: what of them JSON has. A field of the older
// version alone says so.
// Source: k3s-io/cluster-api-k3s, bootstrap/api and controlplane/api.

type controlPlaneSpec struct {
	Replicas            *int32                       `json:"replicas,omitempty"`
	Version             string                       `json:"version"`
	KThreesConfigSpec   configSpec                   `json:"kthreesConfigSpec,omitempty"`
	RolloutAfter        *metav1.Time                 `json:"rolloutAfter,omitempty"`
	MachineTemplate     rancher.MachineTemplate      `json:"machineTemplate,omitempty"`
	RemediationStrategy *rancher.RemediationStrategy `json:"remediationStrategy,omitempty"`
}

// An oldControlPlaneSpec is that of v1beta1.
type oldControlPlaneSpec struct {
	Replicas               *int32                 `json:"replicas,omitempty"`
	Version                string                 `json:"version"`
	InfrastructureTemplate corev1.ObjectReference `json:"infrastructureTemplate"`
	KThreesConfigSpec      configSpec             `json:"kthreesConfigSpec,omitempty"`
	UpgradeAfter           *metav1.Time           `json:"upgradeAfter,omitempty"`
	NodeDrainTimeout       *metav1.Duration       `json:"nodeDrainTimeout,omitempty"`
	MachineTemplate        struct {
		ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty"`
	} `json:"machineTemplate,omitempty"`
	RemediationStrategy *rancher.RemediationStrategy `json:"remediationStrategy,omitempty"`
}

// A templateSpec is that of the control planes of a class.
type templateSpec struct {
	KThreesConfigSpec   configSpec                   `json:"kthreesConfigSpec,omitempty"`
	RolloutAfter        *metav1.Time                 `json:"rolloutAfter,omitempty"`
	MachineTemplate     rancher.MachineTemplate      `json:"machineTemplate,omitempty"`
	RemediationStrategy *rancher.RemediationStrategy `json:"remediationStrategy,omitempty"`
}

type configSpec struct {
	Files           []file       `json:"files,omitempty"`
	PreK3sCommands  []string     `json:"preK3sCommands,omitempty"`
	PostK3sCommands []string     `json:"postK3sCommands,omitempty"`
	AgentConfig     agentConfig  `json:"agentConfig,omitzero"`
	ServerConfig    serverConfig `json:"serverConfig,omitzero"`
	Version         string       `json:"version,omitempty"`
}

type serverConfig struct {
	KubeAPIServerArgs            []string `json:"kubeAPIServerArg,omitempty"`
	KubeControllerManagerArgs    []string `json:"kubeControllerManagerArgs,omitempty"`
	KubeSchedulerArgs            []string `json:"kubeSchedulerArgs,omitempty"`
	TLSSan                       []string `json:"tlsSan,omitempty"`
	BindAddress                  string   `json:"bindAddress,omitempty"`
	HTTPSListenPort              string   `json:"httpsListenPort,omitempty"`
	AdvertiseAddress             string   `json:"advertiseAddress,omitempty"`
	AdvertisePort                string   `json:"advertisePort,omitempty"`
	ClusterCidr                  string   `json:"clusterCidr,omitempty"`
	ServiceCidr                  string   `json:"serviceCidr,omitempty"`
	ClusterDNS                   string   `json:"clusterDNS,omitempty"`
	ClusterDomain                string   `json:"clusterDomain,omitempty"`
	DisableComponents            []string `json:"disableComponents,omitempty"`
	DisableExternalCloudProvider bool     `json:"disableExternalCloudProvider,omitempty"`
	DisableCloudController       *bool    `json:"disableCloudController,omitempty"`
	CloudProviderName            *string  `json:"cloudProviderName,omitempty"`
	SystemDefaultRegistry        string   `json:"systemDefaultRegistry,omitempty"`
	EtcdProxyImage               string   `json:"etcdProxyImage,omitempty"`
}

type agentConfig struct {
	NodeLabels                 []string `json:"nodeLabels,omitempty"`
	NodeTaints                 []string `json:"nodeTaints,omitempty"`
	PrivateRegistry            string   `json:"privateRegistry,omitempty"`
	KubeletArgs                []string `json:"kubeletArgs,omitempty"`
	KubeProxyArgs              []string `json:"kubeProxyArgs,omitempty"`
	NodeName                   string   `json:"nodeName,omitempty"`
	AirGapped                  bool     `json:"airGapped,omitempty"`
	AirGappedInstallScriptPath string   `json:"airGappedInstallScriptPath,omitempty"`
}

type file = rancher.FileSpec[fileSource]

type fileSource struct {
	Secret struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	} `json:"secret"`
}

// SecretKey implements rancher.FileSource.
func (s fileSource) SecretKey() (name, key string) { return s.Secret.Name, s.Secret.Key }
