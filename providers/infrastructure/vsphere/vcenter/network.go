package vcenter

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
)

// Backing returns what connects a network card to network: a port group of hosts, one of a
// distributed switch, or a segment of NSX.
func (c *Client) Backing(ctx context.Context, network *Entity) (types.BaseVirtualDeviceBackingInfo, error) {
	op := "connect a network card to " + network.Path
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, WrapLook(op, err)
	}
	var out types.BaseVirtualDeviceBackingInfo
	switch network.Ref.Type {
	case "Network":
		ref := network.Ref
		return &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: network.Name}, Network: &ref,
		}, nil
	case "DistributedVirtualPortgroup":
		out, err = object.NewDistributedVirtualPortgroup(vim, network.Ref).EthernetCardBackingInfo(ctx)
	case "OpaqueNetwork":
		out, err = object.NewOpaqueNetwork(vim, network.Ref).EthernetCardBackingInfo(ctx)
	default:
		return nil, fleet.Errorf(fleet.Invalid, op, "it is a %s", network.Ref.Type)
	}
	return out, WrapLook(op, err)
}
