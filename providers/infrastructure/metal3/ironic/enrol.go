package ironic

import (
	"cmp"
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/ports"

	"fairlead.dev/fleet"
)

// A Spec has the properties of a host with which it is enrolled.
type Spec struct {
	UUID, Name     string // see NodeID
	Driver         string // "redfish"
	Interfaces     map[string]string
	DriverInfo     map[string]any // how to speak to the BMC, with its account
	Properties     map[string]any
	ResourceClass  string
	AutomatedClean bool
	MAC            string // that it boots from; empty: inspection finds it
}

// create is s as Ironic takes it. Interfaces have names of their own there: "boot_interface".
func (s *Spec) create() nodes.CreateOpts {
	return nodes.CreateOpts{
		UUID: s.UUID, Name: s.Name, Driver: s.Driver, DriverInfo: s.DriverInfo, Properties: s.Properties,
		ResourceClass: s.ResourceClass, AutomatedClean: &s.AutomatedClean,
		BIOSInterface: s.Interfaces["bios"], BootInterface: s.Interfaces["boot"], DeployInterface: s.Interfaces["deploy"],
		FirmwareInterface: s.Interfaces["firmware"], InspectInterface: s.Interfaces["inspect"], ManagementInterface: s.Interfaces["management"],
		NetworkInterface: s.Interfaces["network"], PowerInterface: s.Interfaces["power"], RAIDInterface: s.Interfaces["raid"],
		VendorInterface: s.Interfaces["vendor"],
	}
}

// Create enrols a host and its network card. It may be repeated: what is there is not enrolled
// again. A name or a card that another node has gives the kind Conflict, and what was made is
// finished by the next call.
func (c *Client) Create(ctx context.Context, s Spec) error {
	op := "enrol host " + s.Name
	err := Wrap(op, nodes.Create(ctx, c.service, s.create()).Err)
	if fleet.KindOf(err) == fleet.Conflict && !IsLocked(err) {
		n, looked := c.Node(ctx, s.UUID)
		if fleet.KindOf(looked) == fleet.NotFound {
			return err // the name is another node's
		}
		if looked != nil {
			return Wrap(op, looked)
		}
		if n.Name != s.Name {
			return fleet.Errorf(fleet.Conflict, op, "its UUID %s is that of node %s (give the node its name back, or remove it)", s.UUID, n.Name)
		}
		err = nil
	}
	if err != nil || s.MAC == "" {
		return err
	}
	return c.createPort(ctx, op, s.UUID, strings.ToLower(s.MAC))
}

// createPort tells Ironic of the card of a node. No two ports have one address.
func (c *Client) createPort(ctx context.Context, op, node, mac string) error {
	err := Wrap(op, ports.Create(ctx, c.service, ports.CreateOpts{NodeUUID: node, Address: mac}).Err)
	if fleet.KindOf(err) != fleet.Conflict || IsLocked(err) {
		return err
	}
	pages, looked := ports.List(c.service, ports.ListOpts{Address: mac, Fields: []string{"uuid", "address", "node_uuid"}}).AllPages(ctx) // there is one at most
	if looked != nil {
		return WrapLook(op, looked)
	}
	found, looked := ports.ExtractPorts(pages)
	if looked != nil {
		return WrapLook(op, looked)
	}
	if len(found) == 0 { // it went meanwhile
		return err
	}
	if found[0].NodeUUID == node {
		return nil
	}
	other, looked := c.Node(ctx, found[0].NodeUUID)
	if looked != nil {
		return err
	}
	return fleet.Errorf(fleet.Conflict, op, "its network card %s is that of node %s of Ironic (correct bootMACAddress in Git, or remove the wrong node from Ironic)", mac, cmp.Or(other.Name, other.UUID))
}

// Configure tells Ironic another account of the BMC, or other properties. Nil leaves what is
// there: what is read of an account is a mask, and not to be compared.
func (c *Client) Configure(ctx context.Context, node string, driverInfo, properties map[string]any) error {
	var ops nodes.UpdateOpts
	if driverInfo != nil {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/driver_info", Value: driverInfo})
	}
	if properties != nil {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/properties", Value: properties})
	}
	if len(ops) == 0 {
		return nil
	}
	return Wrap("configure host "+node, nodes.Update(ctx, c.service, node, ops).Err)
}

// Delete has Ironic forget a host: nothing is done to it. One that is not there is success;
// one that is a machine's gives the kind Conflict.
func (c *Client) Delete(ctx context.Context, node string) error {
	err := Wrap("remove host "+node, nodes.Delete(ctx, c.service, node).ExtractErr())
	if fleet.KindOf(err) == fleet.NotFound {
		return nil
	}
	return err
}
