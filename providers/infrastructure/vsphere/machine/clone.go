package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// A Template is what a machine is cloned from, as it was seen.
type Template struct {
	Name     string // for messages
	VM       bool   // it is a VM, and no template
	Hardware string // version: "vmx-15"
	Devices  []types.BaseVirtualDevice
	// Snapshot is the current one, nil where it has none. Named is the one that the machine's
	// template names, nil where it names none or there is none of that name.
	Snapshot, Named *types.ManagedObjectReference
}

// A Place is where a machine goes, everything found.
type Place struct {
	FailureDomain string
	Grouped       bool // the zone has a group of hosts
	Folder, Pool  types.ManagedObjectReference
	Datastore     *types.ManagedObjectReference // nil: the template's
	Policy        string                        // id of the storage policy; empty: none is named
	Networks      []types.BaseVirtualDeviceBackingInfo
	Encryption    string // id of the storage policy that encrypts; empty: none is named
}

// A Request is a machine to make.
type Request struct {
	Tags     map[string]string // ownership tags, with the addresses of pools
	Spec     *api.VSphereMachineSpec
	UserData providers.UserData
	Template Template
	Place    Place
}

// Clone returns the name of the VM of r and the request that makes it. It is not powered on:
// what follows needs to know its network cards. Equal arguments give equal requests. What
// cannot be made of the template gives the kind Invalid.
func Clone(r Request) (string, *types.VirtualMachineCloneSpec, error) {
	op := "clone " + r.Template.Name
	linked, snapshot, err := r.mode()
	if err != nil {
		return "", nil, err
	}
	tags := r.Tags
	if r.Place.FailureDomain != "" {
		tags = withTag(tags, TagFailureDomain, r.Place.FailureDomain)
	}
	if how := RemovalOf(r.Spec).String(); how != "" {
		tags = withTag(tags, TagPowerOff, how)
	}
	id := InstanceUUID(tags)
	data, err := userDataSettings(withProviderID(r.UserData, fleet.ProviderID(IDPrefix+id)))
	if err != nil {
		return "", nil, err
	}
	name, err := api.VMName(r.Spec, fleet.MachineName(tags[fleet.TagMachine]))
	if err != nil {
		return "", nil, err
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, make := range []func() ([]types.BaseVirtualDeviceConfigSpec, error){r.resizeDisks, r.dataDisks, r.cards} {
		more, err := make()
		if err != nil {
			return "", nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
		changes = append(changes, more...)
	}
	config := r.hardware()
	config.Uuid, config.InstanceUuid = id, id
	config.DeviceChange = changes
	config.ExtraConfig = options(slices.Concat(r.customKeys(), data, []Setting{{TagsKey, EncodeTags(tags)}}))
	return name, &types.VirtualMachineCloneSpec{Location: r.location(linked), Config: config, Snapshot: snapshot}, nil
}

// mode returns whether r is a linked clone, and of which snapshot.
func (r *Request) mode() (linked bool, of *types.ManagedObjectReference, err error) {
	op := "clone " + r.Template.Name
	t, s := r.Template, r.Spec
	snapshot := t.Snapshot
	if s.Snapshot != "" {
		if snapshot = t.Named; snapshot == nil {
			return false, nil, fleet.Errorf(fleet.Invalid, op, "it has no snapshot called %q (make one, or correct snapshot)", s.Snapshot)
		}
	}
	larger, err := r.larger()
	if err != nil {
		return false, nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	switch {
	case s.CloneMode == api.FullClone && s.Snapshot == "":
		return false, nil, nil
	case s.CloneMode == api.FullClone:
		return false, snapshot, nil
	case s.CloneMode == api.LinkedClone && snapshot == nil:
		return false, nil, fleet.Errorf(fleet.Invalid, op, "cloneMode is linkedClone and it has no snapshot (make one, or say fullClone)")
	case s.CloneMode == api.LinkedClone && larger != "":
		return false, nil, fleet.Errorf(fleet.Invalid, op, "cloneMode is linkedClone, in which disks stay as large as in the template, and %s (leave the size out, make the template's disk that large, or say fullClone)", larger)
	case snapshot == nil || larger != "":
		return false, nil, nil
	}
	return true, snapshot, nil
}

// location says where the clone goes.
func (r *Request) location(linked bool) types.VirtualMachineRelocateSpec {
	move := types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate
	if linked {
		move = types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking
	}
	out := types.VirtualMachineRelocateSpec{
		Folder: new(r.Place.Folder), Pool: new(r.Place.Pool), Datastore: r.Place.Datastore, DiskMoveType: string(move),
	}
	if r.Place.Policy == "" {
		return out
	}
	profile := []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: r.Place.Policy}}
	out.Profile = profile
	for _, d := range disksOf(r.Template.Devices) {
		if r.Place.Datastore != nil {
			out.Disk = append(out.Disk, types.VirtualMachineRelocateSpecDiskLocator{
				DiskId: d.Key, Datastore: *r.Place.Datastore, DiskMoveType: string(move), Profile: profile,
			})
		}
	}
	return out
}

// hardware returns what of the virtual hardware is not a device. What Git leaves out is as in
// the template.
func (r *Request) hardware() *types.VirtualMachineConfigSpec {
	s := r.Spec
	out := &types.VirtualMachineConfigSpec{
		Annotation: fmt.Sprintf("Machine %s of cluster %s of fleet %s, made by Fairlead.", r.Tags[fleet.TagMachine], r.Tags[fleet.TagCluster], r.Tags[fleet.TagFleet]),
		NumCPUs:    s.NumCPUs, NumCoresPerSocket: s.NumCoresPerSocket, MemoryMB: s.MemoryMiB,
		Flags: &types.VirtualMachineFlagInfo{DiskUuidEnabled: new(true)},
		// What an OVF template says of itself goes: cloud-init would read that, and not guestinfo.
		VAppConfigRemoved: new(true), NestedHVEnabled: s.NestedHV,
		FtEncryptionMode: string(s.FtEncryptionMode), MigrateEncryption: string(s.MigrateEncryption),
		CpuAllocation:    allocation(api.MHz(s.Resources.Requests.CPU), api.MHz(s.Resources.Limits.CPU), s.Resources.Shares.CPU),
		MemoryAllocation: allocation(api.MiB(s.Resources.Requests.Memory), api.MiB(s.Resources.Limits.Memory), s.Resources.Shares.Memory),
	}
	if len(s.PciDevices) > 0 { // vCenter takes such devices of a VM whose memory is all its own
		out.MemoryReservationLockedToMax = new(true)
	}
	if r.Place.Encryption != "" {
		out.VmProfile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: r.Place.Encryption}}
	}
	return out
}

// allocation returns a share of a resource; nil if it is not set.
func allocation(request, limit *int64, shares int32) *types.ResourceAllocationInfo {
	if request == nil && limit == nil && shares == 0 {
		return nil
	}
	out := &types.ResourceAllocationInfo{Reservation: request, Limit: limit}
	if shares > 0 {
		out.Shares = &types.SharesInfo{Level: types.SharesLevelCustom, Shares: shares}
	}
	return out
}

// customKeys returns the keys that people set, sorted, without those that are Fairlead's.
func (r *Request) customKeys() []Setting {
	var out []Setting
	for _, k := range slices.Sorted(maps.Keys(r.Spec.CustomVMXKeys)) {
		if !strings.HasPrefix(k, "fairlead.dev/") {
			out = append(out, Setting{k, r.Spec.CustomVMXKeys[k]})
		}
	}
	return out
}
