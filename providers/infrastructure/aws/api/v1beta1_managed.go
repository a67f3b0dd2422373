package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// v1beta1ControlPlaneSpec is AWSManagedControlPlaneSpec as v1beta1 has it.
type v1beta1ControlPlaneSpec struct {
	AdditionalTags             map[string]string     `json:"additionalTags,omitempty"`
	Addons                     []Addon               `json:"addons,omitempty"`
	AssociateOIDCProvider      bool                  `json:"associateOIDCProvider,omitempty"`
	Bastion                    *Bastion              `json:"bastion,omitempty"`
	ControlPlaneEndpoint       *APIEndpoint          `json:"controlPlaneEndpoint,omitempty"`
	DisableVPCCNI              bool                  `json:"disableVPCCNI,omitempty"`
	EKSClusterName             string                `json:"eksClusterName,omitempty"`
	EncryptionConfig           *EncryptionConfig     `json:"encryptionConfig,omitempty"`
	EndpointAccess             *EndpointAccess       `json:"endpointAccess,omitempty"`
	IAMAuthenticatorConfig     *IAMAuthenticator     `json:"iamAuthenticatorConfig,omitempty"`
	IdentityRef                *IdentityReference    `json:"identityRef,omitempty"`
	ImageLookupBaseOS          string                `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat          string                `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg             string                `json:"imageLookupOrg,omitempty"`
	KubeProxy                  *Disable              `json:"kubeProxy,omitempty"`
	Logging                    *Logging              `json:"logging,omitempty"`
	Network                    *Network              `json:"network,omitempty"`
	OIDCIdentityProviderConfig *OIDCIdentityProvider `json:"oidcIdentityProviderConfig,omitempty"`
	Region                     string                `json:"region,omitempty"`
	RoleAdditionalPolicies     []string              `json:"roleAdditionalPolicies,omitempty"`
	RoleName                   string                `json:"roleName,omitempty"`
	SecondaryCIDRBlock         string                `json:"secondaryCidrBlock,omitempty"`
	SSHKeyName                 *string               `json:"sshKeyName,omitempty"`
	TokenMethod                string                `json:"tokenMethod,omitempty"`
	Version                    string                `json:"version,omitempty"`
	VPCCNI                     *v1beta1VPCCNI        `json:"vpcCni,omitempty"`
}

// v1beta1VPCCNI is VPCCNI as v1beta1 has it.
type v1beta1VPCCNI struct {
	Env []corev1.EnvVar `json:"env,omitempty"`
}

// v1beta1PoolSpec is AWSManagedMachinePoolSpec as v1beta1 has it.
type v1beta1PoolSpec struct {
	AdditionalTags         map[string]string      `json:"additionalTags,omitempty"`
	AMIType                string                 `json:"amiType,omitempty"`
	AMIVersion             string                 `json:"amiVersion,omitempty"`
	AvailabilityZones      []string               `json:"availabilityZones,omitempty"`
	AWSLaunchTemplate      *v1beta1LaunchTemplate `json:"awsLaunchTemplate,omitempty"`
	CapacityType           string                 `json:"capacityType,omitempty"`
	DiskSize               int32                  `json:"diskSize,omitempty"`
	EKSNodegroupName       string                 `json:"eksNodegroupName,omitempty"`
	InstanceType           string                 `json:"instanceType,omitempty"`
	Labels                 map[string]string      `json:"labels,omitempty"`
	ProviderIDList         []string               `json:"providerIDList,omitempty"`
	RemoteAccess           *RemoteAccess          `json:"remoteAccess,omitempty"`
	RoleAdditionalPolicies []string               `json:"roleAdditionalPolicies,omitempty"`
	RoleName               string                 `json:"roleName,omitempty"`
	Scaling                *Scaling               `json:"scaling,omitempty"`
	SubnetIDs              []string               `json:"subnetIDs,omitempty"`
	Taints                 []NodeTaint            `json:"taints,omitempty"`
	UpdateConfig           *v1beta1UpdateConfig   `json:"updateConfig,omitempty"`
}

// v1beta1UpdateConfig is UpdateConfig as v1beta1 has it.
type v1beta1UpdateConfig struct {
	MaxUnavailable           *int `json:"maxUnavailable,omitempty"`
	MaxUnavailablePrecentage *int `json:"maxUnavailablePrecentage,omitempty"`
}

// v1beta1LaunchTemplate is LaunchTemplate as v1beta1 has it.
type v1beta1LaunchTemplate struct {
	AdditionalSecurityGroups []ResourceReference `json:"additionalSecurityGroups,omitempty"`
	AMI                      *AMIReference       `json:"ami,omitempty"`
	IAMInstanceProfile       string              `json:"iamInstanceProfile,omitempty"`
	ImageLookupBaseOS        string              `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat        string              `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg           string              `json:"imageLookupOrg,omitempty"`
	InstanceType             string              `json:"instanceType,omitempty"`
	Name                     string              `json:"name,omitempty"`
	RootVolume               *Volume             `json:"rootVolume,omitempty"`
	SpotMarketOptions        *SpotMarketOptions  `json:"spotMarketOptions,omitempty"`
	SSHKeyName               *string             `json:"sshKeyName,omitempty"`
	VersionNumber            *int64              `json:"versionNumber,omitempty"`
}

// oldControlPlane is the kinds.Normaliser of v1beta1.
func oldControlPlane(o metav1.Object, at *field.Path, old *v1beta1ControlPlaneSpec) (any, field.ErrorList) {
	v := new(validator)
	spec := renewed[AWSManagedControlPlaneSpec](v, at, old)
	if len(v.Errs) > 0 {
		return nil, v.Errors()
	}
	return managedControlPlane(o, at, spec)
}

// oldPool is the kinds.Normaliser of v1beta1, which misspells a field.
func oldPool(o metav1.Object, at *field.Path, old *v1beta1PoolSpec) (any, field.ErrorList) {
	v := new(validator)
	spec := renewed[AWSManagedMachinePoolSpec](v, at, old)
	if len(v.Errs) > 0 {
		return nil, v.Errors()
	}
	if old.UpdateConfig != nil {
		spec.UpdateConfig.MaxUnavailablePercentage = old.UpdateConfig.MaxUnavailablePrecentage
	}
	return managedPool(o, at, spec)
}
