package vspheretest

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/units"
	"github.com/vmware/govmomi/vim25/types"
)

// devices are those of the source with changes.
func (c *clone) devices(changes []types.BaseVirtualDeviceConfigSpec) ([]types.BaseVirtualDeviceConfigSpec, types.BaseMethodFault) {
	standard := object.VirtualDeviceList(esx.VirtualDevice)
	var kept object.VirtualDeviceList
	for _, d := range c.source.Hardware.Device {
		if standard.Find(object.VirtualDeviceList(c.source.Hardware.Device).Name(d)) == nil { // vcsim adds those
			kept = append(kept, d)
		}
	}
	var added []types.BaseVirtualDeviceConfigSpec
	for _, change := range changes {
		s := change.GetVirtualDeviceConfigSpec()
		key := s.Device.GetVirtualDevice().Key
		at := slices.IndexFunc(kept, func(d types.BaseVirtualDevice) bool { return d.GetVirtualDevice().Key == key })
		switch {
		case s.Operation == types.VirtualDeviceConfigSpecOperationAdd:
			added = append(added, change)
		case at < 0:
			return nil, &types.InvalidDeviceSpec{DeviceIndex: key}
		case s.Operation == types.VirtualDeviceConfigSpecOperationRemove:
			kept = slices.Delete(kept, at, at+1)
		default:
			if was, ok := kept[at].(*types.VirtualDisk); ok && size(s.Device.(*types.VirtualDisk)) < size(was) {
				return nil, &types.InvalidDeviceOperation{}
			}
			kept[at] = s.Device
		}
	}
	var out []types.BaseVirtualDeviceConfigSpec
	for _, d := range kept {
		s := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: d}
		if b, ok := diskBacking(d); ok {
			s.FileOperation = types.VirtualDeviceConfigSpecFileOperationCreate
			b.FileName, b.Uuid, b.Parent, b.Datastore = "", "", nil, nil // vcsim names and makes it
		}
		if card, ok := d.(types.BaseVirtualEthernetCard); ok {
			card.GetVirtualEthernetCard().MacAddress = ""
		}
		out = append(out, s)
	}
	out = append(out, added...)
	c.v.address(out)
	return out, nil
}

// size is how large a disk is, in bytes.
func size(d *types.VirtualDisk) int64 { return max(d.CapacityInBytes, d.CapacityInKB*units.KB) }

// diskBacking is the file of a disk.
func diskBacking(d types.BaseVirtualDevice) (*types.VirtualDiskFlatVer2BackingInfo, bool) {
	b, ok := d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return b, ok
}

// address gives cards without an address one of vCenter's own range.
func (v *VCenter) address(changes []types.BaseVirtualDeviceConfigSpec) {
	for _, c := range changes {
		s := c.GetVirtualDeviceConfigSpec()
		card, ok := s.Device.(types.BaseVirtualEthernetCard)
		if !ok || s.Operation != types.VirtualDeviceConfigSpecOperationAdd || card.GetVirtualEthernetCard().MacAddress != "" {
			continue
		}
		v.mu.Lock()
		v.macs++
		n := v.macs
		v.mu.Unlock()
		card.GetVirtualEthernetCard().MacAddress = fmt.Sprintf("00:50:56:%02x:%02x:%02x", 0x80+n>>16&0x3f, n>>8&0xff, n&0xff)
		card.GetVirtualEthernetCard().AddressType = string(types.VirtualEthernetCardMacTypeAssigned)
	}
}
