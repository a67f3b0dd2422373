package maas

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/region"
)

var _ providers.Rebooter = (*Provider)(nil)

// SwitchMachine implements providers.Rebooter. The BMC is asked first: switching on a host that is on would
// restart it.
func (p *Provider) SwitchMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	op := "switch machine " + c.Key.Namespace + "/" + string(name) + " " + string(to)
	o := snapshot.OwnerOf(c).Part(name)
	got, err := p.look(ctx, c, o)
	if err != nil {
		return region.Wrap(op, err)
	}
	for _, h := range got.hosts {
		if h.machine.Name != name || h.machine.ProviderID != id {
			continue
		}
		err := p.Try(o, func() error {
			now, err := p.again(ctx, got, h)
			if err != nil || now == nil {
				return err
			}
			defer got.changed(o)
			return got.power(ctx, op, now, to)
		})
		return region.Wrap(op, err)
	}
	return nil
}

// power switches the machine on h.
func (o *observation) power(ctx context.Context, op string, h *host, to fleet.HostPower) error {
	switch {
	case h.machine.State == fleet.MachineDeleting || h.machine.State == fleet.MachineReleased:
		return nil
	case h.machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, op, "the tags of %s are damaged: %s", h, h.machine.Damaged)
	case h.machine.State != fleet.MachineRunning || h.machine.Silent || h.Locked:
		return fleet.Errorf(fleet.Conflict, op, "%s is %s in MAAS, or locked", h, h.StateName)
	}
	is, err := o.client.PowerState(ctx, h.SystemID)
	switch {
	case err != nil:
		return region.WrapLook("ask for the power of "+h.String(), err)
	case is != region.On && is != region.Off:
		return fleet.Errorf(fleet.Unavailable, op, "the BMC of %s does not answer: its power is %s", h, is)
	case to == fleet.HostOff && is == region.On:
		return region.Wrap(op, o.client.PowerOff(ctx, h.SystemID))
	case to == fleet.HostOn && is == region.Off:
		return region.Wrap(op, o.client.PowerOn(ctx, h.SystemID))
	}
	return nil
}
