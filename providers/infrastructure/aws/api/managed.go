package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controlPlaneSpec is what both versions of AWSManagedControlPlaneSpec have.
type controlPlaneSpec struct {
	AdditionalTags             map[string]string     `json:"additionalTags,omitempty"`
	Addons                     []Addon               `json:"addons,omitempty"`
	AssociateOIDCProvider      bool                  `json:"associateOIDCProvider,omitempty"`
	Bastion                    *Bastion              `json:"bastion,omitempty"`
	ControlPlaneEndpoint       *APIEndpoint          `json:"controlPlaneEndpoint,omitempty"`
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
}

// AWSManagedControlPlaneSpec is a control plane that EKS keeps, and the network that it is in.
type AWSManagedControlPlaneSpec struct {
	controlPlaneSpec

	AccessConfig               *AccessConfig `json:"accessConfig,omitempty"`
	AccessEntries              []AccessEntry `json:"accessEntries,omitempty"`
	BootstrapSelfManagedAddons *bool         `json:"bootstrapSelfManagedAddons,omitempty"`
	Partition                  string        `json:"partition,omitempty"`
	RestrictPrivateSubnets     bool          `json:"restrictPrivateSubnets,omitempty"`
	RolePath                   string        `json:"rolePath,omitempty"`
	RolePermissionsBoundary    string        `json:"rolePermissionsBoundary,omitempty"`
	UpgradePolicy              string        `json:"upgradePolicy,omitempty"`
	VPCCNI                     *VPCCNI       `json:"vpcCni,omitempty"`
}

// AccessConfig says what lets people and machines into the cluster.
type AccessConfig struct {
	AuthenticationMode                      string `json:"authenticationMode,omitempty"`
	BootstrapClusterCreatorAdminPermissions *bool  `json:"bootstrapClusterCreatorAdminPermissions,omitempty"`
}

// An AccessEntry lets a user or a role of IAM into the cluster.
type AccessEntry struct {
	AccessPolicies   []AccessPolicy `json:"accessPolicies,omitempty"`
	KubernetesGroups []string       `json:"kubernetesGroups,omitempty"`
	PrincipalARN     string         `json:"principalARN"`
	Type             string         `json:"type,omitempty"`
	Username         string         `json:"username,omitempty"`
}

// An AccessPolicy is a policy of EKS that an entry has.
type AccessPolicy struct {
	AccessScope AccessScope `json:"accessScope"`
	PolicyARN   string      `json:"policyARN"`
}

// An AccessScope says where a policy holds.
type AccessScope struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Type       string   `json:"type"`
}

// An Addon is one that EKS keeps.
type Addon struct {
	Configuration         string `json:"configuration,omitempty"`
	ConflictResolution    string `json:"conflictResolution,omitempty"`
	Name                  string `json:"name"`
	PreserveOnDelete      bool   `json:"preserveOnDelete,omitempty"`
	ServiceAccountRoleARN string `json:"serviceAccountRoleARN,omitempty"`
	Version               string `json:"version"`
}

// EncryptionConfig says what in etcd is encrypted with a key of people.
type EncryptionConfig struct {
	Provider  string   `json:"provider,omitempty"`
	Resources []string `json:"resources,omitempty"`
}

// EndpointAccess says from where the API server is reached.
type EndpointAccess struct {
	Private     *bool    `json:"private,omitempty"`
	Public      *bool    `json:"public,omitempty"`
	PublicCIDRs []string `json:"publicCIDRs,omitempty"`
}

// IAMAuthenticator has rows of the ConfigMap aws-auth.
type IAMAuthenticator struct {
	MapRoles []RoleMapping `json:"mapRoles,omitempty"`
	MapUsers []UserMapping `json:"mapUsers,omitempty"`
}

// A RoleMapping is a row for a role.
type RoleMapping struct {
	Groups   []string `json:"groups"`
	RoleARN  string   `json:"rolearn"`
	Username string   `json:"username"`
}

// A UserMapping is a row for a user.
type UserMapping struct {
	Groups   []string `json:"groups"`
	UserARN  string   `json:"userarn"`
	Username string   `json:"username"`
}

