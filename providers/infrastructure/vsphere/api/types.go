package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/endpoint"
)

// VSphereClusterSpec is what the machines of a cluster share: a vCenter and the address of its
// API servers.
type VSphereClusterSpec struct {
	// Server is the vCenter, as host or host:port.
	Server string `json:"server,omitempty"`
	// Thumbprint is that of Server's certificate, SHA-1 or SHA-256, in capitals with
	// colons. Empty: the certificate is checked as any other, if at all.
	Thumbprint           string      `json:"thumbprint,omitempty"`
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
	// IdentityRef is with which account Server is asked.
	IdentityRef VSphereIdentityReference `json:"identityRef,omitzero"`
	// ClusterModules are written back by controllers; nothing reads them here.
	ClusterModules []ClusterModule `json:"clusterModules,omitempty"`
	// DisableClusterModule has no anti-affinity asked for the machines of one pool.
	DisableClusterModule *bool `json:"disableClusterModule,omitempty"`
	// FailureDomainSelector selects VSphereDeploymentZones by their labels: nil selects
	// none, an empty one all.
	FailureDomainSelector *metav1.LabelSelector `json:"failureDomainSelector,omitempty"`

	// VirtualIP has the control plane announce the endpoint by kube-vip, which Fairlead
	// adds to what its machines boot with. Nothing is added where files or commands of the
	// control plane bring kube-vip or keepalived. It is a field of Fairlead's own.
	VirtualIP *VirtualIP `json:"virtualIP,omitempty"`
}

// A VirtualIP says how the servers of a cluster serve its endpoint.
type VirtualIP struct {
	endpoint.VirtualIP `json:",inline"`
	// AddressFromPool is the pool that the endpoint gets its address from, where Git names no
	// host. The address is chosen before the first machine is made, and stays.
	AddressFromPool *addresses.Ref `json:"addressFromPool,omitempty"`
}

// Announced returns what serves the endpoint; nil: something of others.
func (v *VirtualIP) Announced() *endpoint.VirtualIP {
	if v == nil {
		return nil
	}
	return &v.VirtualIP
}

// EndpointPool returns the pool that the endpoint has its address from; nil: from none.
func (s *VSphereClusterSpec) EndpointPool() *addresses.Ref {
	if s.VirtualIP == nil || s.ControlPlaneEndpoint.Host != "" {
		return nil
	}
	return s.VirtualIP.AddressFromPool
}

// APIEndpoint is host and port of an API server; the port is 6443 by default.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// A ClusterModule is one of vCenter's that a controller made.
type ClusterModule struct {
	ControlPlane     *bool  `json:"controlPlane,omitempty"`
	TargetObjectName string `json:"targetObjectName,omitempty"`
	ModuleUUID       string `json:"moduleUUID,omitempty"`
}

// A VSphereIdentityKind is the kind of what holds an account.
type VSphereIdentityKind string

// The kinds.
const (
	IdentitySecret          VSphereIdentityKind = "Secret" // in the namespace of the cluster
	IdentityClusterIdentity VSphereIdentityKind = "VSphereClusterIdentity"
)

// A VSphereIdentityReference names what holds an account of vCenter.
type VSphereIdentityReference struct {
	Kind VSphereIdentityKind `json:"kind,omitempty"`
	Name string              `json:"name,omitempty"`
}

// VSphereClusterIdentitySpec lets clusters of several namespaces use one account. A
// VSphereClusterIdentity has no namespace itself.
type VSphereClusterIdentitySpec struct {
	// SecretName is a Secret with the keys username and password in the namespace
	// IdentityNamespace.
	SecretName string `json:"secretName,omitempty"`
	// AllowedNamespaces may use it; nil allows none.
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// AllowedNamespaces selects namespaces by their labels; an empty selector selects all.
type AllowedNamespaces struct {
	Selector metav1.LabelSelector `json:"selector,omitzero"`
}

// The keys of a Secret with an account.
const (
	UsernameKey = "username"
	PasswordKey = "password"
)

// IdentityNamespace is where the Secrets of VSphereClusterIdentities are. Cluster API takes
// that of the controller, which is capv-system where clusterctl installed it.
const IdentityNamespace = "capv-system"
