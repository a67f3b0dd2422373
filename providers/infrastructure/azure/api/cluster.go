package api

import "k8s.io/apimachinery/pkg/api/resource"

// AzureClusterSpec is what the machines of a cluster share.
type AzureClusterSpec struct {
	AdditionalTags               map[string]string        `json:"additionalTags,omitempty"`
	AzureEnvironment             string                   `json:"azureEnvironment,omitempty"`
	BastionSpec                  *BastionSpec             `json:"bastionSpec,omitempty"`
	CloudProviderConfigOverrides *CloudProviderOverrides  `json:"cloudProviderConfigOverrides,omitempty"`
	ControlPlaneEnabled          *bool                    `json:"controlPlaneEnabled,omitempty"`
	ControlPlaneEndpoint         *APIEndpoint             `json:"controlPlaneEndpoint,omitempty"`
	ExtendedLocation             *ExtendedLocation        `json:"extendedLocation,omitempty"`
	FailureDomains               map[string]FailureDomain `json:"failureDomains,omitempty"`
	IdentityRef                  *IdentityReference       `json:"identityRef,omitempty"`
	Location                     string                   `json:"location,omitempty"`
	NetworkSpec                  NetworkSpec              `json:"networkSpec,omitzero"`
	ResourceGroup                string                   `json:"resourceGroup,omitempty"`
	SubscriptionID               string                   `json:"subscriptionID,omitempty"`
}

// An APIEndpoint is where the API server is reached.
type APIEndpoint struct {
	Host string `json:"host,omitempty"`
	Port int32  `json:"port,omitempty"`
}

// A FailureDomain is an availability zone.
type FailureDomain struct {
	Attributes   map[string]string `json:"attributes,omitempty"`
	ControlPlane *bool             `json:"controlPlane,omitempty"`
}

// An IdentityReference names the AzureClusterIdentity of a cluster.
type IdentityReference struct {
	APIVersion      string `json:"apiVersion,omitempty"`
	FieldPath       string `json:"fieldPath,omitempty"`
	Kind            string `json:"kind,omitempty"`
	Name            string `json:"name,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	UID             string `json:"uid,omitempty"`
}

// An ExtendedLocation is an edge zone.
type ExtendedLocation struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
}

// A BastionSpec describes a bastion.
type BastionSpec struct {
	AzureBastion *AzureBastion `json:"azureBastion,omitempty"`
}

// An AzureBastion is Azure's own bastion service.
type AzureBastion struct {
	EnableTunneling *bool     `json:"enableTunneling,omitempty"`
	Name            string    `json:"name,omitempty"`
	PublicIP        *PublicIP `json:"publicIP,omitempty"`
	SKU             string    `json:"sku,omitempty"`
	Subnet          *Subnet   `json:"subnet,omitempty"`
}

// CloudProviderOverrides change the configuration of the cloud controller manager.
type CloudProviderOverrides struct {
	BackOffs   *BackOffs   `json:"backOffs,omitempty"`
	RateLimits []RateLimit `json:"rateLimits,omitempty"`
}

// BackOffs say how it repeats requests.
type BackOffs struct {
	Backoff  *bool              `json:"cloudProviderBackoff,omitempty"`
	Duration *int32             `json:"cloudProviderBackoffDuration,omitempty"`
	Exponent *resource.Quantity `json:"cloudProviderBackoffExponent,omitempty"`
	Jitter   *resource.Quantity `json:"cloudProviderBackoffJitter,omitempty"`
	Retries  *int32             `json:"cloudProviderBackoffRetries,omitempty"`
}

// A RateLimit limits requests of one kind.
type RateLimit struct {
	Config RateLimitConfig `json:"config,omitzero"`
	Name   string          `json:"name,omitempty"`
}

// A RateLimitConfig says how many there may be.
type RateLimitConfig struct {
	RateLimit            *bool              `json:"cloudProviderRateLimit,omitempty"`
	RateLimitBucket      *int32             `json:"cloudProviderRateLimitBucket,omitempty"`
	RateLimitBucketWrite *int32             `json:"cloudProviderRateLimitBucketWrite,omitempty"`
	RateLimitQPS         *resource.Quantity `json:"cloudProviderRateLimitQPS,omitempty"`
	RateLimitQPSWrite    *resource.Quantity `json:"cloudProviderRateLimitQPSWrite,omitempty"`
}
