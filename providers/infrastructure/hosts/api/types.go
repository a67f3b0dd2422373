package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/providers/driver/endpoint"
)

// HostClusterSpec is what the machines of a cluster share: the address of its API
// servers.
type HostClusterSpec struct {
	// ControlPlaneEndpoint is where the API servers answer: a virtual IP that the
	// control plane itself announces (kube-vip, keepalived), a load balancer in
	// front of it, or the address of the only control-plane host. Where there is a
	// LoadBalancer, its host may be left out: it is the address of that one.
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
	// LoadBalancer keeps one in front of the control plane, on a host of its own.
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// VirtualIP has the control plane announce the endpoint, an address that none of the
	// hosts has, by kube-vip, which Fairlead adds to what its machines boot with. Nothing is
	// added where files or commands of the control plane bring kube-vip or keepalived.
	VirtualIP *endpoint.VirtualIP `json:"virtualIP,omitempty"`
}

// LoadBalancer is HAProxy on a host that has nothing else to do. Git names the host,
// since its address is in every kubeconfig and certificate of the cluster.
type LoadBalancer struct {
	PoolName string `json:"poolName"`
	HostName string `json:"hostName"`
}

// APIEndpoint is host and port of an API server; the port is 6443 by default.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// HostMachineSpec is what a machine asks of its host. Of the hosts that fit, the
// first free one in the order of Git is taken.
type HostMachineSpec struct {
	ProviderID string `json:"providerID,omitempty"`
	// PoolName is the HostPool to take hosts of; empty: any of the namespace.
	PoolName string `json:"poolName,omitempty"`
	// HostSelector selects hosts by their labels; nil selects all.
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`
	// MinCPUs and MinMemory ("16Gi") are the least that a host must have.
	MinCPUs   int    `json:"minCPUs,omitempty"`
	MinMemory string `json:"minMemory,omitempty"`
	// Bootstrap says what runs the user data; see BootstrapMode.
	Bootstrap BootstrapMode `json:"bootstrap,omitempty"`
}

// A BootstrapMode says what runs user data on a host.
type BootstrapMode string

// The modes.
const (
	BootstrapAuto      BootstrapMode = "Auto"      // cloud-init where the host has it, else Script
	BootstrapCloudInit BootstrapMode = "CloudInit" // the host's cloud-init; hosts without it are not taken
	BootstrapScript    BootstrapMode = "Script"    // a shell script that Fairlead creates from the user data
)

// HostPoolSpec is a group of hosts that are reached alike. The hosts of a pool keep
// notes about each other: a pool of three tells of a dead host what it carried.
type HostPoolSpec struct {
	// SSH is how its hosts are reached.
	SSH SSH `json:"ssh"`
	// RebootOnRelease has a host restart when its machine was released and all that it
	// left was removed: what is in memory and in the kernel (routes, programs of eBPF)
	// goes with that alone. Default: true.
	RebootOnRelease *bool `json:"rebootOnRelease,omitempty"`
	// Hosts of the pool; Host objects that name the pool come after them.
	Hosts []PoolHost `json:"hosts,omitempty"`
}

// A PoolHost is a host in its pool.
type PoolHost struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`

	HostDetails `json:",inline"`
}

// HostSpec is a host in an object of its own, of the same fields as in the list of a
// HostPool. Its labels are those of its metadata.
type HostSpec struct {
	PoolName string `json:"poolName"`

	HostDetails `json:",inline"`
}

// HostDetails are what Git says of a host besides its name.
type HostDetails struct {
	// Address is an IP address or a DNS name.
	Address string `json:"address"`
	// SSH has the differences of this host. Missing fields are as in the pool.
	SSH *SSH `json:"ssh,omitempty"`
	// FailureDomain is the rack, room or power feed that the host shares with others.
	FailureDomain string `json:"failureDomain,omitempty"`
	// Unschedulable keeps new machines away; the one that is there stays.
	Unschedulable bool `json:"unschedulable,omitempty"`
	// Lost states that the host is permanently gone or switched off, and that nothing
	// runs on it: its machine counts as deleted. It is not talked to any more.
	Lost bool `json:"lost,omitempty"`
}

// SSH is how a host is reached.
type SSH struct {
	User string `json:"user,omitempty"` // default "root"
	Port int32  `json:"port,omitempty"` // default 22
	// Sudo has commands run with sudo, which must not ask for a password. Default:
	// true for every user but root.
	Sudo *bool `json:"sudo,omitempty"`
	// IdentityRef names a Secret with the keys ssh-privatekey (and passphrase, where
	// it is encrypted) or password, and perhaps known_hosts.
	IdentityRef *IdentityReference `json:"identityRef,omitempty"`
	// Agent uses the keys of the SSH agent that runs beside Fairlead.
	Agent bool `json:"agent,omitempty"`
	// KnownHosts are lines of a known_hosts file: the public keys of the hosts, or of
	// an authority that signs them. It is needed, here or in the Secret.
	KnownHosts string `json:"knownHosts,omitempty"`
	// Bastion is a host that leads to the others.
	Bastion *Bastion `json:"bastion,omitempty"`
}

// A Bastion is an SSH server that connections go through (ssh -J). It only
// forwards: nothing is run on it. What it leaves out of identity and known hosts is
// as for the hosts behind it.
type Bastion struct {
	Address     string             `json:"address"`
	Port        int32              `json:"port,omitempty"` // default 22
	User        string             `json:"user,omitempty"` // default: that of the host
	IdentityRef *IdentityReference `json:"identityRef,omitempty"`
	Agent       bool               `json:"agent,omitempty"`
	KnownHosts  string             `json:"knownHosts,omitempty"`
}

// IdentityReference names a Secret in the namespace of the object.
type IdentityReference struct {
	Name string `json:"name"`
}
