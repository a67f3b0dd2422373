package api

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// The identities of a VM.
const (
	NoIdentity   = "None"
	UserAssigned = "UserAssigned"
)

// largestDisk is the size of the largest disk, in GiB.
const largestDisk = 65536

var suffix = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,32}$`)

func (v *validator) machine(at *field.Path, s *AzureMachineSpec) { v.machineOf(at, at, s) }

// machineOf checks a machine whose identities and tags are at another path.
func (v *validator) machineOf(at, of *field.Path, s *AzureMachineSpec) {
	v.Required(at.Child("vmSize"), s.VMSize, "the size of the VM, such as Standard_D4s_v5")
	v.tags(of.Child("additionalTags"), s.AdditionalTags)
	s.DisableVMBootstrapExtension = nil
	if s.SSHPublicKey != "" {
		text, err := base64.StdEncoding.DecodeString(s.SSHPublicKey)
		if err != nil || !strings.HasPrefix(string(text), "ssh-") {
			v.Invalid(at.Child("sshPublicKey"), s.SSHPublicKey, `must be a public key such as "ssh-ed25519 AAAA…", encoded as base64`)
		}
	}
	if z := s.FailureDomain; z != "" && !zones[z] {
		v.Invalid(at.Child("failureDomain"), z, "must be an availability zone: 1, 2 or 3")
	}
	v.ofIdentity(of, s)
	v.disks(at, s)
	if s.Image != nil {
		v.image(at.Child("image"), s.Image)
	}
	if o := s.SpotVMOptions; o != nil {
		o.EvictionPolicy = cmp.Or(o.EvictionPolicy, "Delete")
		if o.EvictionPolicy == "Deallocate" {
			v.Invalid(at.Child("spotVMOptions", "evictionPolicy"), o.EvictionPolicy, "a machine that was deallocated does not come back by itself: use Delete, and a new one is made")
		} else {
			objects.Enum(v, at.Child("spotVMOptions", "evictionPolicy"), o.EvictionPolicy, "Delete")
		}
		v.Forbidden(at.Child("capacityReservationGroupID"), s.CapacityReservationGroupID != "", "a spot VM uses no reserved capacity: leave it out")
	}
	for i, a := range s.DNSServers {
		v.IP(at.Child("dnsServers").Index(i), a)
	}
	v.extensions(at.Child("vmExtensions"), s)
	if id := strings.TrimPrefix(s.VirtualMachineScaleSetID, "azure://"); id != "" {
		s.VirtualMachineScaleSetID = id
		if v.id(at.Child("virtualMachineScaleSetID"), id, ""); !strings.Contains(strings.ToLower(id), "/microsoft.compute/virtualmachinescalesets/") {
			v.Invalid(at.Child("virtualMachineScaleSetID"), id, "must be the id of a scale set")
		}
	}
	v.named(at.Child("subnetName"), s.SubnetName)
	v.interfaces(at.Child("networkInterfaces"), s)
	v.Forbidden(at.Child("subnetName"), s.SubnetName != "" && len(s.NetworkInterfaces) > 0, "name the subnet in networkInterfaces")
	v.Forbidden(at.Child("acceleratedNetworking"), s.AcceleratedNetworking != nil && len(s.NetworkInterfaces) > 0, "write it into networkInterfaces")
	if p := s.SecurityProfile; p != nil && p.SecurityType != "" {
		objects.Enum(v, at.Child("securityProfile", "securityType"), p.SecurityType, "ConfidentialVM", "TrustedLaunch")
	}
	if d := s.Diagnostics; d != nil && d.Boot != nil {
		below := at.Child("diagnostics", "boot")
		objects.Enum(v, below.Child("storageAccountType"), d.Boot.StorageAccountType, "Managed", "UserManaged", "Disabled")
		v.Forbidden(below.Child("userManaged"), d.Boot.StorageAccountType != "UserManaged" && d.Boot.UserManaged != nil, "set storageAccountType: UserManaged, or leave it out")
		if d.Boot.StorageAccountType == "UserManaged" && (d.Boot.UserManaged == nil || d.Boot.UserManaged.StorageAccountURI == "") {
			v.Add(field.Required(below.Child("userManaged", "storageAccountURI"), "the URI of the storage account"))
		}
	}
}

// extensions checks the extensions of a VM.
func (v *validator) extensions(at *field.Path, s *AzureMachineSpec) {
	v.Forbidden(at, len(s.VMExtensions) > 0 && s.DisableExtensionOperations != nil && *s.DisableExtensionOperations, "disableExtensionOperations keeps extensions out: leave one of both out")
	for i, e := range s.VMExtensions {
		below := at.Index(i)
		v.Required(below.Child("name"), e.Name, "the type of the extension, such as CustomScript")
		v.named(below.Child("name"), e.Name)
		v.Required(below.Child("publisher"), e.Publisher, "the publisher of the extension")
		v.Required(below.Child("version"), e.Version, "the version of the extension, such as 2.1")
	}
	objects.Unique(v, at, s.VMExtensions, "name", func(e VMExtension) string { return strings.ToLower(e.Name) })
}

// interfaces checks the interfaces. One with one address, and nothing else, is what a machine has without any.
func (v *validator) interfaces(at *field.Path, s *AzureMachineSpec) {
	written := false // by the webhook of CAPZ
	for i := range s.NetworkInterfaces {
		n := &s.NetworkInterfaces[i]
		v.named(at.Index(i).Child("subnetName"), n.SubnetName)
		if c := n.PrivateIPConfigs; c != nil && *c != 1 && *c != 0 {
			v.Invalid(at.Index(i).Child("privateIPConfigs"), *c, oneAddress)
		}
		written, n.PrivateIPConfigs = written || n.PrivateIPConfigs != nil, nil
	}
	if written && len(s.NetworkInterfaces) == 1 && s.NetworkInterfaces[0] == (NetworkInterface{}) {
		s.NetworkInterfaces = nil
	}
}

func (v *validator) ofIdentity(at *field.Path, s *AzureMachineSpec) {
	s.Identity = cmp.Or(s.Identity, NoIdentity)
	if s.Identity == "SystemAssigned" {
		v.Invalid(at.Child("identity"), s.Identity, noRoles)
	} else {
		objects.Enum(v, at.Child("identity"), s.Identity, NoIdentity, UserAssigned)
	}
	v.Forbidden(at.Child("userAssignedIdentities"), s.Identity != UserAssigned && len(s.UserAssignedIdentities) > 0, "set identity: UserAssigned, or leave it out")
	if s.Identity == UserAssigned && len(s.UserAssignedIdentities) == 0 {
		v.Add(field.Required(at.Child("userAssignedIdentities"), "the identities that the VM has"))
	}
	for i := range s.UserAssignedIdentities {
		id, below := &s.UserAssignedIdentities[i].ProviderID, at.Child("userAssignedIdentities").Index(i).Child("providerID")
		if *id = strings.TrimPrefix(strings.TrimPrefix(*id, "azure://"), "azure:"); !strings.HasPrefix(*id, "/subscriptions/") {
			v.Invalid(below, *id, `must be the id of an identity, "/subscriptions/…/userAssignedIdentities/NAME"`)
		}
	}
}

func (v *validator) disks(at *field.Path, s *AzureMachineSpec) {
	os := at.Child("osDisk")
	s.OSDisk.OSType = cmp.Or(s.OSDisk.OSType, "Linux")
	if s.OSDisk.OSType == "Windows" {
		v.Invalid(os.Child("osType"), s.OSDisk.OSType, "machines with Windows are not supported yet")
	} else {
		objects.Enum(v, os.Child("osType"), s.OSDisk.OSType, "Linux")
	}
	s.OSDisk.CachingType = cmp.Or(s.OSDisk.CachingType, "None")
	objects.Enum(v, os.Child("cachingType"), s.OSDisk.CachingType, "None", "ReadOnly", "ReadWrite")
	if n := s.OSDisk.DiskSizeGB; n != nil {
		objects.Within(v, os.Child("diskSizeGB"), *n, 1, largestDisk, "must be between 1 and 65536")
	}
	if d := s.OSDisk.DiffDiskSettings; d != nil {
		objects.Enum(v, os.Child("diffDiskSettings", "option"), d.Option, "Local")
		if d.Placement != "" {
			objects.Enum(v, os.Child("diffDiskSettings", "placement"), d.Placement, "CacheDisk", "NvmeDisk", "ResourceDisk")
		}
		v.Forbidden(os.Child("managedDisk"), s.OSDisk.ManagedDisk != nil, "an ephemeral disk is on the host: leave it out")
	}
	v.managed(os.Child("managedDisk"), s.OSDisk.ManagedDisk)
	luns := map[int32]bool{}
	for i := range s.DataDisks {
		d, below := &s.DataDisks[i], at.Child("dataDisks").Index(i)
		if v.Required(below.Child("nameSuffix"), d.NameSuffix, "what the name of the disk ends with") && !suffix.MatchString(d.NameSuffix) {
			v.Invalid(below.Child("nameSuffix"), d.NameSuffix, "may have letters, digits, '_', '.' and '-', at most 32")
		}
		objects.Within(v, below.Child("diskSizeGB"), d.DiskSizeGB, 1, largestDisk, "must be between 1 and 65536")
		if d.LUN == nil {
			v.Add(field.Required(below.Child("lun"), "the number of the disk, from 0"))
			continue
		}
		objects.Within(v, below.Child("lun"), *d.LUN, 0, 63, "must be between 0 and 63")
		if luns[*d.LUN] {
			v.Add(field.Duplicate(below.Child("lun"), *d.LUN))
		}
		luns[*d.LUN] = true
		if d.CachingType == "" {
			d.CachingType = "ReadWrite"
			if d.ManagedDisk != nil && (d.ManagedDisk.StorageAccountType == "UltraSSD_LRS" || d.ManagedDisk.StorageAccountType == "PremiumV2_LRS") {
				d.CachingType = "None"
			}
		}
		objects.Enum(v, below.Child("cachingType"), d.CachingType, "None", "ReadOnly", "ReadWrite")
		v.managed(below.Child("managedDisk"), d.ManagedDisk)
	}
	objects.Unique(v, at.Child("dataDisks"), s.DataDisks, "nameSuffix", func(d DataDisk) string { return strings.ToLower(d.NameSuffix) })
}

func (v *validator) managed(at *field.Path, d *ManagedDisk) {
	if d != nil && d.SecurityProfile != nil && d.SecurityProfile.SecurityEncryptionType != "" {
		objects.Enum(v, at.Child("securityProfile", "securityEncryptionType"), d.SecurityProfile.SecurityEncryptionType, "VMGuestStateOnly", "DiskWithVMGuestState")
	}
}

func (v *validator) image(at *field.Path, i *Image) {
	n := 0
	for _, set := range []bool{i.ID != "", i.Marketplace != nil, i.SharedGallery != nil, i.ComputeGallery != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		v.Invalid(at, n, "one of id, marketplace, sharedGallery and computeGallery is set")
	}
	need := func(below *field.Path, fields ...string) {
		for i := 0; i < len(fields); i += 2 {
			v.Required(below.Child(fields[i]), fields[i+1], "it is part of the name of the image")
		}
	}
	if i.ID != "" && !strings.HasPrefix(i.ID, "/") {
		v.Invalid(at.Child("id"), i.ID, `must be the id of an image, "/subscriptions/…"`)
	}
	if m := i.Marketplace; m != nil {
		need(at.Child("marketplace"), "publisher", m.Publisher, "offer", m.Offer, "sku", m.SKU, "version", m.Version)
	}
	if g := i.SharedGallery; g != nil {
		need(at.Child("sharedGallery"), "gallery", g.Gallery, "name", g.Name, "version", g.Version, "resourceGroup", g.ResourceGroup, "subscriptionID", g.SubscriptionID)
		if (g.Publisher == "") != (g.Offer == "") || (g.Offer == "") != (g.SKU == "") {
			v.Invalid(at.Child("sharedGallery"), g.Publisher, "publisher, offer and sku are set together, or not at all")
		}
	}
	if g := i.ComputeGallery; g != nil {
		need(at.Child("computeGallery"), "gallery", g.Gallery, "name", g.Name, "version", g.Version)
		if (g.SubscriptionID == "") != (g.ResourceGroup == "") {
			v.Invalid(at.Child("computeGallery"), g.SubscriptionID, "subscriptionID and resourceGroup are set together, or neither for a gallery of the community")
		}
		if p := g.Plan; p != nil {
			need(at.Child("computeGallery", "plan"), "publisher", p.Publisher, "offer", p.Offer, "sku", p.SKU)
		}
	}
}
