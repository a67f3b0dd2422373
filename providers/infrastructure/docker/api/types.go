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

	Shared `json:",inline"`
}

// Shared is what a DockerCluster, and backend.docker of a DevCluster, say of a cluster.
type Shared struct {
	// FailureDomains are names that machines are labelled with: all containers run on one host.
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`
	LoadBalancer   LoadBalancer    `json:"loadBalancer,omitzero"`
}

// DevClusterSpec is a DockerClusterSpec as DevCluster has it.
type DevClusterSpec struct {
	ControlPlaneEndpoint APIEndpoint       `json:"controlPlaneEndpoint,omitzero"`
	Backend              DevClusterBackend `json:"backend"`
}

// DevClusterBackend chooses the backend of a DevCluster.
type DevClusterBackend struct {
	Docker   *Shared         `json:"docker,omitempty"`
	InMemory json.RawMessage `json:"inMemory,omitempty"` // of another provider
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
	// Disable is a field of older versions of Cluster API.
	Disable                        bool            `json:"disable,omitempty"`
	ImageRepository                string          `json:"imageRepository,omitempty"`
	ImageTag                       string          `json:"imageTag,omitempty"`
	CustomHAProxyConfigTemplateRef json.RawMessage `json:"customHAProxyConfigTemplateRef,omitempty"`
}

// OldDockerClusterSpec is DockerClusterSpec as v1beta1 has it.
type OldDockerClusterSpec struct {
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`

	OldShared `json:",inline"`
}

// OldShared is Shared as v1beta1 has it.
type OldShared struct {
	FailureDomains map[string]OldFailureDomain `json:"failureDomains,omitempty"`
	LoadBalancer   LoadBalancer                `json:"loadBalancer,omitzero"`
}

// OldDevClusterSpec is DevClusterSpec as v1beta1 has it.
type OldDevClusterSpec struct {
	ControlPlaneEndpoint APIEndpoint          `json:"controlPlaneEndpoint,omitzero"`
	Backend              OldDevClusterBackend `json:"backend"`
}

// OldDevClusterBackend is DevClusterBackend as v1beta1 has it.
type OldDevClusterBackend struct {
	Docker   *OldShared      `json:"docker,omitempty"`
	InMemory json.RawMessage `json:"inMemory,omitempty"`
}

// OldFailureDomain is a FailureDomain as v1beta1 has it.
type OldFailureDomain struct {
	ControlPlane *bool             `json:"controlPlane,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
}

// DockerMachineSpec is the spec of a machine.
type DockerMachineSpec struct {
	Container `json:",inline"`

	// These are refused, or of controllers.
	ProviderID   string `json:"providerID,omitempty"`
	Bootstrapped bool   `json:"bootstrapped,omitempty"`
}

// Container is what the container of a machine is made from, as a DockerMachine, and backend.docker of a
// DevMachine, say it.
type Container struct {
	PoolContainer `json:",inline"`

	// BootstrapTimeout is the time limit of the user data, after which the machine failed.
	BootstrapTimeout *metav1.Duration `json:"bootstrapTimeout,omitempty"`
}

// PoolContainer is a Container as template of a DockerMachinePool, and backend.docker of a DevMachinePool, say it.
type PoolContainer struct {
	// CustomImage is the node image. The default is kindest/node with the version of the pool as tag.
	CustomImage string `json:"customImage,omitempty"`
	// PreLoadImages are images of the host that the machine has when it boots.
	PreLoadImages []string `json:"preLoadImages,omitempty"`
	// ExtraMounts are folders and files of the host that the machine has.
	ExtraMounts []Mount `json:"extraMounts,omitempty"`
}

// DockerMachinePoolSpec is what the machines of a pool are made from.
type DockerMachinePoolSpec struct {
	Template PoolContainer `json:"template,omitzero"`

	PoolIDs `json:",inline"`
}

// DevMachinePoolSpec is a DockerMachinePoolSpec as DevMachinePool has it.
type DevMachinePoolSpec struct {
	Backend DevMachinePoolBackend `json:"backend"`

	PoolIDs `json:",inline"`
}

// DevMachinePoolBackend chooses the backend of a DevMachinePool.
type DevMachinePoolBackend struct {
	Docker   *PoolContainer  `json:"docker,omitempty"`
	InMemory json.RawMessage `json:"inMemory,omitempty"` // of another provider
}

// PoolIDs are what controllers write into the spec of a pool.
type PoolIDs struct {
	ProviderID     string   `json:"providerID,omitempty"`
	ProviderIDList []string `json:"providerIDList,omitempty"`
}

// DevMachineSpec is a DockerMachineSpec as DevMachine has it.
type DevMachineSpec struct {
	ProviderID string            `json:"providerID,omitempty"`
	Backend    DevMachineBackend `json:"backend"`
}

// DevMachineBackend chooses the backend of a DevMachine.
type DevMachineBackend struct {
	Docker   *Container      `json:"docker,omitempty"`
	InMemory json.RawMessage `json:"inMemory,omitempty"` // of another provider
}

// Mount is a path of the host that a machine has.
type Mount struct {
	ContainerPath string `json:"containerPath,omitempty"`
	HostPath      string `json:"hostPath,omitempty"`
	ReadOnly      bool   `json:"readOnly,omitempty"`
}
