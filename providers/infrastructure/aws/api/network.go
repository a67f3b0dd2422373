package api

// A Network is the network of a cluster.
type Network struct {
	AdditionalControlPlaneIngressRules []IngressRule     `json:"additionalControlPlaneIngressRules,omitempty"`
	AdditionalNodeIngressRules         []IngressRule     `json:"additionalNodeIngressRules,omitempty"`
	CNI                                *CNI              `json:"cni,omitempty"`
	NodePortIngressRuleCIDRBlocks      []string          `json:"nodePortIngressRuleCidrBlocks,omitempty"`
	SecurityGroupOverrides             map[string]string `json:"securityGroupOverrides,omitempty"`
	Subnets                            []Subnet          `json:"subnets,omitempty"`
	VPC                                *VPC              `json:"vpc,omitempty"`
}

// A VPC is the network of a cluster: a given one where it has an id.
type VPC struct {
	AvailabilityZoneSelection          string            `json:"availabilityZoneSelection,omitempty"`
	AvailabilityZoneUsageLimit         *int64            `json:"availabilityZoneUsageLimit,omitempty"`
	CarrierGatewayID                   string            `json:"carrierGatewayId,omitempty"`
	CIDRBlock                          string            `json:"cidrBlock,omitempty"`
	ElasticIPPool                      *ElasticIPPool    `json:"elasticIpPool,omitempty"`
	EmptyRoutesDefaultVPCSecurityGroup bool              `json:"emptyRoutesDefaultVPCSecurityGroup,omitempty"`
	ID                                 string            `json:"id,omitempty"`
	InternetGatewayID                  string            `json:"internetGatewayId,omitempty"`
	IPAMPool                           *IPAMPool         `json:"ipamPool,omitempty"`
	IPv6                               *IPv6             `json:"ipv6,omitempty"`
	PrivateDNSHostnameTypeOnLaunch     string            `json:"privateDnsHostnameTypeOnLaunch,omitempty"`
	SecondaryCIDRBlocks                []VPCCIDRBlock    `json:"secondaryCidrBlocks,omitempty"`
	SubnetSchema                       string            `json:"subnetSchema,omitempty"`
	Tags                               map[string]string `json:"tags,omitempty"`
}

// A VPCCIDRBlock is a further range of a VPC.
type VPCCIDRBlock struct {
	IPv4CIDRBlock string `json:"ipv4CidrBlock"`
}

// IPv6 says how a VPC has IPv6.
type IPv6 struct {
	CIDRBlock                   string    `json:"cidrBlock,omitempty"`
	EgressOnlyInternetGatewayID string    `json:"egressOnlyInternetGatewayId,omitempty"`
	IPAMPool                    *IPAMPool `json:"ipamPool,omitempty"`
	PoolID                      string    `json:"poolId,omitempty"`
}

// An IPAMPool gives a VPC its range.
type IPAMPool struct {
	ID            string `json:"id,omitempty"`
	Name          string `json:"name,omitempty"`
	NetmaskLength int64  `json:"netmaskLength,omitempty"`
}

// An ElasticIPPool gives public addresses.
type ElasticIPPool struct {
	PublicIPv4Pool              string `json:"publicIpv4Pool,omitempty"`
	PublicIPv4PoolFallbackOrder string `json:"publicIpv4PoolFallbackOrder,omitempty"`
}

// A Subnet is a subnet of a VPC: a given one where its id is one of AWS.
type Subnet struct {
	AvailabilityZone string            `json:"availabilityZone,omitempty"`
	CIDRBlock        string            `json:"cidrBlock,omitempty"`
	ID               string            `json:"id"`
	IPv6CIDRBlock    string            `json:"ipv6CidrBlock,omitempty"`
	IsIPv6           bool              `json:"isIpv6,omitempty"`
	IsPublic         bool              `json:"isPublic,omitempty"`
	NATGatewayID     string            `json:"natGatewayId,omitempty"`
	ParentZoneName   string            `json:"parentZoneName,omitempty"`
	ResourceID       string            `json:"resourceID,omitempty"`
	RouteTableID     string            `json:"routeTableId,omitempty"`
	Tags             map[string]string `json:"tags,omitempty"`
	ZoneType         string            `json:"zoneType,omitempty"`
}

// CNI says what the nodes of a cluster let in for its network.
type CNI struct {
	CNIIngressRules []CNIIngressRule `json:"cniIngressRules,omitempty"`
}

// A CNIIngressRule lets in what other nodes of the cluster send.
type CNIIngressRule struct {
	Description string `json:"description"`
	FromPort    int64  `json:"fromPort"`
	Protocol    string `json:"protocol"`
	ToPort      int64  `json:"toPort"`
}

// An IngressRule is a rule of a security group.
type IngressRule struct {
	CIDRBlocks               []string `json:"cidrBlocks,omitempty"`
	Description              string   `json:"description"`
	FromPort                 int64    `json:"fromPort"`
	IPv6CIDRBlocks           []string `json:"ipv6CidrBlocks,omitempty"`
	NATGatewaysIPsSource     bool     `json:"natGatewaysIPsSource,omitempty"`
	Protocol                 string   `json:"protocol"`
	SourceSecurityGroupIDs   []string `json:"sourceSecurityGroupIds,omitempty"`
	SourceSecurityGroupRoles []string `json:"sourceSecurityGroupRoles,omitempty"`
	ToPort                   int64    `json:"toPort"`
}
