package rke2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/providers/distribution/rancher"
)

// The specs of the kinds of Cluster API's provider for RKE2: what of them JSON has.
// Source: rancher/cluster-api-provider-rke2, bootstrap/api and controlplane/api.

type controlPlaneSpec struct {
	planeSpec       `json:",inline"`
	Replicas        *int32          `json:"replicas,omitempty"`
	Version         string          `json:"version"`
	MachineTemplate machineTemplate `json:"machineTemplate,omitzero"`
}

// An oldControlPlaneSpec is that of v1beta1.
type oldControlPlaneSpec struct {
	planeSpec         `json:",inline"`
	Replicas          *int32                  `json:"replicas,omitempty"`
	Version           string                  `json:"version"`
	MachineTemplate   rancher.MachineTemplate `json:"machineTemplate,omitempty"`
	InfrastructureRef corev1.ObjectReference  `json:"infrastructureRef,omitzero"`
	NodeDrainTimeout  *metav1.Duration        `json:"nodeDrainTimeout,omitempty"`
}

// A templateSpec is that of the control planes of a class.
type templateSpec struct {
	planeSpec       `json:",inline"`
	MachineTemplate machineTemplate `json:"machineTemplate,omitzero"`
}

// A planeSpec is what a control plane and a template of one both say.
type planeSpec struct {
	serverSpec                  `json:",inline"`
	ManifestsConfigMapReference corev1.ObjectReference       `json:"manifestsConfigMapReference,omitzero"`
	RolloutStrategy             *rolloutStrategy             `json:"rolloutStrategy,omitempty"`
	RemediationStrategy         *rancher.RemediationStrategy `json:"remediationStrategy,omitempty"`
}

// A serverSpec is what machines of a control plane are set up with.
type serverSpec struct {
	configSpec          `json:",inline"`
	ServerConfig        serverConfig `json:"serverConfig,omitzero"`
	RegistrationMethod  string       `json:"registrationMethod,omitempty"`
	RegistrationAddress string       `json:"registrationAddress,omitempty"`
}

