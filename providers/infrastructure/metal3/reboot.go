package metal3

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

var _ providers.Rebooter = (*Provider)(nil)

// SwitchMachine implements providers.Rebooter: by Ironic, which would switch back what is
// switched otherwise. Off is at once: a machine that hangs does not shut down.
func (p *Provider) SwitchMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	op := "switch machine " + c.Key.Namespace + "/" + string(name) + " " + string(to)
	o := snapshot.OwnerOf(c).Part(name)
	got, err := p.look(ctx, c, o)
	if err != nil {
		return wrap(op, err)
	}
	for _, h := range got.machines {
		if h.machine.Name != name || h.machine.ProviderID != id {
			continue
		}
		if !p.deciding.TryLock(got.nodeID(h)) {
			return fleet.Errorf(fleet.Conflict, op, "host %s is being worked on", h)
		}
		defer p.deciding.Unlock(got.nodeID(h))
		defer got.listings.Changed(o)
		now, err := p.again(ctx, got, h)
		if err != nil || !sameMachine(now, h) {
			return wrap(op, err)
		}
		return wrap(op, got.power(ctx, op, now, to))
	}
	return nil
}

// power has the machine on h switched.
func (o *observation) power(ctx context.Context, op string, h *observedHost, to fleet.HostPower) error {
	n := h.node
	switch {
	case h.machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, op, "what host %s is is not certain: %s", h, h.machine.Damaged)
	case h.machine.Silent:
		return fleet.Errorf(fleet.Unavailable, op, "the BMC of host %s does not answer, and nothing else switches it: %s", h, h.machine.Message)
	case n.State != ironic.Active || n.Maintenance || h.declared.Paused || h.declared.Shared != "" || h.object == nil:
		return fleet.Errorf(fleet.Conflict, op, "host %s is %s: %s", h, n.State, h.next.Held)
	case n.PowerTarget != "" || n.Locked: // its power changes, and the next look tells
		return nil
	case to == fleet.HostOff && n.Power != ironic.PowerOff:
		return o.client.Power(ctx, n.UUID, ironic.Off)
	case to == fleet.HostOn && n.Power != ironic.PowerOn && h.spec.Online:
		return o.client.Power(ctx, n.UUID, ironic.On)
	}
	return nil
}
