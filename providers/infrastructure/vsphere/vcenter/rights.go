package vcenter

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
)

// A Need is a privilege that the user needs on an object.
type Need struct {
	On        Ref
	Path      string // of the object, for messages
	Privilege string // "VirtualMachine.Interact.PowerOn"
}

// CheckRights asks, with one request, whether the user has all that needs are of. Where not, the
// kind is Unauthorized, and the error names each privilege that is missing, and its object. The
// user has to see the objects (System.Read).
func (c *Client) CheckRights(ctx context.Context, needs []Need) error {
	op := "work with the rights of " + c.User()
	if len(needs) == 0 {
		return nil
	}
	granted, err := again(ctx, c, func(ctx context.Context) (map[Need]bool, error) { return c.granted(ctx, needs) })
	if err != nil {
		return WrapLook(op, err)
	}
	var paths []string
	lacks := make(map[string][]string)
	for _, n := range needs {
		if granted[Need{On: n.On, Privilege: n.Privilege}] || slices.Contains(lacks[n.Path], n.Privilege) {
			continue
		}
		if lacks[n.Path] == nil {
			paths = append(paths, n.Path)
		}
		lacks[n.Path] = append(lacks[n.Path], n.Privilege)
	}
	if len(paths) == 0 {
		return nil
	}
	for i, p := range paths {
		paths[i] = strings.Join(lacks[p], ", ") + " on " + p
	}
	return fleet.Errorf(fleet.Unauthorized, op, "the user lacks %s (give it a role with them there: see Rights in docs/guides/infrastructure/vsphere.md)", strings.Join(paths, "; "))
}

// granted returns those of needs that the session has, without their paths.
func (c *Client) granted(ctx context.Context, needs []Need) (map[Need]bool, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	manager := vim.ServiceContent.AuthorizationManager
	if manager == nil {
		return nil, errors.New("vCenter names no AuthorizationManager")
	}
	req := types.HasPrivilegeOnEntities{This: *manager, SessionId: c.sessionKey()}
	for _, n := range needs {
		if !slices.Contains(req.Entity, n.On) {
			req.Entity = append(req.Entity, n.On)
		}
		if !slices.Contains(req.PrivId, n.Privilege) {
			req.PrivId = append(req.PrivId, n.Privilege)
		}
	}
	res, err := methods.HasPrivilegeOnEntities(ctx, vim, &req)
	if err != nil {
		return nil, err
	}
	out := make(map[Need]bool)
	for _, e := range res.Returnval {
		for _, p := range e.PrivAvailability {
			out[Need{On: e.Entity, Privilege: p.PrivId}] = p.IsGranted
		}
	}
	return out, nil
}

// sessionKey is the id of the session, as vCenter gave it.
func (c *Client) sessionKey() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key
}
