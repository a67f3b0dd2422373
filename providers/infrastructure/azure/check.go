package azure

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// Check implements providers.Checker.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	lacks := make(demands)
	out := driver.Check(clusters, "subscription", func(c *fleet.Cluster, note driver.Note) error { return p.check(ctx, c, note, lacks) })
	return append(out, lacks.find(ctx)...), nil
}

// check looks up what the machines of c need: the subscription, the VNet, the rights, and of each pool the size, its zones and
// the image. It adds those that are to be made to lacks.
func (p *Provider) check(ctx context.Context, c *fleet.Cluster, note driver.Note, lacks demands) error {
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return arm.WrapLook("look at Azure", err)
	}
	note("subscription", v.place.id(), nil)
	d := new(steps.Decision)
	n := v.network(d)
	for _, err := range d.Faults {
		note("network", "", err)
	}
	if n.vnet != "" && len(d.Faults) == 0 {
		note("network", fmt.Sprintf("VNet %s with %d subnets for machines", v.vnetName(), len(n.subnets)), nil)
	}
	v.checkRights(ctx, note)
	if api.IsManaged(c) {
		return p.checkManaged(ctx, c, note, lacks)
	}
	for _, pool := range c.Pools() {
		spec, err := api.ReadMachine(pool.Infrastructure)
		if err != nil {
			note("pool", "", err)
			continue
		}
		zones, err := v.zonesFor(ctx, spec, providers.MachineRequest{Cluster: c, Pool: pool, FailureDomain: pool.FailureDomain})
		note("size", spec.VMSize+" in zones "+cmp.Or(strings.Join(zones, ", "), "none"), err)
		v.checkImage(ctx, pool, spec, note)
		lacks.add(ctx, v, pool.Replicas-v.machinesOf(pool.Name), spec.VMSize, spec.SpotVMOptions != nil)
	}
	return nil
}
