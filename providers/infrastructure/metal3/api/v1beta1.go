package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/kinds"
)

// The specs of v1beta1 that differ from those of v1beta2.

type v1beta1ClusterSpec struct {
	ControlPlaneEndpoint APIEndpoint                     `json:"controlPlaneEndpoint,omitempty"`
	NoCloudProvider      *bool                           `json:"noCloudProvider,omitempty"`
	CloudProviderEnabled *bool                           `json:"cloudProviderEnabled,omitempty"`
	FailureDomains       map[string]v1beta1FailureDomain `json:"failureDomains,omitempty"`

	VirtualIP *endpoint.VirtualIP `json:"virtualIP,omitempty"`
}

type v1beta1FailureDomain struct {
	ControlPlane bool              `json:"controlPlane,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
}

type v1beta1MachineTemplateSpec struct {
	kinds.BareTemplate[v1beta1MachineSpec] `json:",inline"`

	NodeReuse bool `json:"nodeReuse"`
}

type v1beta1MachineSpec struct {
	ProviderID            *string                 `json:"providerID,omitempty"` // refused
	Image                 v1beta1Image            `json:"image,omitempty"`
	CustomDeploy          *CustomDeploy           `json:"customDeploy,omitempty"`
	UserData              *corev1.SecretReference `json:"userData,omitempty"` // refused
	HostSelector          HostSelector            `json:"hostSelector,omitempty"`
	DataTemplate          *corev1.ObjectReference `json:"dataTemplate,omitempty"`
	MetaData              *corev1.SecretReference `json:"metaData,omitempty"`    // refused
	NetworkData           *corev1.SecretReference `json:"networkData,omitempty"` // refused
	AutomatedCleaningMode *AutomatedCleaningMode  `json:"automatedCleaningMode,omitempty"`
	FailureDomain         string                  `json:"failureDomain,omitempty"` // refused
}

type v1beta1Image struct {
	URL          string        `json:"url"`
	Checksum     string        `json:"checksum,omitempty"`
	ChecksumType *ChecksumType `json:"checksumType,omitempty"`
	DiskFormat   *DiskFormat   `json:"format,omitempty"`
}

type v1beta1DataTemplateSpec struct {
	ClusterName       string              `json:"clusterName"`
	TemplateReference string              `json:"templateReference,omitempty"` // refused
	MetaData          *v1beta1MetaData    `json:"metaData,omitempty"`
	NetworkData       *v1beta1NetworkData `json:"networkData,omitempty"`
}

type v1beta1MetaData struct {
	Strings             []MetaDataString         `json:"strings,omitempty"`
	ObjectNames         []MetaDataObjectName     `json:"objectNames,omitempty"`
	Indexes             []MetaDataIndex          `json:"indexes,omitempty"`
	Namespaces          []MetaDataNamespace      `json:"namespaces,omitempty"`
	IPAddressesFromPool []FromPool               `json:"ipAddressesFromIPPool,omitempty"`
	PrefixesFromPool    []FromPool               `json:"prefixesFromIPPool,omitempty"`
	GatewaysFromPool    []FromPool               `json:"gatewaysFromIPPool,omitempty"`
	DNSServersFromPool  []FromPool               `json:"dnsServersFromIPPool,omitempty"`
	FromHostInterfaces  []MetaDataHostInterface  `json:"fromHostInterfaces,omitempty"`
	FromLabels          []MetaDataFromLabel      `json:"fromLabels,omitempty"`
	FromAnnotations     []MetaDataFromAnnotation `json:"fromAnnotations,omitempty"`
}

type v1beta1NetworkData struct {
	Links    v1beta1NetworkDataLink `json:"links,omitempty"`
	Networks NetworkDataNetwork     `json:"networks,omitempty"`
	Services NetworkDataService     `json:"services,omitempty"`
}

type v1beta1NetworkDataLink struct {
	Ethernets []NetworkDataLinkEthernet `json:"ethernets,omitempty"`
	Bonds     []v1beta1Bond             `json:"bonds,omitempty"`
	Vlans     []NetworkDataLinkVlan     `json:"vlans,omitempty"`
}

type v1beta1Bond struct {
	BondMode           string                  `json:"bondMode"`
	BondXmitHashPolicy string                  `json:"bondXmitHashPolicy"`
	ID                 string                  `json:"id"`
	Name               string                  `json:"name,omitempty"`
	MTU                int32                   `json:"mtu,omitempty"`
	MACAddress         *NetworkLinkEthernetMac `json:"macAddress"`
	Parameters         map[string]any          `json:"parameters,omitempty"`
	BondLinks          []string                `json:"bondLinks"`
}

type v1beta1RemediationSpec struct {
	Strategy *v1beta1RemediationStrategy `json:"strategy,omitempty"`
}

type v1beta1RemediationStrategy struct {
	Type       string           `json:"type,omitempty"`
	RetryLimit int32            `json:"retryLimit,omitempty"`
	Timeout    *metav1.Duration `json:"timeout"`
}
