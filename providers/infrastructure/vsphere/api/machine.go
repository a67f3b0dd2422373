package api

import "k8s.io/apimachinery/pkg/api/resource"

// VSphereMachineSpec is the spec of one machine: a clone of a template.
type VSphereMachineSpec struct {
	VirtualMachineCloneSpec `json:",inline"`

	Network    NetworkSpec `json:"network,omitzero"`
	ProviderID string      `json:"providerID,omitempty"` // refused
	// PowerOffMode is how a machine that is deleted is switched off; default PowerOffHard.
	PowerOffMode PowerOffMode `json:"powerOffMode,omitempty"`
	// GuestSoftPowerOffTimeoutSeconds is how long PowerOffTrySoft waits; 0: five minutes.
	GuestSoftPowerOffTimeoutSeconds int32 `json:"guestSoftPowerOffTimeoutSeconds,omitempty"`
	// Naming says what the virtual machine is called; see VMName.
	Naming Naming `json:"naming,omitzero"`
}

// Naming makes the names of virtual machines.
type Naming struct {
	Template string `json:"template,omitempty"` // empty: the name of the machine
}

// A PowerOffMode says how a machine is switched off.
type PowerOffMode string

// The modes.
const (
	PowerOffHard    PowerOffMode = "hard"
	PowerOffSoft    PowerOffMode = "soft"    // by the guest, however long it takes
	PowerOffTrySoft PowerOffMode = "trySoft" // by the guest, and hard when the time is over
)

// VirtualMachineCloneSpec names the template, the location, and the differences of the clone.
// What names something of the inventory is a name, an inventory path or the id of a managed
// object. What is empty is as in the template, if nothing else is said.
type VirtualMachineCloneSpec struct {
	// Template is cloned: an inventory path, a name, an instance UUID, or an item of a
	// content library.
	Template string `json:"template,omitempty"`
	// CloneMode empty: linked where Template has a snapshot, else full.
	CloneMode CloneMode `json:"cloneMode,omitempty"`
	// Snapshot that a linked clone is of; empty: the current one.
	Snapshot string `json:"snapshot,omitempty"`

	Server     string `json:"server,omitempty"`     // empty: that of the cluster
	Thumbprint string `json:"thumbprint,omitempty"` // of Server; empty: that of the cluster
	Datacenter string `json:"datacenter,omitempty"` // empty: the only one
	Folder     string `json:"folder,omitempty"`     // empty: that of virtual machines
	Datastore  string `json:"datastore,omitempty"`  // empty: one that StoragePolicyName allows
	// StoragePolicyName is a storage policy for the files and disks of the machine.
	StoragePolicyName string `json:"storagePolicyName,omitempty"`
	ResourcePool      string `json:"resourcePool,omitempty"` // empty: the only one

	NumCPUs int32 `json:"numCPUs,omitempty"` // default 2
	// NumCoresPerSocket 0 has vSphere 8 choose when the machine is switched on; nil: as
	// the template has it.
	NumCoresPerSocket *int32                  `json:"numCoresPerSocket,omitempty"`
	Resources         VirtualMachineResources `json:"resources,omitzero"`
	MemoryMiB         int64                   `json:"memoryMiB,omitempty"` // default 2048
	DiskGiB           int32                   `json:"diskGiB,omitempty"`   // of the first disk
	// AdditionalDisksGiB are the sizes of the template's other disks, in their order; 0 and
	// what is not named: as the template has it.
	AdditionalDisksGiB []int32 `json:"additionalDisksGiB,omitempty"`
	// DataDisks are made besides those of the template, in this order.
	DataDisks []VSphereDisk `json:"dataDisks,omitempty"`
	// CustomVMXKeys are more keys of the configuration (extraConfig).
	CustomVMXKeys map[string]string `json:"customVMXKeys,omitempty"`
	// TagIDs are tags of vSphere that exist, as URNs.
	TagIDs     []string        `json:"tagIDs,omitempty"`
	PciDevices []PCIDeviceSpec `json:"pciDevices,omitempty"`
	OS         OS              `json:"os,omitempty"` // Linux
	// HardwareVersion, like vmx-21, that the clone is upgraded to before it is switched on.
	HardwareVersion   string            `json:"hardwareVersion,omitempty"`
	NestedHV          *bool             `json:"nestedHV,omitempty"`
	FtEncryptionMode  FtEncryptionMode  `json:"ftEncryptionMode,omitempty"`
	MigrateEncryption MigrateEncryption `json:"migrateEncryption,omitempty"`
	// CryptoKeyID is the key provider that makes a key for the files of the machine;
	// CryptoProfile is the storage policy of that encryption, by its name.
	CryptoKeyID   string `json:"cryptoKeyID,omitempty"`
	CryptoProfile string `json:"cryptoProfile,omitempty"`
}

