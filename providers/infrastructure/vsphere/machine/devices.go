package machine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/api"
)

const kibPerGiB = 1 << 20

// disksOf returns the disks among devices, in their order, which is that of the guest.
func disksOf(devices []types.BaseVirtualDevice) []*types.VirtualDisk {
	var out []*types.VirtualDisk
	for _, d := range devices {
		if disk, ok := d.(*types.VirtualDisk); ok {
			out = append(out, disk)
		}
	}
	return out
}

// diskFile returns the path of the file of a disk, as "[datastore] folder/name.vmdk"; false: it has none.
func diskFile(d *types.VirtualDisk) (string, bool) {
	b, ok := d.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok {
		return "", false
	}
	return b.GetVirtualDeviceFileBackingInfo().FileName, true
}

// diskUUID returns the UUID of a disk, which stays when the disk is moved; empty if it has none.
func diskUUID(d *types.VirtualDisk) string {
	switch b := d.Backing.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		return b.Uuid
	case *types.VirtualDiskSeSparseBackingInfo:
		return b.Uuid
	case *types.VirtualDiskSparseVer2BackingInfo:
		return b.Uuid
	}
	return ""
}

// cardsOf returns the network cards among devices in the order in which they were added.
func cardsOf(devices []types.BaseVirtualDevice) []*types.VirtualEthernetCard {
	var out []*types.VirtualEthernetCard
	for _, d := range devices {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			out = append(out, card.GetVirtualEthernetCard())
		}
	}
	slices.SortFunc(out, func(a, b *types.VirtualEthernetCard) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// sizes returns how large the disks of the template are to be, in KiB, by their order; 0 is as
// in the template. A size that no disk is there for is an error.
func (r *Request) sizes() ([]int64, error) {
	disks := disksOf(r.Template.Devices)
	wanted := append([]int32{r.Spec.DiskGiB}, r.Spec.AdditionalDisksGiB...)
	out := make([]int64, len(disks))
	for i, gib := range wanted {
		switch {
		case gib == 0:
		case i >= len(disks):
			return nil, fmt.Errorf("it has %d disks, and sizes of %d are given (dataDisks adds disks)", len(disks), len(wanted))
		case int64(gib)*kibPerGiB < disks[i].CapacityInKB:
			return nil, fmt.Errorf("its disk %d has %s, and %d GiB are given: a disk cannot be made smaller", i, size(disks[i].CapacityInKB), gib)
		default:
			out[i] = int64(gib) * kibPerGiB
		}
	}
	return out, nil
}

func size(kib int64) string {
	if kib%kibPerGiB == 0 {
		return fmt.Sprintf("%d GiB", kib/kibPerGiB)
	}
	return fmt.Sprintf("%d KiB", kib)
}

// larger says which disk is to be larger than in the template; empty: none is.
func (r *Request) larger() (string, error) {
	sizes, err := r.sizes()
	if err != nil {
		return "", err
	}
	for i, d := range disksOf(r.Template.Devices) {
		if sizes[i] > d.CapacityInKB {
			return fmt.Sprintf("disk %d is to have %s where the template has %s", i, size(sizes[i]), size(d.CapacityInKB)), nil
		}
	}
	return "", nil
}

// resizeDisks returns the changes of disks that are to be larger.
func (r *Request) resizeDisks() ([]types.BaseVirtualDeviceConfigSpec, error) {
	sizes, err := r.sizes()
	if err != nil {
		return nil, err
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for i, d := range disksOf(r.Template.Devices) {
		if sizes[i] <= d.CapacityInKB {
			continue
		}
		larger := *d
		larger.CapacityInKB, larger.CapacityInBytes = sizes[i], sizes[i]*1024
		out = append(out, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &larger})
	}
	return out, nil
}

// Keys of devices that are to be added: vCenter gives them others. They differ from those of
// any device that is there, and from each other.
const (
	firstCard = -100
	firstPCI  = -200
	firstDisk = -300
)

// mostUnits is how many units a controller has for disks.
// Source: vSphere 8, configuration maximums; CAPV takes as many.
const mostUnits = 30

// dataDisks returns the disks that the template does not have, on the controller of its first
// one.
func (r *Request) dataDisks() ([]types.BaseVirtualDeviceConfigSpec, error) {
	if len(r.Spec.DataDisks) == 0 {
		return nil, nil
	}
	disks := disksOf(r.Template.Devices)
	if len(disks) == 0 {
		return nil, fmt.Errorf("it has no disk, whose controller dataDisks would be on")
	}
	controller := disks[0].ControllerKey
	used := make(map[int32]bool)
	for _, d := range r.Template.Devices {
		v := d.GetVirtualDevice()
		if v.ControllerKey == controller && v.UnitNumber != nil {
			used[*v.UnitNumber] = true
		}
		if s, ok := d.(types.BaseVirtualSCSIController); ok && v.Key == controller { // it takes one itself
			used[s.GetVirtualSCSIController().ScsiCtlrUnitNumber] = true
		}
	}
	var out []types.BaseVirtualDeviceConfigSpec
	unit := int32(0)
	for i, want := range r.Spec.DataDisks {
		for used[unit] {
			unit++
		}
		if unit >= mostUnits {
			return nil, fmt.Errorf("its controller has no unit left for data disk %s", want.Name)
		}
		used[unit] = true
		out = append(out, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Device: &types.VirtualDisk{
				VirtualDevice: types.VirtualDevice{Key: firstDisk - int32(i), ControllerKey: controller, UnitNumber: new(unit), Backing: diskBacking(want)}, //nolint:gosec // there are at most 29
				CapacityInKB:  int64(want.SizeGiB) * kibPerGiB,
			},
			Profile: r.diskProfile(),
		})
	}
	return out, nil
}

