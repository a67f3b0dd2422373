package api

// A NetworkSpec is the network of a cluster, and the load balancer of its API servers.
type NetworkSpec struct {
	AdditionalAPIServerLBPorts  []LoadBalancerPort `json:"additionalAPIServerLBPorts,omitempty"`
	APIServerLB                 *LoadBalancer      `json:"apiServerLB,omitempty"`
	ControlPlaneOutboundLB      *LoadBalancer      `json:"controlPlaneOutboundLB,omitempty"`
	NodeOutboundLB              *LoadBalancer      `json:"nodeOutboundLB,omitempty"`
	PrivateDNSZone              string             `json:"privateDNSZone,omitempty"`
	PrivateDNSZoneName          string             `json:"privateDNSZoneName,omitempty"`
	PrivateDNSZoneResourceGroup string             `json:"privateDNSZoneResourceGroup,omitempty"`
	Subnets                     []Subnet           `json:"subnets,omitempty"`
	VNet                        VNet               `json:"vnet,omitzero"`
}

// A LoadBalancerPort is a port to which the load balancer leads besides that of the API server.
type LoadBalancerPort struct {
	Name string `json:"name,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// The types of load balancers.
const (
	Public   = "Public"
	Internal = "Internal"
)

// A LoadBalancer leads to the API servers, or machines reach the internet through it.
type LoadBalancer struct {
	AvailabilityZones    []string     `json:"availabilityZones,omitempty"`
	BackendPool          *BackendPool `json:"backendPool,omitempty"`
	FrontendIPs          []FrontendIP `json:"frontendIPs,omitempty"`
	FrontendIPsCount     *int32       `json:"frontendIPsCount,omitempty"`
	ID                   string       `json:"id,omitempty"`
	IdleTimeoutInMinutes *int32       `json:"idleTimeoutInMinutes,omitempty"`
	Name                 string       `json:"name,omitempty"`
	SKU                  string       `json:"sku,omitempty"`
	Type                 string       `json:"type,omitempty"`
}

// A BackendPool is what a load balancer leads to.
type BackendPool struct {
	Name string `json:"name,omitempty"`
}

// A FrontendIP is an address of a load balancer.
type FrontendIP struct {
	Name      string    `json:"name,omitempty"`
	PrivateIP string    `json:"privateIP,omitempty"`
	PublicIP  *PublicIP `json:"publicIP,omitempty"`
}

// A PublicIP is a public address.
type PublicIP struct {
	DNSName string  `json:"dnsName,omitempty"`
	IPTags  []IPTag `json:"ipTags,omitempty"`
	Name    string  `json:"name,omitempty"`
}

// An IPTag is a tag of a public address.
type IPTag struct {
	Tag  string `json:"tag,omitempty"`
	Type string `json:"type,omitempty"`
}

// A VNet is a virtual network. One that exists without the tags of the cluster is a given one, of which nothing is
// changed.
type VNet struct {
	CIDRBlocks    []string          `json:"cidrBlocks,omitempty"`
	ID            string            `json:"id,omitempty"`
	Name          string            `json:"name,omitempty"`
	Peerings      []Peering         `json:"peerings,omitempty"`
	ResourceGroup string            `json:"resourceGroup,omitempty"`
	Tags          map[string]string `json:"tags,omitempty"`
}

// A Peering connects the VNet with another one.
type Peering struct {
	ForwardPeeringProperties *PeeringProperties `json:"forwardPeeringProperties,omitempty"`
	RemoteVnetName           string             `json:"remoteVnetName,omitempty"`
	ResourceGroup            string             `json:"resourceGroup,omitempty"`
	ReversePeeringProperties *PeeringProperties `json:"reversePeeringProperties,omitempty"`
}

// PeeringProperties say what passes.
type PeeringProperties struct {
	AllowForwardedTraffic     *bool `json:"allowForwardedTraffic,omitempty"`
	AllowGatewayTransit       *bool `json:"allowGatewayTransit,omitempty"`
	AllowVirtualNetworkAccess *bool `json:"allowVirtualNetworkAccess,omitempty"`
	UseRemoteGateways         *bool `json:"useRemoteGateways,omitempty"`
}

// The roles of subnets.
const (
	ControlPlaneSubnet = "control-plane"
	NodeSubnet         = "node"
	ClusterSubnet      = "cluster" // of both
	BastionSubnet      = "bastion" // of bastionSpec alone
)

// BastionSubnetName is what Azure has the subnet of a bastion be called.
const BastionSubnetName = "AzureBastionSubnet"

// A Subnet is one of the VNet.
type Subnet struct {
	CIDRBlocks       []string          `json:"cidrBlocks,omitempty"`
	ID               string            `json:"id,omitempty"`
	Name             string            `json:"name,omitempty"`
	NATGateway       *NATGateway       `json:"natGateway,omitempty"`
	PrivateEndpoints []PrivateEndpoint `json:"privateEndpoints,omitempty"`
	Role             string            `json:"role,omitempty"`
	RouteTable       *RouteTable       `json:"routeTable,omitempty"`
	SecurityGroup    *SecurityGroup    `json:"securityGroup,omitempty"`
	ServiceEndpoints []ServiceEndpoint `json:"serviceEndpoints,omitempty"`
}

// A NATGateway is how machines reach the internet.
type NATGateway struct {
	ID    string    `json:"id,omitempty"`
	IP    *PublicIP `json:"ip,omitempty"`
	Name  string    `json:"name,omitempty"`
	Zones []string  `json:"zones,omitempty"`
}

// A RouteTable has routes of a subnet.
type RouteTable struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// A SecurityGroup is a network security group.
type SecurityGroup struct {
	ID            string            `json:"id,omitempty"`
	Name          string            `json:"name,omitempty"`
	SecurityRules []SecurityRule    `json:"securityRules,omitempty"`
	Tags          map[string]string `json:"tags,omitempty"`
}

// A SecurityRule says what may pass. Rules that are set are in the place of Fairlead's own.
type SecurityRule struct {
	Action           string   `json:"action,omitempty"`
	Description      string   `json:"description,omitempty"`
	Destination      string   `json:"destination,omitempty"`
	DestinationPorts string   `json:"destinationPorts,omitempty"`
	Direction        string   `json:"direction,omitempty"`
	Name             string   `json:"name,omitempty"`
	Priority         int32    `json:"priority,omitempty"`
	Protocol         string   `json:"protocol,omitempty"`
	Source           string   `json:"source,omitempty"`
	SourcePorts      string   `json:"sourcePorts,omitempty"`
	Sources          []string `json:"sources,omitempty"`
}

// A ServiceEndpoint leads from a subnet to a service of Azure.
type ServiceEndpoint struct {
	Locations []string `json:"locations,omitempty"`
	Service   string   `json:"service,omitempty"`
}

// A PrivateEndpoint is an address of a service in a subnet.
type PrivateEndpoint struct {
	ApplicationSecurityGroups     []string                `json:"applicationSecurityGroups,omitempty"`
	CustomNetworkInterfaceName    string                  `json:"customNetworkInterfaceName,omitempty"`
	Location                      string                  `json:"location,omitempty"`
	ManualApproval                *bool                   `json:"manualApproval,omitempty"`
	Name                          string                  `json:"name,omitempty"`
	PrivateIPAddresses            []string                `json:"privateIPAddresses,omitempty"`
	PrivateLinkServiceConnections []PrivateLinkConnection `json:"privateLinkServiceConnections,omitempty"`
}

// A PrivateLinkConnection names the service.
type PrivateLinkConnection struct {
	GroupIDs             []string `json:"groupIDs,omitempty"`
	Name                 string   `json:"name,omitempty"`
	PrivateLinkServiceID string   `json:"privateLinkServiceID,omitempty"`
	RequestMessage       string   `json:"requestMessage,omitempty"`
}
