package inmemory

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
)

var _ providers.Rebooter = (*Provider)(nil)

// SwitchMachine implements providers.Rebooter. Nothing else switches machines of this cloud: one that
// is off stays off.
func (p *Provider) SwitchMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	op := "switch machine " + c.Key.Namespace + "/" + string(name) + " " + string(to)
	control, ok := p.api.(Control)
	if !ok {
		return fleet.Errorf(fleet.Invalid, op, "this cloud switches nothing")
	}
	got, err := machines{p}.Look(ctx, c, snapshot.OwnerOf(c).Part(name))
	if err != nil {
		return wrap(op, err)
	}
	for _, v := range got.vms {
		switch {
		case v.Provider != id || !v.owned():
			continue
		case v.Silent:
			return fleet.Errorf(fleet.Unavailable, op, "%s", v.Message)
		}
		switch there, err := p.isThere(ctx, c, name, v.ID); {
		case err != nil:
			return wrap(op, err)
		case !there:
			continue
		}
		if to == fleet.HostOff {
			err = control.StopVM(ctx, v.ID)
		} else {
			err = control.StartVM(ctx, v.ID)
		}
		if fleet.KindOf(err) != fleet.NotFound {
			return wrap(op, err)
		}
	}
	return nil
}

// powerOf returns the power of a machine that may be rebooted.
func powerOf(v VM) fleet.HostPower {
	switch {
	case v.State != fleet.MachineRunning || v.Silent || v.Switching:
		return fleet.HostPowerUnknown
	case v.Stopped:
		return fleet.HostOff
	}
	return fleet.HostOn
}
