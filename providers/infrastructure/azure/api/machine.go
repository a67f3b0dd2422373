package api

import "k8s.io/apimachinery/pkg/api/resource"

// AzureMachineSpec is the virtual machine that a machine is.
type AzureMachineSpec struct {
	AcceleratedNetworking       *bool                   `json:"acceleratedNetworking,omitempty"`
	AdditionalCapabilities      *AdditionalCapabilities `json:"additionalCapabilities,omitempty"`
	AdditionalTags              map[string]string       `json:"additionalTags,omitempty"`
	AllocatePublicIP            *bool                   `json:"allocatePublicIP,omitempty"`
	CapacityReservationGroupID  string                  `json:"capacityReservationGroupID,omitempty"`
	DataDisks                   []DataDisk              `json:"dataDisks,omitempty"`
	Diagnostics                 *Diagnostics            `json:"diagnostics,omitempty"`
	DisableExtensionOperations  *bool                   `json:"disableExtensionOperations,omitempty"`
	DisableVMBootstrapExtension *bool                   `json:"disableVMBootstrapExtension,omitempty"`
	DNSServers                  []string                `json:"dnsServers,omitempty"`
	EnableIPForwarding          *bool                   `json:"enableIPForwarding,omitempty"`
	FailureDomain               string                  `json:"failureDomain,omitempty"`
	Identity                    string                  `json:"identity,omitempty"`
	Image                       *Image                  `json:"image,omitempty"`
	NetworkInterfaces           []NetworkInterface      `json:"networkInterfaces,omitempty"`
	OSDisk                      OSDisk                  `json:"osDisk,omitzero"`
	ProviderID                  string                  `json:"providerID,omitempty"`
	RoleAssignmentName          string                  `json:"roleAssignmentName,omitempty"`
	SecurityProfile             *SecurityProfile        `json:"securityProfile,omitempty"`
	SpotVMOptions               *SpotVMOptions          `json:"spotVMOptions,omitempty"`
	SSHPublicKey                string                  `json:"sshPublicKey,omitempty"`
	SubnetName                  string                  `json:"subnetName,omitempty"`
	SystemAssignedIdentityRole  *SystemAssignedRole     `json:"systemAssignedIdentityRole,omitempty"`
	UserAssignedIdentities      []UserAssignedIdentity  `json:"userAssignedIdentities,omitempty"`
	VirtualMachineScaleSetID    string                  `json:"virtualMachineScaleSetID,omitempty"`
	VMExtensions                []VMExtension           `json:"vmExtensions,omitempty"`
	VMSize                      string                  `json:"vmSize,omitempty"`
}

// AdditionalCapabilities are those of a VM that its size does not give it.
type AdditionalCapabilities struct {
	UltraSSDEnabled *bool `json:"ultraSSDEnabled,omitempty"`
}

// A DataDisk is made with the VM, and deleted with it. Its name is that of the VM with the suffix.
type DataDisk struct {
	CachingType string       `json:"cachingType,omitempty"`
	DiskSizeGB  int32        `json:"diskSizeGB,omitempty"`
	LUN         *int32       `json:"lun,omitempty"`
	ManagedDisk *ManagedDisk `json:"managedDisk,omitempty"`
	NameSuffix  string       `json:"nameSuffix,omitempty"`
}

// An OSDisk is what the VM boots from.
type OSDisk struct {
	CachingType      string            `json:"cachingType,omitempty"`
	DiffDiskSettings *DiffDiskSettings `json:"diffDiskSettings,omitempty"`
	DiskSizeGB       *int32            `json:"diskSizeGB,omitempty"`
	ManagedDisk      *ManagedDisk      `json:"managedDisk,omitempty"`
	OSType           string            `json:"osType,omitempty"`
}

// DiffDiskSettings make the disk an ephemeral one.
type DiffDiskSettings struct {
	Option    string `json:"option,omitempty"`
	Placement string `json:"placement,omitempty"`
}

// A ManagedDisk says what a disk is kept on.
type ManagedDisk struct {
	DiskEncryptionSet  *EncryptionSet       `json:"diskEncryptionSet,omitempty"`
	SecurityProfile    *DiskSecurityProfile `json:"securityProfile,omitempty"`
	StorageAccountType string               `json:"storageAccountType,omitempty"`
}

// An EncryptionSet has the keys of disks.
type EncryptionSet struct {
	ID string `json:"id,omitempty"`
}

