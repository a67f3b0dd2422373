package api

// AWSMachineSpec is what an instance is made from.
type AWSMachineSpec struct {
	AdditionalSecurityGroups      []ResourceReference      `json:"additionalSecurityGroups,omitempty"`
	AdditionalTags                map[string]string        `json:"additionalTags,omitempty"`
	AMI                           *AMIReference            `json:"ami,omitempty"`
	AssignPrimaryIPv6             string                   `json:"assignPrimaryIPv6,omitempty"`
	CapacityReservationID         string                   `json:"capacityReservationId,omitempty"`
	CapacityReservationPreference string                   `json:"capacityReservationPreference,omitempty"`
	CloudInit                     *CloudInit               `json:"cloudInit,omitempty"`
	CPUOptions                    *CPUOptions              `json:"cpuOptions,omitempty"`
	DynamicHostAllocation         *DynamicHostAllocation   `json:"dynamicHostAllocation,omitempty"`
	ElasticIPPool                 *ElasticIPPool           `json:"elasticIpPool,omitempty"`
	HostAffinity                  string                   `json:"hostAffinity,omitempty"`
	HostID                        string                   `json:"hostID,omitempty"`
	IAMInstanceProfile            string                   `json:"iamInstanceProfile,omitempty"`
	Ignition                      *Ignition                `json:"ignition,omitempty"`
	ImageLookupBaseOS             string                   `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat             string                   `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg                string                   `json:"imageLookupOrg,omitempty"`
	InstanceID                    string                   `json:"instanceID,omitempty"`
	InstanceMetadataOptions       *InstanceMetadataOptions `json:"instanceMetadataOptions,omitempty"`
	InstanceType                  string                   `json:"instanceType"`
	MarketType                    string                   `json:"marketType,omitempty"`
	NetworkInterfaceType          string                   `json:"networkInterfaceType,omitempty"`
	NetworkInterfaces             []string                 `json:"networkInterfaces,omitempty"`
	NonRootVolumes                []Volume                 `json:"nonRootVolumes,omitempty"`
	PlacementGroupName            string                   `json:"placementGroupName,omitempty"`
	PlacementGroupPartition       int64                    `json:"placementGroupPartition,omitempty"`
	PrivateDNSName                *PrivateDNSName          `json:"privateDnsName,omitempty"`
	ProviderID                    string                   `json:"providerID,omitempty"`
	PublicIP                      *bool                    `json:"publicIP,omitempty"`
	RootVolume                    *Volume                  `json:"rootVolume,omitempty"`
	SecurityGroupOverrides        map[string]string        `json:"securityGroupOverrides,omitempty"`
	SpotMarketOptions             *SpotMarketOptions       `json:"spotMarketOptions,omitempty"`
	SSHKeyName                    *string                  `json:"sshKeyName,omitempty"`
	Subnet                        *ResourceReference       `json:"subnet,omitempty"`
	Tenancy                       string                   `json:"tenancy,omitempty"`
	UncompressedUserData          bool                     `json:"uncompressedUserData,omitempty"`
}

// An AMIReference names an image.
type AMIReference struct {
	EKSLookupType string `json:"eksLookupType,omitempty"`
	ID            string `json:"id,omitempty"`
}

// A ResourceReference names something by its id, or by filters of AWS.
type ResourceReference struct {
	Filters []Filter `json:"filters,omitempty"`
	ID      string   `json:"id,omitempty"`
}

// A Filter is one of DescribeSubnets or DescribeSecurityGroups.
type Filter struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// CloudInit says how cloud-init gets its user data.
type CloudInit struct {
	InsecureSkipSecretsManager bool   `json:"insecureSkipSecretsManager,omitempty"`
	SecretCount                int32  `json:"secretCount,omitempty"`
	SecretPrefix               string `json:"secretPrefix,omitempty"`
	SecureSecretsBackend       string `json:"secureSecretsBackend,omitempty"`
}

// Ignition says how Ignition gets its configuration.
type Ignition struct {
	Proxy       *IgnitionProxy `json:"proxy,omitempty"`
	StorageType string         `json:"storageType,omitempty"`
	TLS         *IgnitionTLS   `json:"tls,omitempty"`
	Version     string         `json:"version,omitempty"`
}

// An IgnitionProxy is what Ignition fetches through.
type IgnitionProxy struct {
	HTTPProxy  string   `json:"httpProxy,omitempty"`
	HTTPSProxy string   `json:"httpsProxy,omitempty"`
	NoProxy    []string `json:"noProxy,omitempty"`
}

// IgnitionTLS has the CA certificates that Ignition trusts.
type IgnitionTLS struct {
	CertificateAuthorities []string `json:"certificateAuthorities,omitempty"`
}

// A Volume is a disk of an instance.
type Volume struct {
	DeviceName    string `json:"deviceName,omitempty"`
	Encrypted     *bool  `json:"encrypted,omitempty"`
	EncryptionKey string `json:"encryptionKey,omitempty"`
	IOPS          int64  `json:"iops,omitempty"`
	Size          int64  `json:"size"`
	Throughput    *int64 `json:"throughput,omitempty"`
	Type          string `json:"type,omitempty"`
}

// InstanceMetadataOptions say how an instance reads its metadata.
type InstanceMetadataOptions struct {
	HTTPEndpoint            string `json:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6        string `json:"httpProtocolIpv6,omitempty"`
	HTTPPutResponseHopLimit int64  `json:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              string `json:"httpTokens,omitempty"`
	InstanceMetadataTags    string `json:"instanceMetadataTags,omitempty"`
}

// A PrivateDNSName says what an instance is called.
type PrivateDNSName struct {
	EnableResourceNameDNSAAAARecord bool   `json:"enableResourceNameDnsAAAARecord,omitempty"`
	EnableResourceNameDNSARecord    bool   `json:"enableResourceNameDnsARecord,omitempty"`
	HostnameType                    string `json:"hostnameType,omitempty"`
}

// SpotMarketOptions make an instance a spot instance.
type SpotMarketOptions struct {
	MaxPrice string `json:"maxPrice,omitempty"`
}

// CPUOptions are those of the processor.
type CPUOptions struct {
	ConfidentialCompute  string `json:"confidentialCompute,omitempty"`
	NestedVirtualization string `json:"nestedVirtualization,omitempty"`
}

// A DynamicHostAllocation has a dedicated host allocated for an instance.
type DynamicHostAllocation struct {
	Tags map[string]string `json:"tags,omitempty"`
}