// A CloneMode says whether a clone has disks of its own.
type CloneMode string

// The modes.
const (
	FullClone   CloneMode = "fullClone"
	LinkedClone CloneMode = "linkedClone" // its disks are on those of a snapshot, of their size
)

// An OS is the operating system of a machine.
type OS string

// The operating systems.
const (
	Linux   OS = "Linux"
	Windows OS = "Windows" // refused
)

// FtEncryptionMode says whether traffic of fault tolerance is encrypted.
type FtEncryptionMode string

// The modes.
const (
	FtEncryptionDisabled      FtEncryptionMode = "ftEncryptionDisabled"
	FtEncryptionOpportunistic FtEncryptionMode = "ftEncryptionOpportunistic"
	FtEncryptionRequired      FtEncryptionMode = "ftEncryptionRequired"
)

// MigrateEncryption says whether traffic of vMotion is encrypted.
type MigrateEncryption string

// The modes.
const (
	MigrateEncryptionDisabled      MigrateEncryption = "disabled"
	MigrateEncryptionOpportunistic MigrateEncryption = "opportunistic"
	MigrateEncryptionRequired      MigrateEncryption = "required"
)

// VirtualMachineResources are what a machine is sure of, may have, and has before others.
type VirtualMachineResources struct {
	Requests ResourceQuantities `json:"requests,omitzero"` // reservations
	Limits   ResourceQuantities `json:"limits,omitzero"`
	Shares   ResourceShares     `json:"shares,omitzero"`
}

// ResourceQuantities are hertz of processors and bytes of memory; nil: as the template has it.
type ResourceQuantities struct {
	CPU    *resource.Quantity `json:"cpu,omitempty"`    // see MHz
	Memory *resource.Quantity `json:"memory,omitempty"` // see MiB
}

// MHz returns the hertz of q in MHz, rounded up; nil where q is nil.
func MHz(q *resource.Quantity) *int64 { return rounded(q, 1_000_000) }

// MiB returns the bytes of q in MiB, rounded up; nil where q is nil.
func MiB(q *resource.Quantity) *int64 { return rounded(q, 1<<20) }

func rounded(q *resource.Quantity, unit int64) *int64 {
	if q == nil {
		return nil
	}
	n, v := int64(0), q.Value()
	if n = v / unit; v%unit > 0 {
		n++
	}
	return &n
}

// ResourceShares are shares of a host that is short of something; 0: as the template has it.
type ResourceShares struct {
	CPU    int32 `json:"cpu,omitempty"`
	Memory int32 `json:"memory,omitempty"`
}

// A VSphereDisk is one more disk of a machine.
type VSphereDisk struct {
	Name             string           `json:"name,omitempty"` // for people and patches
	SizeGiB          int32            `json:"sizeGiB,omitempty"`
	ProvisioningMode ProvisioningMode `json:"provisioningMode,omitempty"` // empty: as datastore and policy have it
}

// A ProvisioningMode says when a disk takes up its size.
type ProvisioningMode string

// The modes.
const (
	ProvisionThin          ProvisioningMode = "Thin"
	ProvisionThick         ProvisioningMode = "Thick"
	ProvisionEagerlyZeroed ProvisioningMode = "EagerlyZeroed"
)

// A PCIDeviceSpec is a device of the host that is passed through, by both ids, or a vGPU.
type PCIDeviceSpec struct {
	DeviceID    *int32 `json:"deviceId,omitempty"`
	VendorID    *int32 `json:"vendorId,omitempty"`
	VGPUProfile string `json:"vGPUProfile,omitempty"`
	CustomLabel string `json:"customLabel,omitempty"` // hardware label of a device that is passed through
}
