package ironic

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"fairlead.dev/fleet"
)

// ExtraKey is the key of a node's extra that has what Fairlead keeps there. Nothing but a
// claim writes it: Ironic keeps extra as one value, and of two who write different keys of it
// at once one loses.
const ExtraKey = "fairlead"

// A Claim makes a host a machine's.
type Claim struct {
	Instance string         // see InstanceID
	Info     map[string]any // instance_info: what to deploy
	Extra    map[string]any // the value kept at ExtraKey, also while a release fails
	// Deploy is the deploy interface of the node; empty: the one that Ironic is set up to use;
	// nil: as it was.
	Deploy *string
	// AutomatedClean is whether the host is cleaned when the machine is gone; nil: as it was.
	AutomatedClean *bool
}

// Claim takes a host for a machine in one request, and returns the host after that. Of
// those who claim one host at once exactly one gets it; the same claim again is success.
//
//   - IsAssociated: the host is another machine's.
//   - HasHost: the machine has another host.
//   - IsLocked: nothing is known, the same again.
//
// It checks no state: only hosts that are available and in no maintenance may be claimed, and
// manageable ones that are adopted then.
// Source: Ironic, objects and db: instance_uuid is unique; conductor/manager.py, update_node.
func (c *Client) Claim(ctx context.Context, node string, m Claim) (Node, error) {
	op := "claim host " + node
	if m.Instance == "" {
		return Node{}, fleet.Errorf(fleet.Invalid, op, "no instance_uuid is given, which would release it")
	}
	ops := nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_uuid", Value: m.Instance},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info", Value: m.Info},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/extra/" + ExtraKey, Value: m.Extra},
	}
	switch {
	case m.Deploy == nil:
	case *m.Deploy == "":
		ops = append(ops, nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/deploy_interface"})
	default:
		ops = append(ops, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/deploy_interface", Value: *m.Deploy})
	}
	if m.AutomatedClean != nil {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/automated_clean", Value: *m.AutomatedClean})
	}
	n, err := extract(nodes.Update(ctx, c.service, node, ops))
	return n, Wrap(op, err)
}

// Unclaim gives back a host that was claimed as instance and not deployed. It looks first,
// for Ironic compares nothing: one that is not instance's any more is left alone, which is
// success. A host that was deployed has to be released by Undeploy.
func (c *Client) Unclaim(ctx context.Context, node, instance string) error {
	op := "give back host " + node
	n, err := c.Node(ctx, node)
	if fleet.KindOf(err) == fleet.NotFound || err == nil && n.Instance != instance {
		return nil
	}
	if err != nil {
		return Wrap(op, err)
	}
	if n.State != Available && n.State != Manageable {
		return fleet.Errorf(fleet.Conflict, op, "it is %s, and has to be released", n.State)
	}
	return Wrap(op, nodes.Update(ctx, c.service, node, nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/instance_uuid"},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info", Value: map[string]any{}},
	}).Err)
}
