package api

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// OpenStackClusterSpec is what the machines of a cluster share. Where it names a
// network that exists, Fairlead makes none; what it does not name is made where
// ManagedSubnets says so.
type OpenStackClusterSpec struct {
	// ManagedSubnets are made, in a network and behind a router that are made
	// with them. At most one.
	ManagedSubnets []SubnetSpec `json:"managedSubnets,omitempty"`
	// Subnets exist, in Network; none means all of them.
	Subnets []SubnetParam `json:"subnets,omitempty"`
	// PrimarySubnet is the one of Subnets that the load balancer and its members
	// are on; without it the first.
	PrimarySubnet  *SubnetParam    `json:"primarySubnet,omitempty"`
	ManagedRouter  *ManagedRouter  `json:"managedRouter,omitempty"`
	Router         *RouterParam    `json:"router,omitempty"` // exists; ManagedSubnets are connected to it
	ManagedNetwork *ManagedNetwork `json:"managedNetwork,omitempty"`
	Network        *NetworkParam   `json:"network,omitempty"` // exists
	// ExternalNetwork is where routers and floating IPs are. Without it the only
	// external network is taken; none is as good as EnableExternalNetwork false.
	ExternalNetwork       *NetworkParam `json:"externalNetwork,omitempty"`
	EnableExternalNetwork *bool         `json:"enableExternalNetwork,omitempty"` // default true

	APIServer *APIServer `json:"apiServer,omitempty"`
	// ManagedSecurityGroups are made where it is not nil, if it is empty too.
	ManagedSecurityGroups *ManagedSecurityGroups `json:"managedSecurityGroups,omitempty"`
	// Tags are set on everything that is made for the cluster.
	Tags                 []string               `json:"tags,omitempty"`
	ControlPlaneEndpoint *clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	// ControlPlaneAvailabilityZones may have control-plane machines; none means
	// all availability zones of Nova.
	ControlPlaneAvailabilityZones []string `json:"controlPlaneAvailabilityZones,omitempty"`
	// ControlPlaneOmitAvailabilityZone leaves the zone to Nova's scheduler.
	ControlPlaneOmitAvailabilityZone *bool    `json:"controlPlaneOmitAvailabilityZone,omitempty"`
	Bastion                          *Bastion `json:"bastion,omitempty"`
	// IdentityRef is also that of the machines that have none.
	IdentityRef OpenStackIdentityReference `json:"identityRef,omitzero"`
}

// A SubnetSpec is a subnet to make.
type SubnetSpec struct {
	CIDR            string           `json:"cidr,omitempty"`
	DNSNameservers  []string         `json:"dnsNameservers,omitempty"`
	AllocationPools []AllocationPool `json:"allocationPools,omitempty"`
}

// An AllocationPool is a range of addresses that Neutron gives out, both ends
// included.
type AllocationPool struct {
	Start string `json:"start,omitempty"`
	End   string `json:"end,omitempty"`
}

// ManagedRouter says how the router that is made looks.
type ManagedRouter struct {
	ExternalIPs []ExternalRouterIPParam `json:"externalIPs,omitempty"`
}

// An ExternalRouterIPParam is an address of a router in a subnet of the external
// network.
type ExternalRouterIPParam struct {
	FixedIP string      `json:"fixedIP,omitempty"` // empty: Neutron chooses
	Subnet  SubnetParam `json:"subnet,omitzero"`
}

// ManagedNetwork says how the network that is made looks.
type ManagedNetwork struct {
	MTU                *int32 `json:"mtu,omitempty"`
	EnablePortSecurity *bool  `json:"enablePortSecurity,omitempty"` // nil: as Neutron has it
}

// APIServer says where the API server answers.
type APIServer struct {
	// Port of the endpoint; without it that of the Cluster, or 6443.
	Port *uint16 `json:"port,omitempty"`
	// FixedIP is the address of the load balancer, or without load balancer and
	// floating IP an address that somebody else serves.
	FixedIP *string `json:"fixedIP,omitempty"`
	// FloatingIP to use: one that exists stays when the cluster goes. Without it
	// one is made.
	FloatingIP *string `json:"floatingIP,omitempty"`
	// EnableFloatingIP is true by default.
	EnableFloatingIP    *bool                  `json:"enableFloatingIP,omitempty"`
	ManagedLoadBalancer *APIServerLoadBalancer `json:"managedLoadBalancer,omitempty"`
}

