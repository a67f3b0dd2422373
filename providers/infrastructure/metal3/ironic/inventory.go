package ironic

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
)

// Interfaces returns the MAC addresses of the network cards of a node by what its ramdisk calls them;
// none where no ramdisk looked: what a BMC says has no names.
// Source: Ironic's API, GET /v1/nodes/{id}/inventory, since 1.81.
func (c *Client) Interfaces(ctx context.Context, node string) (map[string]string, error) {
	out := make(map[string]string)
	data, err := nodes.GetInventory(ctx, c.service, node).Extract()
	if err = WrapLook("look what network cards host "+node+" has", err); matches(err, noInventory) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, i := range data.Inventory.Interfaces {
		if i.Name != "" && i.MACAddress != "" {
			out[i.Name] = i.MACAddress
		}
	}
	return out, nil
}
