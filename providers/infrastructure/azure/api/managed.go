package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// AzureManagedControlPlaneSpec is a cluster of AKS, and the network that its machines are in.
type AzureManagedControlPlaneSpec struct {
	AADProfile                  *AADProfile            `json:"aadProfile,omitempty"`
	AdditionalTags              map[string]string      `json:"additionalTags,omitempty"`
	AddonProfiles               []AddonProfile         `json:"addonProfiles,omitempty"`
	APIServerAccessProfile      *APIServerAccess       `json:"apiServerAccessProfile,omitempty"`
	ASOManagedClusterPatches    []string               `json:"asoManagedClusterPatches,omitempty"`
	AutoscalerProfile           *AutoscalerProfile     `json:"autoscalerProfile,omitempty"`
	AutoUpgradeProfile          *AutoUpgradeProfile    `json:"autoUpgradeProfile,omitempty"`
	AzureEnvironment            string                 `json:"azureEnvironment,omitempty"`
	ControlPlaneEndpoint        *APIEndpoint           `json:"controlPlaneEndpoint,omitempty"`
	DisableLocalAccounts        *bool                  `json:"disableLocalAccounts,omitempty"`
	DNSPrefix                   string                 `json:"dnsPrefix,omitempty"`
	DNSServiceIP                string                 `json:"dnsServiceIP,omitempty"`
	EnablePreviewFeatures       *bool                  `json:"enablePreviewFeatures,omitempty"`
	Extensions                  []Extension            `json:"extensions,omitempty"`
	FleetsMember                *FleetsMember          `json:"fleetsMember,omitempty"`
	HTTPProxyConfig             *HTTPProxyConfig       `json:"httpProxyConfig,omitempty"`
	Identity                    *Identity              `json:"identity,omitempty"`
	IdentityRef                 *IdentityReference     `json:"identityRef,omitempty"`
	KubeletUserAssignedIdentity string                 `json:"kubeletUserAssignedIdentity,omitempty"`
	LoadBalancerProfile         *LoadBalancerProfile   `json:"loadBalancerProfile,omitempty"`
	LoadBalancerSKU             string                 `json:"loadBalancerSKU,omitempty"`
	Location                    string                 `json:"location,omitempty"`
	MachineTemplate             *struct{}              `json:"machineTemplate,omitempty"`
	NetworkDataplane            string                 `json:"networkDataplane,omitempty"`
	NetworkPlugin               string                 `json:"networkPlugin,omitempty"`
	NetworkPluginMode           string                 `json:"networkPluginMode,omitempty"`
	NetworkPolicy               string                 `json:"networkPolicy,omitempty"`
	NodeResourceGroupName       string                 `json:"nodeResourceGroupName,omitempty"`
	OIDCIssuerProfile           *OIDCIssuerProfile     `json:"oidcIssuerProfile,omitempty"`
	OutboundType                string                 `json:"outboundType,omitempty"`
	ResourceGroupName           string                 `json:"resourceGroupName,omitempty"`
	SecurityProfile             *ManagedSecurity       `json:"securityProfile,omitempty"`
	SKU                         *ManagedSKU            `json:"sku,omitempty"`
	SSHPublicKey                *string                `json:"sshPublicKey,omitempty"`
	SubscriptionID              string                 `json:"subscriptionID,omitempty"`
	Version                     string                 `json:"version,omitempty"`
	VirtualNetwork              *ManagedVirtualNetwork `json:"virtualNetwork,omitempty"`
}

// An AADProfile lets in people of Microsoft Entra ID.
type AADProfile struct {
	AdminGroupObjectIDs []string `json:"adminGroupObjectIDs"`
	Managed             bool     `json:"managed"`
}

// An AddonProfile is an add-on that AKS runs.
type AddonProfile struct {
	Config  map[string]string `json:"config,omitempty"`
	Enabled bool              `json:"enabled"`
	Name    string            `json:"name"`
}

