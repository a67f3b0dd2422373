package kubeadm

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
)

// kubeadm's configuration, in the fields that Cluster API can set. One set of
// structs serves both versions: a field that only one of them has says so, and
// is left empty for the other.
// Source: kubernetes, cmd/kubeadm/app/apis/kubeadm/{v1beta3,v1beta4}.
type (
	clusterConfiguration struct {
		APIVersion                  string           `json:"apiVersion"`
		Kind                        string           `json:"kind"`
		Etcd                        etcd             `json:"etcd,omitzero"`
		Networking                  networking       `json:"networking,omitzero"`
		KubernetesVersion           string           `json:"kubernetesVersion,omitempty"`
		ControlPlaneEndpoint        string           `json:"controlPlaneEndpoint,omitempty"`
		APIServer                   component        `json:"apiServer,omitzero"`
		ControllerManager           component        `json:"controllerManager,omitzero"`
		Scheduler                   component        `json:"scheduler,omitzero"`
		DNS                         bootstrapv1.DNS  `json:"dns,omitzero"`
		CertificatesDir             string           `json:"certificatesDir,omitempty"`
		ImageRepository             string           `json:"imageRepository,omitempty"`
		FeatureGates                map[string]bool  `json:"featureGates,omitempty"`
		ClusterName                 string           `json:"clusterName,omitempty"`
		EncryptionAlgorithm         string           `json:"encryptionAlgorithm,omitempty"`         // v1beta4
		CertificateValidityPeriod   *metav1.Duration `json:"certificateValidityPeriod,omitempty"`   // v1beta4
		CACertificateValidityPeriod *metav1.Duration `json:"caCertificateValidityPeriod,omitempty"` // v1beta4
	}
	// component is a control plane component; the last two fields are the API
	// server's only.
	component struct {
		ExtraArgs              any                         `json:"extraArgs,omitempty"`
		ExtraVolumes           []bootstrapv1.HostPathMount `json:"extraVolumes,omitempty"`
		ExtraEnvs              []bootstrapv1.EnvVar        `json:"extraEnvs,omitempty"` // v1beta4
		CertSANs               []string                    `json:"certSANs,omitempty"`
		TimeoutForControlPlane *metav1.Duration            `json:"timeoutForControlPlane,omitempty"` // v1beta3
	}
	networking struct {
		ServiceSubnet string `json:"serviceSubnet,omitempty"`
		PodSubnet     string `json:"podSubnet,omitempty"`
		DNSDomain     string `json:"dnsDomain,omitempty"`
	}
	etcd struct {
		Local    *localEtcd                `json:"local,omitempty"`
		External *bootstrapv1.ExternalEtcd `json:"external,omitempty"`
	}
	localEtcd struct {
		ImageRepository string               `json:"imageRepository,omitempty"`
		ImageTag        string               `json:"imageTag,omitempty"`
		DataDir         string               `json:"dataDir,omitempty"`
		ExtraArgs       any                  `json:"extraArgs,omitempty"`
		ExtraEnvs       []bootstrapv1.EnvVar `json:"extraEnvs,omitempty"` // v1beta4
		ServerCertSANs  []string             `json:"serverCertSANs,omitempty"`
		PeerCertSANs    []string             `json:"peerCertSANs,omitempty"`
	}

	initConfiguration struct {
		APIVersion       string                  `json:"apiVersion"`
		Kind             string                  `json:"kind"`
		BootstrapTokens  []bootstrapToken        `json:"bootstrapTokens,omitempty"`
		NodeRegistration nodeRegistration        `json:"nodeRegistration,omitzero"`
		LocalAPIEndpoint bootstrapv1.APIEndpoint `json:"localAPIEndpoint,omitzero"`
		SkipPhases       []string                `json:"skipPhases,omitempty"`
		Patches          bootstrapv1.Patches     `json:"patches,omitzero"`
		Timeouts         *timeouts               `json:"timeouts,omitempty"` // v1beta4
	}
	bootstrapToken struct {
		Token       string           `json:"token"`
		Description string           `json:"description,omitempty"`
		TTL         *metav1.Duration `json:"ttl,omitempty"`
		Expires     *metav1.Time     `json:"expires,omitempty"`
		Usages      []string         `json:"usages,omitempty"`
		Groups      []string         `json:"groups,omitempty"`
	}
	nodeRegistration struct {
		Name      string `json:"name,omitempty"`
		CRISocket string `json:"criSocket,omitempty"`
		// Taints that are absent are kubeadm's own choice; an empty list is none.
		Taints                *[]corev1.Taint   `json:"taints,omitempty"`
		KubeletExtraArgs      any               `json:"kubeletExtraArgs,omitempty"`
		IgnorePreflightErrors []string          `json:"ignorePreflightErrors,omitempty"`
		ImagePullPolicy       corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
		ImagePullSerial       *bool             `json:"imagePullSerial,omitempty"` // v1beta4
	}
	timeouts struct {
		ControlPlaneComponentHealthCheck *metav1.Duration `json:"controlPlaneComponentHealthCheck,omitempty"`
		KubeletHealthCheck               *metav1.Duration `json:"kubeletHealthCheck,omitempty"`
		KubernetesAPICall                *metav1.Duration `json:"kubernetesAPICall,omitempty"`
		EtcdAPICall                      *metav1.Duration `json:"etcdAPICall,omitempty"`
		TLSBootstrap                     *metav1.Duration `json:"tlsBootstrap,omitempty"`
		Discovery                        *metav1.Duration `json:"discovery,omitempty"`
	}

	joinConfiguration struct {
		APIVersion       string              `json:"apiVersion"`
		Kind             string              `json:"kind"`
		NodeRegistration nodeRegistration    `json:"nodeRegistration,omitzero"`
		CACertPath       string              `json:"caCertPath,omitempty"`
		Discovery        discovery           `json:"discovery"`
		ControlPlane     *joinControlPlane   `json:"controlPlane,omitempty"`
		SkipPhases       []string            `json:"skipPhases,omitempty"`
		Patches          bootstrapv1.Patches `json:"patches,omitzero"`
		Timeouts         *timeouts           `json:"timeouts,omitempty"` // v1beta4
	}
	joinControlPlane struct {
		LocalAPIEndpoint bootstrapv1.APIEndpoint `json:"localAPIEndpoint,omitzero"`
	}
	discovery struct {
		BootstrapToken    *bootstrapv1.BootstrapTokenDiscovery `json:"bootstrapToken,omitempty"`
		File              *fileDiscovery                       `json:"file,omitempty"`
		TLSBootstrapToken string                               `json:"tlsBootstrapToken,omitempty"`
		Timeout           *metav1.Duration                     `json:"timeout,omitempty"` // v1beta3
	}
	fileDiscovery struct {
		KubeConfigPath string `json:"kubeConfigPath"`
	}

	// arg is an argument in v1beta4; v1beta3 has a map.
	arg struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)
