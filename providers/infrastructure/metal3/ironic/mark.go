package ironic

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
)

// A Mark says whose a node is that another controller deployed.
type Mark struct {
	Extra any // the value kept at ExtraKey
	Info  any // the value kept at ExtraKey of instance_info
	// Instance is the instance_uuid of a node that has none; empty: it keeps its own.
	Instance string
}

// Mark writes m into a node, in one request that changes nothing else: neither what runs on the
// host nor what Ironic is to do with it. Again is success. With an Instance it fails, as a claim
// does, where somebody has the node.
func (c *Client) Mark(ctx context.Context, node string, m Mark) error {
	ops := nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/extra/" + ExtraKey, Value: m.Extra},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info/" + ExtraKey, Value: m.Info},
	}
	if m.Instance != "" {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_uuid", Value: m.Instance})
	}
	return Wrap("mark host "+node, nodes.Update(ctx, c.service, node, ops).Err)
}

// Unmark takes a Mark off n, a node as it was just looked at. instance is the Instance that the
// Mark gave it; empty: none.
func (c *Client) Unmark(ctx context.Context, n *Node, instance string) error {
	var ops nodes.UpdateOpts
	if _, ok := n.Extra[ExtraKey]; ok {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/extra/" + ExtraKey})
	}
	if _, ok := n.Info[ExtraKey]; ok {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/instance_info/" + ExtraKey})
	}
	if instance != "" && n.Instance == instance {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/instance_uuid"})
	}
	if len(ops) == 0 {
		return nil
	}
	return Wrap("take the mark off host "+n.Name, nodes.Update(ctx, c.service, n.UUID, ops).Err)
}
