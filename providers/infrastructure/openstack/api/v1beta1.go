package api

import (
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// The specs of v1beta1, where they differ from those of v1beta2.

type v1beta1ClusterSpec struct {
	ManagedSubnets                   []SubnetSpec                  `json:"managedSubnets,omitempty"`
	Router                           *RouterParam                  `json:"router,omitempty"`
	Network                          *NetworkParam                 `json:"network,omitempty"`
	Subnets                          []SubnetParam                 `json:"subnets,omitempty"`
	PrimarySubnet                    *SubnetParam                  `json:"primarySubnet,omitempty"`
	NetworkMTU                       *int32                        `json:"networkMTU,omitempty"`
	ExternalRouterIPs                []ExternalRouterIPParam       `json:"externalRouterIPs,omitempty"`
	ExternalNetwork                  *NetworkParam                 `json:"externalNetwork,omitempty"`
	DisableExternalNetwork           *bool                         `json:"disableExternalNetwork,omitempty"`
	APIServerLoadBalancer            *APIServerLoadBalancer        `json:"apiServerLoadBalancer,omitempty"`
	DisableAPIServerFloatingIP       *bool                         `json:"disableAPIServerFloatingIP,omitempty"`
	APIServerFloatingIP              *string                       `json:"apiServerFloatingIP,omitempty"`
	APIServerFixedIP                 *string                       `json:"apiServerFixedIP,omitempty"`
	APIServerPort                    *uint16                       `json:"apiServerPort,omitempty"`
	ManagedSecurityGroups            *v1beta1ManagedSecurityGroups `json:"managedSecurityGroups,omitempty"`
	DisablePortSecurity              *bool                         `json:"disablePortSecurity,omitempty"`
	Tags                             []string                      `json:"tags,omitempty"`
	ControlPlaneEndpoint             *clusterv1.APIEndpoint        `json:"controlPlaneEndpoint,omitempty"`
	ControlPlaneAvailabilityZones    []string                      `json:"controlPlaneAvailabilityZones,omitempty"`
	ControlPlaneOmitAvailabilityZone *bool                         `json:"controlPlaneOmitAvailabilityZone,omitempty"`
	Bastion                          *v1beta1Bastion               `json:"bastion,omitempty"`
	IdentityRef                      OpenStackIdentityReference    `json:"identityRef"`
}

type v1beta1ManagedSecurityGroups struct {
	AllNodesSecurityGroupRules          []SecurityGroupRuleSpec `json:"allNodesSecurityGroupRules,omitempty"`
	ControlPlaneNodesSecurityGroupRules []SecurityGroupRuleSpec `json:"controlPlaneNodesSecurityGroupRules,omitempty"`
	WorkerNodesSecurityGroupRules       []SecurityGroupRuleSpec `json:"workerNodesSecurityGroupRules,omitempty"`
	AllowAllInClusterTraffic            bool                    `json:"allowAllInClusterTraffic"`
}

type v1beta1Bastion struct {
	Enabled          *bool               `json:"enabled,omitempty"`
	Spec             *v1beta1MachineSpec `json:"spec,omitempty"`
	AvailabilityZone *string             `json:"availabilityZone,omitempty"`
	FloatingIP       *string             `json:"floatingIP,omitempty"`
}

type v1beta1MachineSpec struct {
	ProviderID                        *string                           `json:"providerID,omitempty"`
	Flavor                            *string                           `json:"flavor,omitempty"` // name
	FlavorID                          *string                           `json:"flavorID,omitempty"`
	Image                             ImageParam                        `json:"image"`
	SSHKeyName                        string                            `json:"sshKeyName,omitempty"`
	Ports                             []v1beta1PortOpts                 `json:"ports,omitempty"`
	SecurityGroups                    []SecurityGroupParam              `json:"securityGroups,omitempty"`
	Trunk                             bool                              `json:"trunk,omitempty"`
	Tags                              []string                          `json:"tags,omitempty"`
	ServerMetadata                    []ServerMetadata                  `json:"serverMetadata,omitempty"`
	ConfigDrive                       *bool                             `json:"configDrive,omitempty"`
	RootVolume                        *RootVolume                       `json:"rootVolume,omitempty"`
	AdditionalBlockDevices            []AdditionalBlockDevice           `json:"additionalBlockDevices,omitempty"`
	ServerGroup                       *ServerGroupParam                 `json:"serverGroup,omitempty"`
	IdentityRef                       *OpenStackIdentityReference       `json:"identityRef,omitempty"`
	FloatingIPPoolRef                 *corev1.TypedLocalObjectReference `json:"floatingIPPoolRef,omitempty"`
	SchedulerHintAdditionalProperties []SchedulerHintAdditionalProperty `json:"schedulerHintAdditionalProperties,omitempty"`
}

type v1beta1PortOpts struct {
	Network               *NetworkParam        `json:"network,omitempty"`
	Description           *string              `json:"description,omitempty"`
	NameSuffix            *string              `json:"nameSuffix,omitempty"`
	FixedIPs              []FixedIP            `json:"fixedIPs,omitempty"`
	SecurityGroups        []SecurityGroupParam `json:"securityGroups,omitempty"`
	Tags                  []string             `json:"tags,omitempty"`
	Trunk                 *bool                `json:"trunk,omitempty"`
	AdminStateUp          *bool                `json:"adminStateUp,omitempty"`
	MACAddress            *string              `json:"macAddress,omitempty"`
	AllowedAddressPairs   []AddressPair        `json:"allowedAddressPairs,omitempty"`
	HostID                *string              `json:"hostID,omitempty"`
	VNICType              *string              `json:"vnicType,omitempty"`
	Profile               *BindingProfile      `json:"profile,omitempty"`
	DisablePortSecurity   *bool                `json:"disablePortSecurity,omitempty"`
	PropagateUplinkStatus *bool                `json:"propagateUplinkStatus,omitempty"`
	ValueSpecs            []ValueSpec          `json:"valueSpecs,omitempty"`
}