type machineTemplate struct {
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitzero"`
	Spec       struct {
		InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef,omitzero"`
		Deletion          struct {
			NodeDrainTimeoutSeconds        *int32 `json:"nodeDrainTimeoutSeconds,omitempty"`
			NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`
			NodeDeletionTimeoutSeconds     *int32 `json:"nodeDeletionTimeoutSeconds,omitempty"`
		} `json:"deletion,omitzero"`
	} `json:"spec,omitzero"`
}

type rolloutStrategy struct {
	Type          string `json:"type,omitempty"`
	RollingUpdate *struct {
		MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	} `json:"rollingUpdate,omitempty"`
}

type configSpec struct {
	Files                   []file      `json:"files,omitempty"`
	PreRKE2Commands         []string    `json:"preRKE2Commands,omitempty"`
	PostRKE2Commands        []string    `json:"postRKE2Commands,omitempty"`
	AgentConfig             agentConfig `json:"agentConfig,omitzero"`
	PrivateRegistriesConfig refused     `json:"privateRegistriesConfig,omitempty"`
	GzipUserData            *bool       `json:"gzipUserData,omitempty"`
}

// A refused field is known and not honoured, whatever is in it.
type refused map[string]any

type agentConfig struct {
	DataDir                          string            `json:"dataDir,omitempty"`
	NodeLabels                       []string          `json:"nodeLabels,omitempty"`
	NodeAnnotations                  map[string]string `json:"nodeAnnotations,omitempty"`
	NodeTaints                       []string          `json:"nodeTaints,omitempty"`
	NodeNamePrefix                   string            `json:"nodeName,omitempty"`
	NTP                              *ntp              `json:"ntp,omitempty"`
	ImageCredentialProviderConfigMap refused           `json:"imageCredentialProviderConfigMap,omitempty"`
	ContainerRuntimeEndpoint         string            `json:"containerRuntimeEndpoint,omitempty"`
	Snapshotter                      string            `json:"snapshotter,omitempty"`
	CISProfile                       string            `json:"cisProfile,omitempty"`
	PodSecurityAdmissionConfigFile   string            `json:"podSecurityAdmissionConfigFile,omitempty"`
	ResolvConf                       refused           `json:"resolvConf,omitempty"`
	ProtectKernelDefaults            bool              `json:"protectKernelDefaults,omitempty"`
	SystemDefaultRegistry            string            `json:"systemDefaultRegistry,omitempty"`
	EnableContainerdSElinux          bool              `json:"enableContainerdSElinux,omitempty"`
	KubeletPath                      string            `json:"kubeletPath,omitempty"`
	Kubelet                          *component        `json:"kubelet,omitempty"`
	KubeProxy                        *component        `json:"kubeProxy,omitempty"`
	RuntimeImage                     string            `json:"runtimeImage,omitempty"`
	LoadBalancerPort                 int               `json:"loadBalancerPort,omitempty"`
	AirGapped                        bool              `json:"airGapped,omitempty"`
	AirGappedChecksum                string            `json:"airGappedChecksum,omitempty"`
	Format                           string            `json:"format,omitempty"`
	AdditionalUserData               refused           `json:"additionalUserData,omitempty"`
}

type ntp struct {
	Servers []string `json:"servers,omitempty"`
	Enabled *bool    `json:"enabled,omitempty"`
}

// A component is one of Kubernetes' programs.
type component struct {
	ExtraEnv      map[string]string `json:"extraEnv,omitempty"`
	ExtraArgs     []string          `json:"extraArgs,omitempty"`
	ExtraMounts   map[string]string `json:"extraMounts,omitempty"`
	OverrideImage string            `json:"overrideImage,omitempty"`
}

type serverConfig struct {
	AuditPolicySecret         refused           `json:"auditPolicySecret,omitempty"`
	BindAddress               string            `json:"bindAddress,omitempty"`
	AdvertiseAddress          string            `json:"advertiseAddress,omitempty"`
	TLSSan                    []string          `json:"tlsSan,omitempty"`
	ServiceNodePortRange      string            `json:"serviceNodePortRange,omitempty"`
	ClusterDNS                string            `json:"clusterDNS,omitempty"`
	ClusterDomain             string            `json:"clusterDomain,omitempty"`
	DisableComponents         disableComponents `json:"disableComponents,omitzero"`
	CNI                       string            `json:"cni,omitempty"`
	CNIMultusEnable           bool              `json:"cniMultusEnable,omitempty"`
	IngressController         []string          `json:"ingressController,omitempty"`
	PauseImage                string            `json:"pauseImage,omitempty"`
	Etcd                      etcd              `json:"etcd,omitzero"`
	SecretsEncryptionProvider refused           `json:"secretsEncryption,omitempty"`
	KubeAPIServer             *component        `json:"kubeAPIServer,omitempty"`
	KubeControllerManager     *component        `json:"kubeControllerManager,omitempty"`
	KubeScheduler             *component        `json:"kubeScheduler,omitempty"`
	CloudControllerManager    *component        `json:"cloudControllerManager,omitempty"`
	CloudProviderName         string            `json:"cloudProviderName,omitempty"`
	CloudProviderConfigMap    refused           `json:"cloudProviderConfigMap,omitempty"`
	SupervisorMetrics         bool              `json:"supervisorMetrics,omitempty"`
	EmbeddedRegistry          bool              `json:"embeddedRegistry,omitempty"`
	ExternalDatastoreSecret   refused           `json:"externalDatastoreSecret,omitempty"`
}

type disableComponents struct {
	KubernetesComponents []string `json:"kubernetesComponents,omitempty"`
	PluginComponents     []string `json:"pluginComponents,omitempty"`
}

type etcd struct {
	ExposeMetrics bool       `json:"exposeMetrics,omitempty"`
	BackupConfig  backup     `json:"backupConfig,omitzero"`
	CustomConfig  *component `json:"customConfig,omitempty"`
}

type backup struct {
	DisableAutomaticSnapshots *bool   `json:"disableAutomaticSnapshots,omitempty"`
	SnapshotName              string  `json:"snapshotName,omitempty"`
	ScheduleCron              string  `json:"scheduleCron,omitempty"`
	Retention                 string  `json:"retention,omitempty"`
	Directory                 string  `json:"directory,omitempty"`
	S3                        refused `json:"s3,omitempty"`
}

type file = rancher.FileSpec[fileSource]

type fileSource struct {
	Secret *struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
		Key       string `json:"key"`
	} `json:"secret,omitempty"`
	ConfigMap refused `json:"configMap,omitempty"`
}

// SecretKey implements rancher.FileSource.
func (s fileSource) SecretKey() (name, key string) {
	if s.Secret == nil {
		return "", ""
	}
	return s.Secret.Name, s.Secret.Key
}
