package vcenter

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// LibraryTemplate returns the VM behind an item of a content library, which is cloned as any
// template. Only items that are templates of VMs have one: an OVF is deployed by a request that
// lasts until all disks are copied, and no task tells another agent how it went.
func (c *Client) LibraryTemplate(ctx context.Context, libraryName, item string) (Ref, error) {
	op := "find " + item + " in content library " + libraryName
	var out Ref
	err := c.rest(ctx, op, func(ctx context.Context, r *rest.Client) error {
		found, err := libraryItem(ctx, r, op, libraryName, item)
		if err != nil {
			return err
		}
		if found.Type != library.ItemTypeVMTX {
			return fleet.Errorf(fleet.Invalid, op, "it is of type %s, and only a VM template can be cloned (clone it to the library as a VM template, or deploy it once and name that VM)", found.Type)
		}
		info, err := vcenter.NewManager(r).GetLibraryTemplateInfo(ctx, found.ID)
		if err != nil {
			return err
		}
		if info.VmTemplate == "" {
			return fleet.Errorf(fleet.Unavailable, op, "vCenter does not tell which VM template it is")
		}
		out = Ref{Type: "VirtualMachine", Value: info.VmTemplate}
		return nil
	})
	return out, transport.Looked(err)
}

func libraryItem(ctx context.Context, r *rest.Client, op, libraryName, name string) (*library.Item, error) {
	m := library.NewManager(r)
	libraries, err := m.FindLibrary(ctx, library.Find{Name: libraryName})
	switch {
	case err != nil:
		return nil, err
	case len(libraries) == 0:
		return nil, fleet.Errorf(fleet.NotFound, op, "there is no such library, or the user may not see it")
	case len(libraries) > 1:
		return nil, fleet.Errorf(fleet.Invalid, op, "%d libraries have that name", len(libraries))
	}
	items, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: libraries[0], Name: name})
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, fleet.Errorf(fleet.NotFound, op, "the library has no such item")
	case len(items) > 1:
		return nil, fleet.Errorf(fleet.Invalid, op, "%d items have that name", len(items))
	}
	return m.GetLibraryItem(ctx, strings.TrimSpace(items[0]))
}