func (r *Request) diskProfile() []types.BaseVirtualMachineProfileSpec {
	if r.Place.Policy == "" {
		return nil
	}
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: r.Place.Policy}}
}

func diskBacking(d api.VSphereDisk) *types.VirtualDiskFlatVer2BackingInfo {
	out := &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
	switch d.ProvisioningMode {
	case api.ProvisionThin:
		out.ThinProvisioned = new(true)
	case api.ProvisionThick:
		out.ThinProvisioned = new(false)
	case api.ProvisionEagerlyZeroed:
		out.ThinProvisioned, out.EagerlyScrub = new(false), new(true)
	}
	return out
}

// cards removes the cards of the template, and adds one of type vmxnet3 for each device.
func (r *Request) cards() ([]types.BaseVirtualDeviceConfigSpec, error) {
	devices := r.Spec.Network.Devices
	if len(devices) != len(r.Place.Networks) {
		return nil, fmt.Errorf("it has %d network devices, and %d networks were found", len(devices), len(r.Place.Networks))
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for _, d := range r.Template.Devices {
		if _, ok := d.(types.BaseVirtualEthernetCard); ok {
			out = append(out, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: d})
		}
	}
	for i, want := range devices {
		card := &types.VirtualVmxnet3{}
		card.Key, card.Backing = firstCard-int32(i), r.Place.Networks[i] //nolint:gosec // there are few
		card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: true}
		card.WakeOnLanEnabled = new(true)
		card.AddressType = string(types.VirtualEthernetCardMacTypeGenerated)
		if want.MACAddr != "" {
			card.AddressType, card.MacAddress = string(types.VirtualEthernetCardMacTypeManual), want.MACAddr
		}
		out = append(out, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card})
	}
	return out, nil
}

// missingPCI returns the changes that add those PCI devices of s that devices lack. They are
// added after the hardware was upgraded, which they may need.
func missingPCI(s *api.VSphereMachineSpec, devices []types.BaseVirtualDevice) []types.BaseVirtualDeviceConfigSpec {
	there := make(map[string]int)
	for _, d := range devices {
		if p, ok := d.(*types.VirtualPCIPassthrough); ok {
			there[pciName(p.Backing)]++
		}
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for i, want := range s.PciDevices {
		backing := pciBacking(want)
		if name := pciName(backing); there[name] > 0 {
			there[name]--
			continue
		}
		out = append(out, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device:    &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: firstPCI - int32(i), Backing: backing}}, //nolint:gosec // there are few
		})
	}
	return out
}

func pciBacking(d api.PCIDeviceSpec) types.BaseVirtualDeviceBackingInfo {
	if d.VGPUProfile != "" {
		return &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: d.VGPUProfile}
	}
	return &types.VirtualPCIPassthroughDynamicBackingInfo{
		AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: deref(d.VendorID), DeviceId: deref(d.DeviceID)}},
		CustomLabel:   d.CustomLabel,
	}
}

// pciName is equal for devices that can replace each other.
func pciName(b types.BaseVirtualDeviceBackingInfo) string {
	switch v := b.(type) {
	case *types.VirtualPCIPassthroughVmiopBackingInfo:
		return "vGPU " + v.Vgpu
	case *types.VirtualPCIPassthroughDynamicBackingInfo:
		if len(v.AllowedDevice) == 1 {
			return fmt.Sprintf("device %d of vendor %d", v.AllowedDevice[0].DeviceId, v.AllowedDevice[0].VendorId)
		}
	}
	return ""
}