// Disable leaves something out.
type Disable struct {
	Disable bool `json:"disable,omitempty"`
}

// Logging says which logs of the control plane go to CloudWatch.
type Logging struct {
	APIServer         bool `json:"apiServer"`
	Audit             bool `json:"audit"`
	Authenticator     bool `json:"authenticator"`
	ControllerManager bool `json:"controllerManager"`
	Scheduler         bool `json:"scheduler"`
}

// An OIDCIdentityProvider lets in people of another identity provider.
type OIDCIdentityProvider struct {
	ClientID                   string            `json:"clientId"`
	GroupsClaim                string            `json:"groupsClaim,omitempty"`
	GroupsPrefix               string            `json:"groupsPrefix,omitempty"`
	IdentityProviderConfigName string            `json:"identityProviderConfigName"`
	IssuerURL                  string            `json:"issuerUrl"`
	RequiredClaims             map[string]string `json:"requiredClaims,omitempty"`
	Tags                       map[string]string `json:"tags,omitempty"`
	UsernameClaim              string            `json:"usernameClaim,omitempty"`
	UsernamePrefix             string            `json:"usernamePrefix,omitempty"`
}

// VPCCNI is the network plugin of AWS.
type VPCCNI struct {
	Disable bool            `json:"disable,omitempty"`
	Env     []corev1.EnvVar `json:"env,omitempty"`
}

// AWSManagedClusterSpec is the infrastructure of a cluster of EKS: all of it is in its control plane.
type AWSManagedClusterSpec struct {
	ControlPlaneEndpoint *APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
}

// poolSpec is what both versions of AWSManagedMachinePoolSpec have.
type poolSpec struct {
	AdditionalTags         map[string]string `json:"additionalTags,omitempty"`
	AMIType                string            `json:"amiType,omitempty"`
	AMIVersion             string            `json:"amiVersion,omitempty"`
	AvailabilityZones      []string          `json:"availabilityZones,omitempty"`
	CapacityType           string            `json:"capacityType,omitempty"`
	DiskSize               int32             `json:"diskSize,omitempty"`
	EKSNodegroupName       string            `json:"eksNodegroupName,omitempty"`
	InstanceType           string            `json:"instanceType,omitempty"`
	Labels                 map[string]string `json:"labels,omitempty"`
	ProviderIDList         []string          `json:"providerIDList,omitempty"`
	RemoteAccess           *RemoteAccess     `json:"remoteAccess,omitempty"`
	RoleAdditionalPolicies []string          `json:"roleAdditionalPolicies,omitempty"`
	RoleName               string            `json:"roleName,omitempty"`
	Scaling                *Scaling          `json:"scaling,omitempty"`
	SubnetIDs              []string          `json:"subnetIDs,omitempty"`
	Taints                 []NodeTaint       `json:"taints,omitempty"`
}

// AWSManagedMachinePoolSpec is a managed node group of EKS.
type AWSManagedMachinePoolSpec struct {
	poolSpec

	AvailabilityZoneSubnetType string          `json:"availabilityZoneSubnetType,omitempty"`
	AWSLaunchTemplate          *LaunchTemplate `json:"awsLaunchTemplate,omitempty"`
	LifecycleHooks             []LifecycleHook `json:"lifecycleHooks,omitempty"`
	NodeRepairConfig           *NodeRepair     `json:"nodeRepairConfig,omitempty"`
	RolePath                   string          `json:"rolePath,omitempty"`
	RolePermissionsBoundary    string          `json:"rolePermissionsBoundary,omitempty"`
	UpdateConfig               *UpdateConfig   `json:"updateConfig,omitempty"`
}

// Scaling bounds the number of machines.
type Scaling struct {
	MaxSize *int32 `json:"maxSize,omitempty"`
	MinSize *int32 `json:"minSize,omitempty"`
}

// A NodeTaint is a taint of the Nodes of a pool.
type NodeTaint struct {
	Effect string `json:"effect"`
	Key    string `json:"key"`
	Value  string `json:"value"`
}

// RemoteAccess lets people into the machines of a pool.
type RemoteAccess struct {
	Public               bool     `json:"public,omitempty"`
	SourceSecurityGroups []string `json:"sourceSecurityGroups,omitempty"`
	SSHKeyName           *string  `json:"sshKeyName,omitempty"`
}

