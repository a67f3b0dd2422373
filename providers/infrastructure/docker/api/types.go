package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DockerClusterSpec is what the machines of a cluster share: the endpoint of its API servers.
type DockerClusterSpec struct {
	// ControlPlaneEndpoint is the address of an endpoint that exists. It is required if
	// LoadBalancer.Disable is true, and otherwise the address of the load balancer.
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
	// FailureDomains are names that machines are labelled with: all containers run on one host.
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`
	LoadBalancer   LoadBalancer    `json:"loadBalancer,omitzero"`
}

// APIEndpoint is host and port of an API server; the default port is 6443.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// FailureDomain is one of a cluster.
type FailureDomain struct {
	Name         string            `json:"name"`
	ControlPlane *bool             `json:"controlPlane,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
}

// LoadBalancer configures the container with HAProxy that has the endpoint.
type LoadBalancer struct {
	Disable                        bool            `json:"disable,omitempty"`
	ImageRepository                string          `json:"imageRepository,omitempty"`
	ImageTag                       string          `json:"imageTag,omitempty"`
	CustomHAProxyConfigTemplateRef json.RawMessage `json:"customHAProxyConfigTemplateRef,omitempty"`
}

// OldDockerClusterSpec is DockerClusterSpec as v1beta1 has it.
type OldDockerClusterSpec struct {
	ControlPlaneEndpoint APIEndpoint                 `json:"controlPlaneEndpoint,omitzero"`
	FailureDomains       map[string]OldFailureDomain `json:"failureDomains,omitempty"`
	LoadBalancer         LoadBalancer                `json:"loadBalancer,omitzero"`
}

// OldFailureDomain is a FailureDomain as v1beta1 has it.
type OldFailureDomain struct {
	ControlPlane *bool             `json:"controlPlane,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
}

// DockerMachineSpec is what the container of a machine is made from.
type DockerMachineSpec struct {
	// CustomImage is the node image. The default is kindest/node with the version of the pool as tag.
	CustomImage string `json:"customImage,omitempty"`
	// ExtraMounts are folders and files of the host that the machine has.
	ExtraMounts []Mount `json:"extraMounts,omitempty"`
	// BootstrapTimeout is the time limit of the user data, after which the machine failed.
	BootstrapTimeout *metav1.Duration `json:"bootstrapTimeout,omitempty"`

	// These are refused, or of controllers.
	PreLoadImages []string `json:"preLoadImages,omitempty"`
	ProviderID    string   `json:"providerID,omitempty"`
	Bootstrapped  bool     `json:"bootstrapped,omitempty"`
}

// Mount is a path of the host that a machine has.
type Mount struct {
	ContainerPath string `json:"containerPath,omitempty"`
	HostPath      string `json:"hostPath,omitempty"`
	ReadOnly      bool   `json:"readOnly,omitempty"`
}
