package api

import "fairlead.dev/providers/driver/endpoint"

// MaasClusterSpec is what the machines of a cluster share: the endpoint of its API servers.
type MaasClusterSpec struct {
	// DNSDomain is a domain of MAAS. If ControlPlaneEndpoint has no host, the endpoint is a name in it.
	DNSDomain string `json:"dnsDomain,omitempty"`
	// ControlPlaneEndpoint has the host of an endpoint that exists, or that VirtualIP serves. A name in
	// DNSDomain is served by MAAS.
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
	// FailureDomains are names of zones of MAAS; empty: all of them.
	FailureDomains []string `json:"failureDomains,omitempty"`
	// LXDConfig is for VM hosts, which are refused.
	LXDConfig *LXDConfig `json:"lxdConfig,omitempty"`

	// VirtualIP makes the control plane announce the endpoint by kube-vip. Fairlead adds it to the user
	// data of servers, unless their files or commands contain kube-vip or keepalived. It is Fairlead's own field.
	VirtualIP *endpoint.VirtualIP `json:"virtualIP,omitempty"`
}

// APIEndpoint is host and port of an API server; the default port is 6443.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// LXDConfig configures the hosts of LXD VMs.
type LXDConfig struct {
	Enabled           *bool  `json:"enabled,omitempty"`
	NetworkBridge     string `json:"networkBridge,omitempty"`
	NICParent         string `json:"nicParent,omitempty"`
	NICType           string `json:"nicType,omitempty"`
	ResourcePool      string `json:"resourcePool,omitempty"`
	SkipNetworkUpdate *bool  `json:"skipNetworkUpdate,omitempty"`
	StorageBackend    string `json:"storageBackend,omitempty"`
	StorageSize       string `json:"storageSize,omitempty"`
	Zone              string `json:"zone,omitempty"`
}

// MaasMachineSpec is what a machine requires of its host, and what is deployed there.
type MaasMachineSpec struct {
	// Image is the name of a boot resource, "custom/u-2404-0-k-1341-0" or "ubuntu/noble". A name without
	// a slash is that of a custom image.
	Image string `json:"image"`
	// MinCPU and MinMemoryInMB (MiB) are the least that a host must have.
	MinCPU        *int64 `json:"minCPU,omitempty"`
	MinMemoryInMB *int64 `json:"minMemory,omitempty"`
	// MinDiskSizeInGB is the smallest size of the boot disk.
	MinDiskSizeInGB *int64 `json:"minDiskSize,omitempty"`
	// ResourcePool is the pool of MAAS that hosts are in; empty: any.
	ResourcePool string `json:"resourcePool,omitempty"`
	// Tags are those that a host must have, all of them.
	Tags []string `json:"tags,omitempty"`
	// FailureDomain is the zone of hosts if the pool of machines is not spread over several.
	FailureDomain string `json:"failureDomain,omitempty"`
	// DeployInMemory makes the machine run in memory: its disks stay unused.
	DeployInMemory *bool `json:"deployInMemory,omitempty"`

	// These are of controllers, or of VM hosts, and refused.
	ProviderID string `json:"providerID,omitempty"`
	SystemID   string `json:"systemID,omitempty"`
	Parent     string `json:"parent,omitempty"`
	LXD        *LXD   `json:"lxd,omitempty"`

	// EraseDisks says how MAAS erases the disks of a host when its machine is deleted. A change
	// replaces no machine. It is Fairlead's own field.
	EraseDisks Erasure `json:"eraseDisks,omitempty"`
}

// LXD makes a machine a VM on a VM host.
type LXD struct {
	Enabled  *bool     `json:"enabled,omitempty"`
	VMConfig *VMConfig `json:"vmConfig,omitempty"`
}

// VMConfig configures such a VM.
type VMConfig struct {
	AutoStart          *bool             `json:"autoStart,omitempty"`
	DiskSize           *int64            `json:"diskSize,omitempty"`
	InterfaceLinkModes map[string]string `json:"interfaceLinkModes,omitempty"`
	Network            string            `json:"network,omitempty"`
	StoragePool        string            `json:"storagePool,omitempty"`
}

// An Erasure says how the disks of a released host are erased.
type Erasure string

// The erasures.
const (
	EraseQuick  Erasure = "Quick"  // the beginning and the end of each disk; the default
	EraseSecure Erasure = "Secure" // by the disks themselves if they can, otherwise quickly
	EraseFull   Erasure = "Full"   // every byte
	EraseNever  Erasure = "Never"  // data of etcd and Ceph stays for the next machine of the host
)

// MAASSecret is the Secret, in the namespace of the cluster, with address and account of its MAAS.
// CAPMAAS has no field for it: its controller is configured with one MAAS.
const MAASSecret = "maas"

// The keys of MAASSecret, as CAPMAAS names them, and the CA.
const (
	EndpointKey = "MAAS_ENDPOINT" // "https://maas.example.com:5443/MAAS"
	APIKeyKey   = "MAAS_API_KEY"  // of three parts
	CAKey       = "ca.crt"        // certificates in PEM; default: those of the system
)