// UpdateConfig bounds how many machines are replaced at one time.
type UpdateConfig struct {
	MaxUnavailable           *int `json:"maxUnavailable,omitempty"`
	MaxUnavailablePercentage *int `json:"maxUnavailablePercentage,omitempty"`
}

// NodeRepair has EKS replace machines whose Nodes are unhealthy.
type NodeRepair struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// A LifecycleHook holds up an auto scaling group.
type LifecycleHook struct {
	DefaultResult         string           `json:"defaultResult,omitempty"`
	HeartbeatTimeout      *metav1.Duration `json:"heartbeatTimeout,omitempty"`
	LifecycleTransition   string           `json:"lifecycleTransition"`
	Name                  string           `json:"name"`
	NotificationMetadata  string           `json:"notificationMetadata,omitempty"`
	NotificationTargetARN string           `json:"notificationTargetARN,omitempty"`
	RoleARN               string           `json:"roleARN,omitempty"`
}

// A LaunchTemplate says what the machines of a pool are.
type LaunchTemplate struct {
	AdditionalSecurityGroups      []ResourceReference      `json:"additionalSecurityGroups,omitempty"`
	AMI                           *AMIReference            `json:"ami,omitempty"`
	CapacityReservationID         string                   `json:"capacityReservationId,omitempty"`
	CapacityReservationPreference string                   `json:"capacityReservationPreference,omitempty"`
	EnclaveOptions                *EnclaveOptions          `json:"enclaveOptions,omitempty"`
	IAMInstanceProfile            string                   `json:"iamInstanceProfile,omitempty"`
	ImageLookupBaseOS             string                   `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat             string                   `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg                string                   `json:"imageLookupOrg,omitempty"`
	InstanceMetadataOptions       *InstanceMetadataOptions `json:"instanceMetadataOptions,omitempty"`
	InstanceType                  string                   `json:"instanceType,omitempty"`
	MarketType                    string                   `json:"marketType,omitempty"`
	Name                          string                   `json:"name,omitempty"`
	NonRootVolumes                []Volume                 `json:"nonRootVolumes,omitempty"`
	PrivateDNSName                *PrivateDNSName          `json:"privateDnsName,omitempty"`
	RootVolume                    *Volume                  `json:"rootVolume,omitempty"`
	SpotMarketOptions             *SpotMarketOptions       `json:"spotMarketOptions,omitempty"`
	SSHKeyName                    *string                  `json:"sshKeyName,omitempty"`
	VersionNumber                 *int64                   `json:"versionNumber,omitempty"`
}

// Machine returns what an instance is made from that has t, and these tags.
func (t *LaunchTemplate) Machine(tags map[string]string) AWSMachineSpec {
	return AWSMachineSpec{
		AdditionalSecurityGroups: t.AdditionalSecurityGroups, AdditionalTags: tags, AMI: t.AMI, CapacityReservationID: t.CapacityReservationID,
		CapacityReservationPreference: t.CapacityReservationPreference, IAMInstanceProfile: t.IAMInstanceProfile,
		ImageLookupBaseOS: t.ImageLookupBaseOS, ImageLookupFormat: t.ImageLookupFormat, ImageLookupOrg: t.ImageLookupOrg,
		InstanceMetadataOptions: t.InstanceMetadataOptions, InstanceType: t.InstanceType, MarketType: t.MarketType, NonRootVolumes: t.NonRootVolumes,
		PrivateDNSName: t.PrivateDNSName, RootVolume: t.RootVolume, SpotMarketOptions: t.SpotMarketOptions, SSHKeyName: t.SSHKeyName,
	}
}

// Image returns the image of people that the machines of a pool have; empty: EKS chooses one.
func (s *AWSManagedMachinePoolSpec) Image() string {
	if t := s.AWSLaunchTemplate; t != nil && t.AMI != nil {
		return t.AMI.ID
	}
	return ""
}

// EnclaveOptions give instances enclaves.
type EnclaveOptions struct {
	Enabled bool `json:"enabled,omitempty"`
}
