package api

// v1beta1LoadBalancer is LoadBalancer as v1beta1 has it.
type v1beta1LoadBalancer struct {
	AdditionalSecurityGroups []string `json:"additionalSecurityGroups,omitempty"`
	CrossZoneLoadBalancing   bool     `json:"crossZoneLoadBalancing,omitempty"`
	HealthCheckProtocol      string   `json:"healthCheckProtocol,omitempty"`
	Name                     string   `json:"name,omitempty"`
	Scheme                   string   `json:"scheme,omitempty"`
	Subnets                  []string `json:"subnets,omitempty"`
}

// v1beta1Subnet is Subnet as v1beta1 has it.
type v1beta1Subnet struct {
	AvailabilityZone string            `json:"availabilityZone,omitempty"`
	CIDRBlock        string            `json:"cidrBlock,omitempty"`
	ID               string            `json:"id,omitempty"`
	IPv6CIDRBlock    string            `json:"ipv6CidrBlock,omitempty"`
	IsIPv6           bool              `json:"isIpv6,omitempty"`
	IsPublic         bool              `json:"isPublic,omitempty"`
	NATGatewayID     string            `json:"natGatewayId,omitempty"`
	RouteTableID     string            `json:"routeTableId,omitempty"`
	Tags             map[string]string `json:"tags,omitempty"`
}

// v1beta1IPv6 is IPv6 as v1beta1 has it.
type v1beta1IPv6 struct {
	CIDRBlock                   string `json:"cidrBlock,omitempty"`
	EgressOnlyInternetGatewayID string `json:"egressOnlyInternetGatewayId,omitempty"`
	PoolID                      string `json:"poolId,omitempty"`
}

// v1beta1VPC is VPC as v1beta1 has it.
type v1beta1VPC struct {
	AvailabilityZoneSelection  string            `json:"availabilityZoneSelection,omitempty"`
	AvailabilityZoneUsageLimit *int64            `json:"availabilityZoneUsageLimit,omitempty"`
	CIDRBlock                  string            `json:"cidrBlock,omitempty"`
	ID                         string            `json:"id,omitempty"`
	InternetGatewayID          string            `json:"internetGatewayId,omitempty"`
	IPv6                       *v1beta1IPv6      `json:"ipv6,omitempty"`
	Tags                       map[string]string `json:"tags,omitempty"`
}

// v1beta1Network is Network as v1beta1 has it.
type v1beta1Network struct {
	CNI                    *CNI              `json:"cni,omitempty"`
	SecurityGroupOverrides map[string]string `json:"securityGroupOverrides,omitempty"`
	Subnets                []v1beta1Subnet   `json:"subnets,omitempty"`
	VPC                    *v1beta1VPC       `json:"vpc,omitempty"`
}

// v1beta1S3Bucket is S3Bucket as v1beta1 has it.
type v1beta1S3Bucket struct {
	ControlPlaneIAMInstanceProfile string   `json:"controlPlaneIAMInstanceProfile"`
	Name                           string   `json:"name"`
	NodesIAMInstanceProfiles       []string `json:"nodesIAMInstanceProfiles"`
}

// v1beta1ClusterSpec is AWSClusterSpec as v1beta1 has it.
type v1beta1ClusterSpec struct {
	AdditionalTags           map[string]string    `json:"additionalTags,omitempty"`
	Bastion                  *Bastion             `json:"bastion,omitempty"`
	ControlPlaneEndpoint     *APIEndpoint         `json:"controlPlaneEndpoint,omitempty"`
	ControlPlaneLoadBalancer *v1beta1LoadBalancer `json:"controlPlaneLoadBalancer,omitempty"`
	IdentityRef              *IdentityReference   `json:"identityRef,omitempty"`
	ImageLookupBaseOS        string               `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat        string               `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg           string               `json:"imageLookupOrg,omitempty"`
	Network                  *v1beta1Network      `json:"network,omitempty"`
	Region                   string               `json:"region,omitempty"`
	S3Bucket                 *v1beta1S3Bucket     `json:"s3Bucket,omitempty"`
	SSHKeyName               *string              `json:"sshKeyName,omitempty"`
}

// v1beta1ResourceReference is ResourceReference as v1beta1 has it.
type v1beta1ResourceReference struct {
	ARN     string   `json:"arn,omitempty"`
	Filters []Filter `json:"filters,omitempty"`
	ID      string   `json:"id,omitempty"`
}

// v1beta1AMIReference is AMIReference as v1beta1 has it.
type v1beta1AMIReference struct {
	EKSLookupType string `json:"eksLookupType,omitempty"`
	ID            string `json:"id,omitempty"`
}

// v1beta1Ignition is Ignition as v1beta1 has it.
type v1beta1Ignition struct {
	Version string `json:"version,omitempty"`
}

// v1beta1MachineSpec is AWSMachineSpec as v1beta1 has it.
type v1beta1MachineSpec struct {
	AdditionalSecurityGroups []v1beta1ResourceReference `json:"additionalSecurityGroups,omitempty"`
	AdditionalTags           map[string]string          `json:"additionalTags,omitempty"`
	AMI                      *v1beta1AMIReference       `json:"ami,omitempty"`
	CloudInit                *CloudInit                 `json:"cloudInit,omitempty"`
	FailureDomain            string                     `json:"failureDomain,omitempty"`
	IAMInstanceProfile       string                     `json:"iamInstanceProfile,omitempty"`
	Ignition                 *v1beta1Ignition           `json:"ignition,omitempty"`
	ImageLookupBaseOS        string                     `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat        string                     `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg           string                     `json:"imageLookupOrg,omitempty"`
	InstanceID               string                     `json:"instanceID,omitempty"`
	InstanceType             string                     `json:"instanceType"`
	NetworkInterfaces        []string                   `json:"networkInterfaces,omitempty"`
	NonRootVolumes           []Volume                   `json:"nonRootVolumes,omitempty"`
	ProviderID               string                     `json:"providerID,omitempty"`
	PublicIP                 *bool                      `json:"publicIP,omitempty"`
	RootVolume               *Volume                    `json:"rootVolume,omitempty"`
	SpotMarketOptions        *SpotMarketOptions         `json:"spotMarketOptions,omitempty"`
	SSHKeyName               *string                    `json:"sshKeyName,omitempty"`
	Subnet                   *v1beta1ResourceReference  `json:"subnet,omitempty"`
	Tenancy                  string                     `json:"tenancy,omitempty"`
	UncompressedUserData     bool                       `json:"uncompressedUserData,omitempty"`
}
