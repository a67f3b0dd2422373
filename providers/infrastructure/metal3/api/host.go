package api

import corev1 "k8s.io/api/core/v1"

// BareMetalHostSpec is a computer of the inventory.
type BareMetalHostSpec struct {
	Taints          []corev1.Taint   `json:"taints,omitempty"` // refused
	BMC             BMCDetails       `json:"bmc,omitempty"`
	RAID            *RAIDConfig      `json:"raid,omitempty"`
	Firmware        *FirmwareConfig  `json:"firmware,omitempty"`        // refused
	HardwareProfile string           `json:"hardwareProfile,omitempty"` // refused
	RootDeviceHints *RootDeviceHints `json:"rootDeviceHints,omitempty"`
	BootMode        BootMode         `json:"bootMode,omitempty"` // default UEFI
	// BootMACAddress is that of the network card that the host boots from.
	BootMACAddress string `json:"bootMACAddress,omitempty"`
	// Online says whether the host is to be switched on while a machine has it.
	Online                         bool                    `json:"online"`
	ConsumerRef                    *corev1.ObjectReference `json:"consumerRef,omitempty"` // refused, as what follows
	Image                          *HostImage              `json:"image,omitempty"`
	UserData                       *corev1.SecretReference `json:"userData,omitempty"`
	PreprovisioningNetworkDataName string                  `json:"preprovisioningNetworkDataName,omitempty"`
	NetworkData                    *corev1.SecretReference `json:"networkData,omitempty"`
	MetaData                       *corev1.SecretReference `json:"metaData,omitempty"`
	Description                    string                  `json:"description,omitempty"`
	// ExternallyProvisioned says that what is on the host came from elsewhere: no machine
	// has it, and it is neither inspected nor cleaned.
	ExternallyProvisioned bool                  `json:"externallyProvisioned,omitempty"`
	AutomatedCleaningMode AutomatedCleaningMode `json:"automatedCleaningMode,omitempty"` // default metadata
	CustomDeploy          *CustomDeploy         `json:"customDeploy,omitempty"`          // refused
	Architecture          string                `json:"architecture,omitempty"`
	// DisablePowerOff has the host rebooted instead of switched off and on.
	DisablePowerOff   bool               `json:"disablePowerOff,omitempty"`
	InspectionMode    InspectionMode     `json:"inspectionMode,omitempty"` // default agent
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
}

// BMCDetails is how the host is managed; see [ParseBMC].
type BMCDetails struct {
	Address string `json:"address"`
	// CredentialsName is a Secret with the keys username and password.
	CredentialsName                string `json:"credentialsName"`
	DisableCertificateVerification bool   `json:"disableCertificateVerification,omitempty"`
}

// A BootMode is how firmware boots.
type BootMode string

// The modes.
const (
	UEFI           BootMode = "UEFI"
	UEFISecureBoot BootMode = "UEFISecureBoot"
	Legacy         BootMode = "legacy"
)

// An InspectionMode is how it is found out what a host is made of.
type InspectionMode string

// The modes.
const (
	InspectAgent    InspectionMode = "agent"    // a ramdisk looks
	InspectFast     InspectionMode = "fast"     // the BMC says
	InspectDisabled InspectionMode = "disabled" // it is not
)

// RootDeviceHints say which disk an image is written to: all of them are true of it.
type RootDeviceHints struct {
	DeviceName         string `json:"deviceName,omitempty"`
	HCTL               string `json:"hctl,omitempty"`
	Model              string `json:"model,omitempty"`  // a part of it
	Vendor             string `json:"vendor,omitempty"` // a part of it
	SerialNumber       string `json:"serialNumber,omitempty"`
	MinSizeGigabytes   int    `json:"minSizeGigabytes,omitempty"`
	WWN                string `json:"wwn,omitempty"`
	WWNWithExtension   string `json:"wwnWithExtension,omitempty"`
	WWNVendorExtension string `json:"wwnVendorExtension,omitempty"`
	Rotational         *bool  `json:"rotational,omitempty"`
}

// RAIDConfig is how disks are put together: nil lists leave it unchanged, an empty one removes
// all volumes.
type RAIDConfig struct {
	HardwareRAIDVolumes []HardwareRAIDVolume `json:"hardwareRAIDVolumes"`
	SoftwareRAIDVolumes []SoftwareRAIDVolume `json:"softwareRAIDVolumes"`
}

// A HardwareRAIDVolume is a volume that a controller makes.
type HardwareRAIDVolume struct {
	SizeGibibytes         *int     `json:"sizeGibibytes,omitempty"` // nil, 0: as large as can be
	Level                 string   `json:"level"`
	Name                  string   `json:"name,omitempty"`
	Rotational            *bool    `json:"rotational,omitempty"`
	NumberOfPhysicalDisks *int     `json:"numberOfPhysicalDisks,omitempty"`
	Controller            string   `json:"controller,omitempty"`
	PhysicalDisks         []string `json:"physicalDisks,omitempty"`
}

// A SoftwareRAIDVolume is a volume that the ramdisk makes.
type SoftwareRAIDVolume struct {
	RootVolume    bool              `json:"rootVolume,omitempty"`
	SizeGibibytes *int              `json:"sizeGibibytes,omitempty"` // nil, 0: as large as can be
	Level         string            `json:"level"`
	PhysicalDisks []RootDeviceHints `json:"physicalDisks,omitempty"`
}

// FirmwareConfig is refused: Metal3 no longer reads it.
type FirmwareConfig struct {
	VirtualizationEnabled             *bool `json:"virtualizationEnabled,omitempty"`
	SimultaneousMultithreadingEnabled *bool `json:"simultaneousMultithreadingEnabled,omitempty"`
	SriovEnabled                      *bool `json:"sriovEnabled,omitempty"`
}

// HostImage is the image of a host: refused, since hosts are machines' here.
type HostImage struct {
	URL               string       `json:"url"`
	Checksum          string       `json:"checksum,omitempty"`
	ChecksumType      ChecksumType `json:"checksumType,omitempty"`
	DiskFormat        *DiskFormat  `json:"format,omitempty"`
	OCIAuthSecretName *string      `json:"ociAuthSecretName,omitempty"`
}

// A NetworkInterface is the port of a switch that a network card is on.
type NetworkInterface struct {
	Name                  string                   `json:"name,omitempty"`
	MACAddress            string                   `json:"macAddress,omitempty"`
	HostNetworkAttachment HostNetworkAttachmentRef `json:"hostNetworkAttachment,omitempty"`
	SwitchPort            *SwitchPort              `json:"switchPort,omitempty"`
}

// A HostNetworkAttachmentRef names a HostNetworkAttachment.
type HostNetworkAttachmentRef struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// A SwitchPort is a port of a switch.
type SwitchPort struct {
	SwitchID string `json:"switchID"`
	PortID   string `json:"portID"`
}
