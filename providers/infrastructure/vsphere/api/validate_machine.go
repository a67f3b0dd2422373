package api

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// What a machine has that says nothing else, as in Cluster API.
// Source: CAPV, pkg/services/govmomi/vcenter/clone.go.
const (
	defaultCPUs      = 2
	defaultMemoryMiB = 2048
)

// Bounds of vSphere and of the schema, so that a request which can never be granted is reported
// before anything is made.
const (
	maxDataDisks = 29 // a controller has thirty, with that of the template
	memoryStep   = 4  // MiB
)

// machine checks the spec of a machine and fills in its defaults.
func (v *validator) machine(at *field.Path, s *VSphereMachineSpec) {
	v.Required(at.Child("template"), s.Template, "the template that machines are clones of, as inventory path, name or item of a content library")
	s.Server = v.server(at.Child("server"), s.Server)
	s.Thumbprint = v.thumbprint(at.Child("thumbprint"), s.Thumbprint)
	if s.Datacenter == "*" {
		s.Datacenter = ""
	}
	enum(v, at.Child("cloneMode"), s.CloneMode, FullClone, LinkedClone)
	v.Forbidden(at.Child("snapshot"), s.Snapshot != "" && s.CloneMode == FullClone, "a full clone is of the present template: leave the field out, or use cloneMode: linkedClone")
	v.compute(at, s)
	v.disks(at, s)
	v.devices(at, s)
	v.keys(at.Child("customVMXKeys"), s.CustomVMXKeys)
	s.TagIDs = v.tags(at.Child("tagIDs"), s.TagIDs)
	if s.OS == Windows {
		v.Forbidden(at.Child("os"), true, "machines of Windows are not set up here: their user data is cloudbase-init's, and their names have 15 characters; use a template of Linux")
	} else if s.OS != "" && s.OS != Linux {
		v.Add(field.NotSupported(at.Child("os"), s.OS, []OS{Linux}))
	}
	s.OS = cmp.Or(s.OS, Linux)
	enum(v, at.Child("ftEncryptionMode"), s.FtEncryptionMode, FtEncryptionDisabled, FtEncryptionOpportunistic, FtEncryptionRequired)
	enum(v, at.Child("migrateEncryption"), s.MigrateEncryption, MigrateEncryptionDisabled, MigrateEncryptionOpportunistic, MigrateEncryptionRequired)
	v.power(at, s)
	v.naming(at.Child("naming", "template"), s.Naming.Template)
	v.network(at.Child("network"), &s.Network)
}

// compute checks processors and memory.
func (v *validator) compute(at *field.Path, s *VSphereMachineSpec) {
	s.NumCPUs, s.MemoryMiB = cmp.Or(s.NumCPUs, defaultCPUs), cmp.Or(s.MemoryMiB, defaultMemoryMiB)
	if s.NumCPUs < 2 {
		v.Invalid(at.Child("numCPUs"), s.NumCPUs, "must be at least 2: kubeadm sets up no control plane on less, and Cluster API makes two of it without a word")
	}
	if n := s.NumCoresPerSocket; n != nil && (*n < 0 || *n > 0 && s.NumCPUs%*n != 0) {
		v.Invalid(at.Child("numCoresPerSocket"), *n, "numCPUs must be a multiple of it; 0 leaves it to vSphere 8")
	}
	if s.MemoryMiB < memoryStep || s.MemoryMiB%memoryStep != 0 {
		v.Invalid(at.Child("memoryMiB"), s.MemoryMiB, "must be a multiple of 4: vSphere takes no other size")
	}
	r, at := &s.Resources, at.Child("resources")
	for name, q := range map[string]ResourceQuantities{"requests": r.Requests, "limits": r.Limits} {
		if q.CPU != nil && q.CPU.Sign() < 0 {
			v.Invalid(at.Child(name, "cpu"), q.CPU.String(), "must not be negative")
		}
		if q.Memory != nil && q.Memory.Sign() < 0 {
			v.Invalid(at.Child(name, "memory"), q.Memory.String(), "must not be negative")
		}
	}
	if a, b := r.Requests.CPU, r.Limits.CPU; a != nil && b != nil && a.Cmp(*b) > 0 {
		v.Invalid(at.Child("requests", "cpu"), a.String(), "must not be above limits.cpu")
	}
	if a, b := r.Requests.Memory, r.Limits.Memory; a != nil && b != nil && a.Cmp(*b) > 0 {
		v.Invalid(at.Child("requests", "memory"), a.String(), "must not be above limits.memory")
	}
	if m := MiB(r.Requests.Memory); m != nil && *m > s.MemoryMiB {
		v.Invalid(at.Child("requests", "memory"), r.Requests.Memory.String(), "must not be above memoryMiB")
	}
	if r.Shares.CPU < 0 {
		v.Invalid(at.Child("shares", "cpu"), r.Shares.CPU, "must not be negative")
	}
	if r.Shares.Memory < 0 {
		v.Invalid(at.Child("shares", "memory"), r.Shares.Memory, "must not be negative")
	}
}

