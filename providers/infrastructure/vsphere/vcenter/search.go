package vcenter

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// WithUUID returns the VMs and templates whose BIOS has uuid, whosesoever they are, with all that
// a look has of those that are somebody's. Several may have it, as nothing keeps a copy from it.
// One that vCenter found and whose configuration it does not tell is among them, with uuid.
func (c *Client) WithUUID(ctx context.Context, uuid string) ([]VM, error) {
	out, err := again(ctx, c, func(ctx context.Context) ([]VM, error) { return c.withUUID(ctx, uuid) })
	return out, WrapLook("find the virtual machine with UUID "+uuid, err)
}

func (c *Client) withUUID(ctx context.Context, uuid string) ([]VM, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	res, err := methods.FindAllByUuid(ctx, vim, &types.FindAllByUuid{
		This: *vim.ServiceContent.SearchIndex, Uuid: uuid, VmSearch: true, InstanceUuid: new(false),
	})
	if err != nil || len(res.Returnval) == 0 {
		return nil, err
	}
	all, err := c.detailedOnce(ctx, res.Returnval)
	if err != nil {
		return nil, err
	}
	var out []VM
	for _, vm := range all {
		if vm.Unread {
			vm.UUID = strings.ToLower(uuid)
		}
		if strings.EqualFold(vm.UUID, uuid) {
			out = append(out, vm)
		}
	}
	return out, nil
}

// Detailed returns VMs of any owner, with all details that an observation has of owned VMs.
// What is gone is left out.
func (c *Client) Detailed(ctx context.Context, refs []Ref) ([]VM, error) {
	out, err := again(ctx, c, func(ctx context.Context) ([]VM, error) { return c.detailedOnce(ctx, refs) })
	return out, WrapLook("read virtual machines of "+c.String(), err)
}

func (c *Client) detailedOnce(ctx context.Context, refs []Ref) ([]VM, error) {
	objects, err := c.details(ctx, refs, append(alwaysPaths(), detailPaths()...))
	if err != nil {
		return nil, err
	}
	var out []VM
	for _, o := range objects {
		if gone, err := missing(o); err != nil {
			return nil, err
		} else if gone {
			continue
		}
		vm := VM{Ref: o.Obj, Unread: true}
		for _, p := range o.PropSet {
			vm.read(p)
		}
		out = append(out, vm)
	}
	return out, nil
}