// APIServerAccess says from where the API server is reached.
type APIServerAccess struct {
	AuthorizedIPRanges             []string `json:"authorizedIPRanges,omitempty"`
	EnablePrivateCluster           *bool    `json:"enablePrivateCluster,omitempty"`
	EnablePrivateClusterPublicFQDN *bool    `json:"enablePrivateClusterPublicFQDN,omitempty"`
	PrivateDNSZone                 string   `json:"privateDNSZone,omitempty"`
}

// An AutoscalerProfile is how the autoscaler of AKS decides.
type AutoscalerProfile struct {
	BalanceSimilarNodeGroups      string `json:"balanceSimilarNodeGroups,omitempty"`
	Expander                      string `json:"expander,omitempty"`
	MaxEmptyBulkDelete            string `json:"maxEmptyBulkDelete,omitempty"`
	MaxGracefulTerminationSec     string `json:"maxGracefulTerminationSec,omitempty"`
	MaxNodeProvisionTime          string `json:"maxNodeProvisionTime,omitempty"`
	MaxTotalUnreadyPercentage     string `json:"maxTotalUnreadyPercentage,omitempty"`
	NewPodScaleUpDelay            string `json:"newPodScaleUpDelay,omitempty"`
	OkTotalUnreadyCount           string `json:"okTotalUnreadyCount,omitempty"`
	ScaleDownDelayAfterAdd        string `json:"scaleDownDelayAfterAdd,omitempty"`
	ScaleDownDelayAfterDelete     string `json:"scaleDownDelayAfterDelete,omitempty"`
	ScaleDownDelayAfterFailure    string `json:"scaleDownDelayAfterFailure,omitempty"`
	ScaleDownUnneededTime         string `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownUnreadyTime          string `json:"scaleDownUnreadyTime,omitempty"`
	ScaleDownUtilizationThreshold string `json:"scaleDownUtilizationThreshold,omitempty"`
	ScanInterval                  string `json:"scanInterval,omitempty"`
	SkipNodesWithLocalStorage     string `json:"skipNodesWithLocalStorage,omitempty"`
	SkipNodesWithSystemPods       string `json:"skipNodesWithSystemPods,omitempty"`
}

// An AutoUpgradeProfile has AKS upgrade the cluster by itself.
type AutoUpgradeProfile struct {
	UpgradeChannel string `json:"upgradeChannel,omitempty"`
}

// An Extension is one of Azure Arc that is installed in the cluster.
type Extension struct {
	AKSAssignedIdentityType string            `json:"aksAssignedIdentityType,omitempty"`
	AutoUpgradeMinorVersion *bool             `json:"autoUpgradeMinorVersion,omitempty"`
	ConfigurationSettings   map[string]string `json:"configurationSettings,omitempty"`
	ExtensionType           string            `json:"extensionType"`
	Identity                string            `json:"identity,omitempty"`
	Name                    string            `json:"name"`
	Plan                    *ExtensionPlan    `json:"plan,omitempty"`
	ReleaseTrain            string            `json:"releaseTrain,omitempty"`
	Scope                   *ExtensionScope   `json:"scope,omitempty"`
	Version                 string            `json:"version,omitempty"`
}

// An ExtensionPlan is how an extension is bought.
type ExtensionPlan struct {
	Name          string `json:"name,omitempty"`
	Product       string `json:"product,omitempty"`
	PromotionCode string `json:"promotionCode,omitempty"`
	Publisher     string `json:"publisher,omitempty"`
	Version       string `json:"version,omitempty"`
}

// An ExtensionScope says where an extension runs.
type ExtensionScope struct {
	ReleaseNamespace string `json:"releaseNamespace,omitempty"`
	ScopeType        string `json:"scopeType"`
	TargetNamespace  string `json:"targetNamespace,omitempty"`
}

// A FleetsMember has a fleet of Azure upgrade the cluster.
type FleetsMember struct {
	Group                string `json:"group,omitempty"`
	ManagerName          string `json:"managerName"`
	ManagerResourceGroup string `json:"managerResourceGroup"`
	Name                 string `json:"name,omitempty"`
}

// An HTTPProxyConfig is how machines reach the internet through a proxy.
type HTTPProxyConfig struct {
	HTTPProxy  string   `json:"httpProxy,omitempty"`
	HTTPSProxy string   `json:"httpsProxy,omitempty"`
	NoProxy    []string `json:"noProxy,omitempty"`
	TrustedCA  string   `json:"trustedCa,omitempty"`
}

// An Identity is that with which AKS changes things in Azure.
type Identity struct {
	Type                           string `json:"type,omitempty"`
	UserAssignedIdentityResourceID string `json:"userAssignedIdentityResourceID,omitempty"`
}

// A LoadBalancerProfile is how machines reach the internet through the load balancer of AKS.
type LoadBalancerProfile struct {
	AllocatedOutboundPorts *int32   `json:"allocatedOutboundPorts,omitempty"`
	IdleTimeoutInMinutes   *int32   `json:"idleTimeoutInMinutes,omitempty"`
	ManagedOutboundIPs     *int32   `json:"managedOutboundIPs,omitempty"`
	OutboundIPPrefixes     []string `json:"outboundIPPrefixes,omitempty"`
	OutboundIPs            []string `json:"outboundIPs,omitempty"`
}

// An OIDCIssuerProfile has AKS publish the keys of service accounts.
type OIDCIssuerProfile struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// ManagedSecurity is what AKS does for the security of a cluster.
type ManagedSecurity struct {
	AzureKeyVaultKMS *KeyVaultKMS   `json:"azureKeyVaultKms,omitempty"`
	Defender         *Defender      `json:"defender,omitempty"`
	ImageCleaner     *ImageCleaner  `json:"imageCleaner,omitempty"`
	WorkloadIdentity *EnabledSwitch `json:"workloadIdentity,omitempty"`
}

// KeyVaultKMS encrypts Secrets in etcd with a key of people.
type KeyVaultKMS struct {
	Enabled               bool   `json:"enabled"`
	KeyID                 string `json:"keyID"`
	KeyVaultNetworkAccess string `json:"keyVaultNetworkAccess,omitempty"`
	KeyVaultResourceID    string `json:"keyVaultResourceID,omitempty"`
}

// Defender is Microsoft Defender for the machines.
type Defender struct {
	LogAnalyticsWorkspaceResourceID string        `json:"logAnalyticsWorkspaceResourceID"`
	SecurityMonitoring              EnabledSwitch `json:"securityMonitoring"`
}

// An ImageCleaner removes images that no container uses.
type ImageCleaner struct {
	Enabled       bool   `json:"enabled"`
	IntervalHours *int32 `json:"intervalHours,omitempty"`
}

// An EnabledSwitch turns something on or off.
type EnabledSwitch struct {
	Enabled bool `json:"enabled"`
}

// A ManagedSKU is what the control plane costs, and what AKS promises of it.
type ManagedSKU struct {
	Tier string `json:"tier,omitempty"`
}

// A ManagedVirtualNetwork is the VNet of the machines, with one subnet. One that exists without the tags of the cluster
// is a given one, of which nothing is changed.
type ManagedVirtualNetwork struct {
	CIDRBlock     string         `json:"cidrBlock,omitempty"`
	Name          string         `json:"name,omitempty"`
	ResourceGroup string         `json:"resourceGroup,omitempty"`
	Subnet        *ManagedSubnet `json:"subnet,omitempty"`
}

// A ManagedSubnet is the subnet of the machines.
type ManagedSubnet struct {
	CIDRBlock        string            `json:"cidrBlock,omitempty"`
	Name             string            `json:"name,omitempty"`
	PrivateEndpoints []PrivateEndpoint `json:"privateEndpoints,omitempty"`
	ServiceEndpoints []ServiceEndpoint `json:"serviceEndpoints,omitempty"`
}

// AzureManagedClusterSpec is the infrastructure of a cluster of AKS: all of it is in its control plane.
type AzureManagedClusterSpec struct {
	ControlPlaneEndpoint *APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
}

// AzureManagedClusterTemplateSpec is what a class makes an AzureManagedCluster from.
type AzureManagedClusterTemplateSpec struct{}

// AzureManagedMachinePoolSpec is an agent pool of AKS.
type AzureManagedMachinePoolSpec struct {
	AdditionalTags                 map[string]string  `json:"additionalTags,omitempty"`
	ASOManagedClustersAgentPatches []string           `json:"asoManagedClustersAgentPoolPatches,omitempty"`
	AvailabilityZones              []string           `json:"availabilityZones,omitempty"`
	EnableEncryptionAtHost         *bool              `json:"enableEncryptionAtHost,omitempty"`
	EnableFIPS                     *bool              `json:"enableFIPS,omitempty"`
	EnableNodePublicIP             *bool              `json:"enableNodePublicIP,omitempty"`
	EnableUltraSSD                 *bool              `json:"enableUltraSSD,omitempty"`
	KubeletConfig                  *KubeletConfig     `json:"kubeletConfig,omitempty"`
	KubeletDiskType                string             `json:"kubeletDiskType,omitempty"`
	LinuxOSConfig                  *LinuxOSConfig     `json:"linuxOSConfig,omitempty"`
	MaxPods                        *int32             `json:"maxPods,omitempty"`
	Mode                           string             `json:"mode,omitempty"`
	Name                           string             `json:"name,omitempty"`
	NodeLabels                     map[string]string  `json:"nodeLabels,omitempty"`
	NodePublicIPPrefixID           string             `json:"nodePublicIPPrefixID,omitempty"`
	OSDiskSizeGB                   *int32             `json:"osDiskSizeGB,omitempty"`
	OSDiskType                     string             `json:"osDiskType,omitempty"`
	OSType                         string             `json:"osType,omitempty"`
	ProviderIDList                 []string           `json:"providerIDList,omitempty"`
	ScaleDownMode                  string             `json:"scaleDownMode,omitempty"`
	ScaleSetPriority               string             `json:"scaleSetPriority,omitempty"`
	Scaling                        *PoolScaling       `json:"scaling,omitempty"`
	SKU                            string             `json:"sku,omitempty"`
	SpotMaxPrice                   *resource.Quantity `json:"spotMaxPrice,omitempty"`
	SubnetName                     string             `json:"subnetName,omitempty"`
	Taints                         []PoolTaint        `json:"taints,omitempty"`
}

// PoolScaling has the autoscaler of AKS decide the number of machines.
type PoolScaling struct {
	MaxSize *int32 `json:"maxSize,omitempty"`
	MinSize *int32 `json:"minSize,omitempty"`
}

// A PoolTaint is a taint of the Nodes of a pool.
type PoolTaint struct {
	Effect string `json:"effect"`
	Key    string `json:"key"`
	Value  string `json:"value"`
}

// A KubeletConfig is what AKS configures of kubelets. Azure names its fields as CAPZ does.
type KubeletConfig struct {
	AllowedUnsafeSysctls  []string `json:"allowedUnsafeSysctls,omitempty"`
	ContainerLogMaxFiles  *int32   `json:"containerLogMaxFiles,omitempty"`
	ContainerLogMaxSizeMB *int32   `json:"containerLogMaxSizeMB,omitempty"`
	CPUCfsQuota           *bool    `json:"cpuCfsQuota,omitempty"`
	CPUCfsQuotaPeriod     string   `json:"cpuCfsQuotaPeriod,omitempty"`
	CPUManagerPolicy      string   `json:"cpuManagerPolicy,omitempty"`
	FailSwapOn            *bool    `json:"failSwapOn,omitempty"`
	ImageGcHighThreshold  *int32   `json:"imageGcHighThreshold,omitempty"`
	ImageGcLowThreshold   *int32   `json:"imageGcLowThreshold,omitempty"`
	PodMaxPids            *int32   `json:"podMaxPids,omitempty"`
	TopologyManagerPolicy string   `json:"topologyManagerPolicy,omitempty"`
}

// A LinuxOSConfig is what AKS configures of Linux.
type LinuxOSConfig struct {
	SwapFileSizeMB             *int32   `json:"swapFileSizeMB,omitempty"`
	Sysctls                    *Sysctls `json:"sysctls,omitempty"`
	TransparentHugePageDefrag  string   `json:"transparentHugePageDefrag,omitempty"`
	TransparentHugePageEnabled string   `json:"transparentHugePageEnabled,omitempty"`
}

// Sysctls are settings of the kernel.
type Sysctls struct {
	FsAioMaxNr                     *int32 `json:"fsAioMaxNr,omitempty"`
	FsFileMax                      *int32 `json:"fsFileMax,omitempty"`
	FsInotifyMaxUserWatches        *int32 `json:"fsInotifyMaxUserWatches,omitempty"`
	FsNrOpen                       *int32 `json:"fsNrOpen,omitempty"`
	KernelThreadsMax               *int32 `json:"kernelThreadsMax,omitempty"`
	NetCoreNetdevMaxBacklog        *int32 `json:"netCoreNetdevMaxBacklog,omitempty"`
	NetCoreOptmemMax               *int32 `json:"netCoreOptmemMax,omitempty"`
	NetCoreRmemDefault             *int32 `json:"netCoreRmemDefault,omitempty"`
	NetCoreRmemMax                 *int32 `json:"netCoreRmemMax,omitempty"`
	NetCoreSomaxconn               *int32 `json:"netCoreSomaxconn,omitempty"`
	NetCoreWmemDefault             *int32 `json:"netCoreWmemDefault,omitempty"`
	NetCoreWmemMax                 *int32 `json:"netCoreWmemMax,omitempty"`
	NetIPv4IPLocalPortRange        string `json:"netIpv4IPLocalPortRange,omitempty"`
	NetIPv4NeighDefaultGcThresh1   *int32 `json:"netIpv4NeighDefaultGcThresh1,omitempty"`
	NetIPv4NeighDefaultGcThresh2   *int32 `json:"netIpv4NeighDefaultGcThresh2,omitempty"`
	NetIPv4NeighDefaultGcThresh3   *int32 `json:"netIpv4NeighDefaultGcThresh3,omitempty"`
	NetIPv4TCPFinTimeout           *int32 `json:"netIpv4TCPFinTimeout,omitempty"`
	NetIPv4TCPKeepaliveProbes      *int32 `json:"netIpv4TCPKeepaliveProbes,omitempty"`
	NetIPv4TCPKeepaliveTime        *int32 `json:"netIpv4TCPKeepaliveTime,omitempty"`
	NetIPv4TCPMaxSynBacklog        *int32 `json:"netIpv4TCPMaxSynBacklog,omitempty"`
	NetIPv4TCPMaxTwBuckets         *int32 `json:"netIpv4TCPMaxTwBuckets,omitempty"`
	NetIPv4TCPTwReuse              *bool  `json:"netIpv4TCPTwReuse,omitempty"`
	NetIPv4TCPkeepaliveIntvl       *int32 `json:"netIpv4TCPkeepaliveIntvl,omitempty"`
	NetNetfilterNfConntrackBuckets *int32 `json:"netNetfilterNfConntrackBuckets,omitempty"`
	NetNetfilterNfConntrackMax     *int32 `json:"netNetfilterNfConntrackMax,omitempty"`
	VmMaxMapCount                  *int32 `json:"vmMaxMapCount,omitempty"`
	VmSwappiness                   *int32 `json:"vmSwappiness,omitempty"`
	VmVfsCachePressure             *int32 `json:"vmVfsCachePressure,omitempty"`
}
