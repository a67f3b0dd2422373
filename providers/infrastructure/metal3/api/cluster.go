package api

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/providers/driver/endpoint"
)

// Metal3ClusterSpec is what the machines of a cluster share: the address of its API servers.
type Metal3ClusterSpec struct {
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
	// CloudProviderEnabled says that something in the cluster gives Nodes their providerID;
	// default false.
	CloudProviderEnabled *bool `json:"cloudProviderEnabled,omitempty"`
	// FailureDomains are what machines may be spread over: a host says which one it is in
	// with the label [FailureDomainLabel].
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// VirtualIP has the control plane announce the endpoint by kube-vip, which Fairlead
	// adds to what its machines boot with. Nothing is added where files or commands of the
	// control plane bring kube-vip or keepalived. It is a field of Fairlead's own.
	VirtualIP *endpoint.VirtualIP `json:"virtualIP,omitempty"`
}

// APIEndpoint is host and port of an API server; the port is 6443 by default.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// FailureDomainLabel is the label of a BareMetalHost that says which failure domain it is in.
// Source: CAPM3, baremetal/metal3machine_manager.go.
const FailureDomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

// IronicSecret is the Secret, in the namespace of the cluster and its hosts, that says where
// their Ironic is. Metal3 has no field for it: its controllers are set up with one Ironic.
const IronicSecret = "ironic"

// The keys of IronicSecret.
const (
	EndpointKey = "endpoint" // "https://ironic.example.com:6385"
	CAKey       = "ca.crt"   // certificates, in PEM; without it those of the system
)

// The keys of a Secret with an account, of an Ironic or of a BMC.
const (
	UsernameKey = "username"
	PasswordKey = "password"
)

// Keys of IronicSecret that say what ramdisk hosts start from, as URLs; without them Ironic
// has to be set up with one. An ISO is for hosts that boot by virtual media.
const (
	DeployISOKey     = "deployISO"
	DeployKernelKey  = "deployKernel"
	DeployRamdiskKey = "deployRamdisk"
)