// APIServerLoadBalancer is a load balancer of Octavia for the API server.
type APIServerLoadBalancer struct {
	Enabled         *bool    `json:"enabled,omitempty"` // default true
	AdditionalPorts []int32  `json:"additionalPorts,omitempty"`
	AllowedCIDRs    []string `json:"allowedCIDRs,omitempty"` // none means all
	Provider        *string  `json:"provider,omitempty"`
	// Network that it is on; without it that of the cluster.
	Network *NetworkParam `json:"network,omitempty"`
	// Subnets of Network; the first one counts.
	Subnets          []SubnetParam                 `json:"subnets,omitempty"`
	AvailabilityZone *string                       `json:"availabilityZone,omitempty"`
	Flavor           *string                       `json:"flavor,omitempty"` // name
	Monitor          *APIServerLoadBalancerMonitor `json:"monitor,omitempty"`
}

// IsEnabled reports whether there is to be a load balancer.
func (s *APIServerLoadBalancer) IsEnabled() bool {
	return s != nil && (s.Enabled == nil || *s.Enabled)
}

// APIServerLoadBalancerMonitor says how a load balancer probes its members.
type APIServerLoadBalancerMonitor struct {
	Delay          int32 `json:"delay,omitempty"`          // seconds between probes; default 10
	Timeout        int32 `json:"timeout,omitempty"`        // seconds; default 5
	MaxRetries     int32 `json:"maxRetries,omitempty"`     // successes until a member is ONLINE; default 5
	MaxRetriesDown int32 `json:"maxRetriesDown,omitempty"` // failures until it is ERROR; default 3
}

// ManagedSecurityGroups are the security groups of control plane, workers and
// bastion, with these rules besides those that Kubernetes needs.
type ManagedSecurityGroups struct {
	ClusterNodesSecurityGroupRules      []SecurityGroupRuleSpec `json:"clusterNodesSecurityGroupRules,omitempty"`
	ControlPlaneNodesSecurityGroupRules []SecurityGroupRuleSpec `json:"controlPlaneNodesSecurityGroupRules,omitempty"`
	WorkerNodesSecurityGroupRules       []SecurityGroupRuleSpec `json:"workerNodesSecurityGroupRules,omitempty"`
	// AllowAllInClusterTraffic lets all nodes of the cluster reach each other.
	AllowAllInClusterTraffic bool `json:"allowAllInClusterTraffic,omitempty"`
}

// A SecurityGroupRuleSpec is a rule of a security group. At most one of the
// remotes is set; none means everywhere.
type SecurityGroupRuleSpec struct {
	Name                string                     `json:"name,omitempty"` // for people and patches, unique in its list
	Description         *string                    `json:"description,omitempty"`
	Direction           string                     `json:"direction,omitempty"` // ingress or egress
	EtherType           *string                    `json:"etherType,omitempty"` // IPv4 or IPv6
	PortRangeMin        *int32                     `json:"portRangeMin,omitempty"`
	PortRangeMax        *int32                     `json:"portRangeMax,omitempty"`
	Protocol            *string                    `json:"protocol,omitempty"`
	RemoteGroupID       *string                    `json:"remoteGroupID,omitempty"`
	RemoteIPPrefix      *string                    `json:"remoteIPPrefix,omitempty"`
	RemoteManagedGroups []ManagedSecurityGroupName `json:"remoteManagedGroups,omitempty"`
}

// A ManagedSecurityGroupName names one of the managed security groups.
type ManagedSecurityGroupName string

// The managed security groups.
const (
	SecurityGroupBastion      ManagedSecurityGroupName = "bastion"
	SecurityGroupControlPlane ManagedSecurityGroupName = "controlplane"
	SecurityGroupWorker       ManagedSecurityGroupName = "worker"
)

// A Bastion is a server that people reach the machines through.
type Bastion struct {
	Enabled          *bool                 `json:"enabled,omitempty"` // default true
	Spec             *OpenStackMachineSpec `json:"spec,omitempty"`
	AvailabilityZone *string               `json:"availabilityZone,omitempty"`
	// FloatingIP to use: one that exists stays when the bastion goes. Without it
	// one is made.
	FloatingIP *string `json:"floatingIP,omitempty"`
}

// IsEnabled reports whether there is to be a bastion.
func (b *Bastion) IsEnabled() bool {
	return b != nil && (b.Enabled == nil || *b.Enabled)
}