// disks checks sizes. What a linked clone's disks may be is known with its template alone.
func (v *validator) disks(at *field.Path, s *VSphereMachineSpec) {
	if s.DiskGiB < 0 {
		v.Invalid(at.Child("diskGiB"), s.DiskGiB, "must be at least 1; without the field it is as in the template")
	}
	for i, n := range s.AdditionalDisksGiB {
		if n < 0 {
			v.Invalid(at.Child("additionalDisksGiB").Index(i), n, "must not be negative; 0 is as in the template")
		}
	}
	at = at.Child("dataDisks")
	if len(s.DataDisks) > maxDataDisks {
		v.Add(field.TooMany(at, len(s.DataDisks), maxDataDisks))
	}
	for i, d := range s.DataDisks {
		at := at.Index(i)
		v.Required(at.Child("name"), d.Name, "a name that is unique in the list")
		if d.SizeGiB < 1 {
			v.Invalid(at.Child("sizeGiB"), d.SizeGiB, "must be at least 1")
		}
		enum(v, at.Child("provisioningMode"), d.ProvisioningMode, ProvisionThin, ProvisionThick, ProvisionEagerlyZeroed)
	}
	objects.Unique(v, at, s.DataDisks, "name", func(d VSphereDisk) string { return d.Name })
}

var hardwareForm = regexp.MustCompile(`^vmx-[1-9][0-9]?$`)

// devices checks devices of hosts, and the hardware version that they may need.
func (v *validator) devices(at *field.Path, s *VSphereMachineSpec) {
	if s.HardwareVersion != "" && !hardwareForm.MatchString(s.HardwareVersion) {
		v.Invalid(at.Child("hardwareVersion"), s.HardwareVersion, `must be a hardware version like "vmx-21"`)
	}
	for i, d := range s.PciDevices {
		at := at.Child("pciDevices").Index(i)
		switch {
		case d.VGPUProfile != "" && (d.DeviceID != nil || d.VendorID != nil):
			v.Forbidden(at.Child("vGPUProfile"), true, "a device is a vGPU, or passed through by deviceId and vendorId: make two devices of it")
		case d.VGPUProfile != "":
			v.Forbidden(at.Child("customLabel"), d.CustomLabel != "", "a vGPU is found by its profile: leave the field out")
		case d.DeviceID == nil:
			v.Add(field.Required(at.Child("deviceId"), "a device that is passed through is named by deviceId and vendorId, as lspci -nn shows them on the host; a vGPU by vGPUProfile"))
		case d.VendorID == nil:
			v.Add(field.Required(at.Child("vendorId"), "a device that is passed through is named by deviceId and vendorId, as lspci -nn shows them on the host"))
		}
		for name, id := range map[string]*int32{"deviceId": d.DeviceID, "vendorId": d.VendorID} {
			if id != nil && (*id < 0 || *id > 0xffff) {
				v.Invalid(at.Child(name), *id, "must be between 0 and 65535: a number, as 0x1eb8 is 7864")
			}
		}
	}
	if m := MiB(s.Resources.Requests.Memory); m != nil && len(s.PciDevices) > 0 && *m != s.MemoryMiB {
		v.Invalid(at.Child("resources", "requests", "memory"), s.Resources.Requests.Memory.String(), "a machine with pciDevices has all of its memory reserved: leave the field out")
	}
}

// ourKeys are the keys of the configuration that Fairlead writes itself; their encoding too.
var ourKeys = []string{"guestinfo.userdata", "guestinfo.metadata", "guestinfo.vendordata", "guestinfo.ignition.config.data"} //nolint:gochecknoglobals // a constant that Go cannot write as one

// keys checks keys of the configuration.
func (v *validator) keys(at *field.Path, keys map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		name := strings.ToLower(k)
		v.Forbidden(at.Key(k), slices.Contains(ourKeys, strings.TrimSuffix(name, ".encoding")), "what machines boot with is in that key: write it into the bootstrap configuration")
		v.Forbidden(at.Key(k), strings.HasPrefix(name, "fairlead.dev/"), "keys that begin with fairlead.dev/ say whose the machine is")
		if k == "" || strings.ContainsAny(k, " \t\n=") {
			v.Invalid(at, k, `must be keys such as "ctkEnabled"`)
		}
	}
}

var tagForm = regexp.MustCompile(`^urn:vmomi:InventoryServiceTag:[0-9a-fA-F-]{36}:[A-Za-z0-9_-]+$`)

// tags checks tags of vSphere and sorts them: their order says nothing.
func (v *validator) tags(at *field.Path, tags []string) []string {
	for i, t := range tags {
		if !tagForm.MatchString(t) {
			v.Invalid(at.Index(i), t, `must be the id of a tag that exists, such as "urn:vmomi:InventoryServiceTag:3ec8…:GLOBAL": govc tags.info NAME shows it`)
		}
	}
	return objects.Set(v, at, tags)
}

// power checks how a machine is switched off.
func (v *validator) power(at *field.Path, s *VSphereMachineSpec) {
	s.PowerOffMode = cmp.Or(s.PowerOffMode, PowerOffHard)
	objects.Enum(v, at.Child("powerOffMode"), s.PowerOffMode, PowerOffHard, PowerOffSoft, PowerOffTrySoft)
	at = at.Child("guestSoftPowerOffTimeoutSeconds")
	if s.GuestSoftPowerOffTimeoutSeconds < 0 {
		v.Invalid(at, s.GuestSoftPowerOffTimeoutSeconds, "must be at least 1")
	}
	v.Forbidden(at, s.GuestSoftPowerOffTimeoutSeconds != 0 && s.PowerOffMode != PowerOffTrySoft,
		"only powerOffMode: trySoft has a time after which it is switched off hard: use that, or leave the field out")
}
