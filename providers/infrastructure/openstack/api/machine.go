package api

import corev1 "k8s.io/api/core/v1"

// OpenStackMachineSpec is the spec of one machine: a server of Nova.
type OpenStackMachineSpec struct {
	ProviderID *string     `json:"providerID,omitempty"` // refused
	Flavor     FlavorParam `json:"flavor,omitzero"`
	// Image of the server, or of RootVolume where there is one.
	Image      ImageParam `json:"image,omitzero"`
	SSHKeyName string     `json:"sshKeyName,omitempty"`
	// Ports of the server; none means one on the network of the cluster.
	Ports []PortOpts `json:"ports,omitempty"`
	// SecurityGroups of the ports that have none, besides the managed ones.
	SecurityGroups []SecurityGroupParam `json:"securityGroups,omitempty"`
	Trunk          bool                 `json:"trunk,omitempty"` // of ports that do not say
	// Tags of server, ports, trunks and volumes, besides those of the cluster.
	Tags                   []string                    `json:"tags,omitempty"`
	ServerMetadata         []ServerMetadata            `json:"serverMetadata,omitempty"`
	ConfigDrive            *bool                       `json:"configDrive,omitempty"` // nil: as Nova has it
	RootVolume             *RootVolume                 `json:"rootVolume,omitempty"`  // boot from a volume
	AdditionalBlockDevices []AdditionalBlockDevice     `json:"additionalBlockDevices,omitempty"`
	ServerGroup            *ServerGroupParam           `json:"serverGroup,omitempty"`
	IdentityRef            *OpenStackIdentityReference `json:"identityRef,omitempty"` // nil: that of the cluster
	// FloatingIPPoolRef names the OpenStackFloatingIPPool that the machine gets
	// a floating IP from.
	FloatingIPPoolRef                 *corev1.TypedLocalObjectReference `json:"floatingIPPoolRef,omitempty"`
	SchedulerHintAdditionalProperties []SchedulerHintAdditionalProperty `json:"schedulerHintAdditionalProperties,omitempty"`
}

// PortOpts is a port of a machine.
type PortOpts struct {
	Network     *NetworkParam `json:"network,omitempty"` // nil: that of the cluster, or of FixedIPs
	Description *string       `json:"description,omitempty"`
	NameSuffix  *string       `json:"nameSuffix,omitempty"` // nil: the index of the port
	FixedIPs    []FixedIP     `json:"fixedIPs,omitempty"`
	// SecurityGroups instead of those of the machine.
	SecurityGroups []SecurityGroupParam `json:"securityGroups,omitempty"`
	Tags           []string             `json:"tags,omitempty"`  // besides those of the machine
	Trunk          *bool                `json:"trunk,omitempty"` // nil: as the machine

	ResolvedPortSpecFields `json:",inline"`
}

// ResolvedPortSpecFields are the fields of a port that go to Neutron
// unchanged. What is nil is left to Neutron.
type ResolvedPortSpecFields struct {
	AdminStateUp          *bool           `json:"adminStateUp,omitempty"`
	MACAddress            *string         `json:"macAddress,omitempty"`
	AllowedAddressPairs   []AddressPair   `json:"allowedAddressPairs,omitempty"`
	HostID                *string         `json:"hostID,omitempty"`
	VNICType              *string         `json:"vnicType,omitempty"`
	Profile               *BindingProfile `json:"profile,omitempty"`
	EnablePortSecurity    *bool           `json:"enablePortSecurity,omitempty"`
	PropagateUplinkStatus *bool           `json:"propagateUplinkStatus,omitempty"`
	ValueSpecs            []ValueSpec     `json:"valueSpecs,omitempty"`
}

// A FixedIP is an address of a port: one of Subnet, IPAddress, or both.
type FixedIP struct {
	Subnet    *SubnetParam `json:"subnet,omitempty"`
	IPAddress *string      `json:"ipAddress,omitempty"`
}

// An AddressPair is what a port may send from besides its own address.
type AddressPair struct {
	IPAddress  string  `json:"ipAddress,omitempty"` // or a range, where Neutron allows it
	MACAddress *string `json:"macAddress,omitempty"`
}

// A BindingProfile is what of a port's binding may be asked for.
type BindingProfile struct {
	OVSHWOffload *bool `json:"ovsHWOffload,omitempty"` // capabilities: [switchdev]
	TrustedVF    *bool `json:"trustedVF,omitempty"`    // trusted: true
}

// A ValueSpec is one more key of the request that makes a port.
type ValueSpec struct {
	Name  string `json:"name,omitempty"` // for people and patches, unique in its list
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// ServerMetadata is one pair of a server's metadata.
type ServerMetadata struct {
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

// A RootVolume is the volume that a server boots from.
type RootVolume struct {
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	BlockDeviceVolume `json:",inline"`
}

// BlockDeviceVolume says what kind of volume Cinder makes.
type BlockDeviceVolume struct {
	Type             string                  `json:"type,omitempty"` // empty: Cinder's default
	AvailabilityZone *VolumeAvailabilityZone `json:"availabilityZone,omitempty"`
}

// A VolumeAZSource says where the availability zone of a volume comes from.
type VolumeAZSource string

// The sources.
const (
	VolumeAZFromName    VolumeAZSource = "Name"    // the default
	VolumeAZFromMachine VolumeAZSource = "Machine" // the zone of the machine, if it has one
)

// A VolumeAZName is an availability zone of Cinder.
type VolumeAZName string

// VolumeAvailabilityZone is the availability zone of a volume.
type VolumeAvailabilityZone struct {
	From VolumeAZSource `json:"from,omitempty"`
	Name *VolumeAZName  `json:"name,omitempty"` // with VolumeAZFromName, and only then
}

// An AdditionalBlockDevice is one more disk of a server. Name is also its tag in
// the metadata of the server.
type AdditionalBlockDevice struct {
	Name    string             `json:"name,omitempty"`
	SizeGiB int32              `json:"sizeGiB,omitempty"`
	Storage BlockDeviceStorage `json:"storage,omitzero"`
}

// A BlockDeviceType says what a disk is.
type BlockDeviceType string

// The types of disk.
const (
	LocalBlockDevice  BlockDeviceType = "Local"  // on the hypervisor, gone with the server
	VolumeBlockDevice BlockDeviceType = "Volume" // of Cinder
)

// BlockDeviceStorage says what a disk is made of.
type BlockDeviceStorage struct {
	Type   BlockDeviceType    `json:"type,omitempty"`
	Volume *BlockDeviceVolume `json:"volume,omitempty"` // with VolumeBlockDevice, and only then
}

// A SchedulerHintAdditionalProperty is one more hint for Nova's scheduler.
type SchedulerHintAdditionalProperty struct {
	Name  string                       `json:"name,omitempty"`
	Value SchedulerHintAdditionalValue `json:"value,omitzero"`
}

// A SchedulerHintValueType is the type of a hint's value.
type SchedulerHintValueType string

// The types.
const (
	SchedulerHintTypeBool   SchedulerHintValueType = "Bool"
	SchedulerHintTypeString SchedulerHintValueType = "String"
	SchedulerHintTypeNumber SchedulerHintValueType = "Number"
)

// SchedulerHintAdditionalValue is a value of Type; the field of that type is set,
// the others are not.
type SchedulerHintAdditionalValue struct {
	Type   SchedulerHintValueType `json:"type,omitempty"`
	Bool   *bool                  `json:"bool,omitempty"`
	Number *int32                 `json:"number,omitempty"`
	String *string                `json:"string,omitempty"`
}