// A DiskSecurityProfile is of disks of confidential VMs.
type DiskSecurityProfile struct {
	DiskEncryptionSet      *EncryptionSet `json:"diskEncryptionSet,omitempty"`
	SecurityEncryptionType string         `json:"securityEncryptionType,omitempty"`
}

// Diagnostics say where the log of the boot is kept.
type Diagnostics struct {
	Boot *BootDiagnostics `json:"boot,omitempty"`
}

// BootDiagnostics say so.
type BootDiagnostics struct {
	StorageAccountType string                  `json:"storageAccountType,omitempty"`
	UserManaged        *UserManagedDiagnostics `json:"userManaged,omitempty"`
}

// UserManagedDiagnostics name a storage account.
type UserManagedDiagnostics struct {
	StorageAccountURI string `json:"storageAccountURI,omitempty"`
}

// An Image is what the disk of the VM is made from; nil: the one that CAPZ publishes for the version.
type Image struct {
	ComputeGallery *ComputeGallery `json:"computeGallery,omitempty"`
	ID             string          `json:"id,omitempty"`
	Marketplace    *Marketplace    `json:"marketplace,omitempty"`
	SharedGallery  *SharedGallery  `json:"sharedGallery,omitempty"`
}

// A ComputeGallery is a gallery of the subscription, or without one of the community.
type ComputeGallery struct {
	Gallery        string `json:"gallery,omitempty"`
	Name           string `json:"name,omitempty"`
	Plan           *Plan  `json:"plan,omitempty"`
	ResourceGroup  string `json:"resourceGroup,omitempty"`
	SubscriptionID string `json:"subscriptionID,omitempty"`
	Version        string `json:"version,omitempty"`
}

// A Plan is what an image of the marketplace is bought by.
type Plan struct {
	Offer     string `json:"offer,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	SKU       string `json:"sku,omitempty"`
}

// A Marketplace names an image of the marketplace.
type Marketplace struct {
	Offer           string `json:"offer,omitempty"`
	Publisher       string `json:"publisher,omitempty"`
	SKU             string `json:"sku,omitempty"`
	ThirdPartyImage *bool  `json:"thirdPartyImage,omitempty"`
	Version         string `json:"version,omitempty"`
}

// A SharedGallery names an image of a gallery of a subscription.
type SharedGallery struct {
	Gallery        string `json:"gallery,omitempty"`
	Name           string `json:"name,omitempty"`
	Offer          string `json:"offer,omitempty"`
	Publisher      string `json:"publisher,omitempty"`
	ResourceGroup  string `json:"resourceGroup,omitempty"`
	SKU            string `json:"sku,omitempty"`
	SubscriptionID string `json:"subscriptionID,omitempty"`
	Version        string `json:"version,omitempty"`
}

// A NetworkInterface connects the VM with a subnet. The first one is the primary.
type NetworkInterface struct {
	AcceleratedNetworking *bool  `json:"acceleratedNetworking,omitempty"`
	PrivateIPConfigs      *int32 `json:"privateIPConfigs,omitempty"`
	SubnetName            string `json:"subnetName,omitempty"`
}

// A SecurityProfile protects the VM.
type SecurityProfile struct {
	EncryptionAtHost *bool         `json:"encryptionAtHost,omitempty"`
	SecurityType     string        `json:"securityType,omitempty"`
	UEFISettings     *UEFISettings `json:"uefiSettings,omitempty"`
}

// UEFISettings are those of its firmware.
type UEFISettings struct {
	SecureBootEnabled *bool `json:"secureBootEnabled,omitempty"`
	VTPMEnabled       *bool `json:"vTpmEnabled,omitempty"`
}

// SpotVMOptions make the VM one that Azure may take back.
type SpotVMOptions struct {
	EvictionPolicy string             `json:"evictionPolicy,omitempty"`
	MaxPrice       *resource.Quantity `json:"maxPrice,omitempty"`
}

// A SystemAssignedRole is what an identity of the VM's own may do.
type SystemAssignedRole struct {
	DefinitionID string `json:"definitionID,omitempty"`
	Name         string `json:"name,omitempty"`
	Scope        string `json:"scope,omitempty"`
}

// A UserAssignedIdentity is given to the VM.
type UserAssignedIdentity struct {
	ProviderID string `json:"providerID,omitempty"`
}

// A VMExtension is a program that Azure runs in the VM.
type VMExtension struct {
	Name              string            `json:"name,omitempty"`
	ProtectedSettings map[string]string `json:"protectedSettings,omitempty"`
	Publisher         string            `json:"publisher,omitempty"`
	Settings          map[string]string `json:"settings,omitempty"`
	Version           string            `json:"version,omitempty"`
}
