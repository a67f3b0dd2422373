package maas

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "ensure infrastructure of " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return region.Wrap(op, err)
	}
	if err := got.ensureNames(ctx); err != nil {
		return region.Wrap(op, err)
	}
	if got.name.fqdn == "" {
		p.found.Note(snapshot.OwnerOf(c), true)
	}
	return region.Wrap(op, fleet.JoinErrors(driver.Step(ctx, keeper{p, got}, got.hosts)...))
}

// A keeper keeps machines switched on.
type keeper struct {
	p *Provider
	o *observation
}

var _ driver.Stepper[*host] = keeper{}

// Next implements driver.Stepper. Switching on is a power cycle, so that only a host that is off is switched
// on. What MAAS does not know is no reason.
func (k keeper) Next(h *host) string {
	off := h.Power == region.Off && h.Machine.State == region.Deployed && h.machine.State == fleet.MachineRunning
	if !off || h.machine.Damaged != "" || h.Locked || k.o.cluster.RebootOf(h.machine.Name, h.machine.ProviderID).Off {
		return ""
	}
	return "switch on " + h.String()
}

// Alone implements driver.Stepper.
func (k keeper) Alone(h *host, do func() error) error {
	return k.p.Try(snapshot.OwnerOf(k.o.cluster).Part(h.machine.Name), do)
}

// Again implements driver.Stepper. What MAAS knows of power is up to five minutes old, so that the BMC is asked.
func (k keeper) Again(ctx context.Context, h *host) (*host, bool, error) {
	now, err := k.p.again(ctx, k.o, h)
	if err != nil || now == nil {
		return nil, false, err
	}
	now.Power, err = k.o.client.PowerState(ctx, h.SystemID)
	return now, err == nil, region.WrapLook("ask for the power of "+h.String(), err)
}

// Do implements driver.Stepper.
func (k keeper) Do(ctx context.Context, h *host) error {
	defer k.o.changed(snapshot.OwnerOf(k.o.cluster).Part(h.machine.Name))
	return region.Wrap("switch on "+h.String(), k.o.client.PowerOn(ctx, h.SystemID))
}
