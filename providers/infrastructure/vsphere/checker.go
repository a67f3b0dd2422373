package vsphere

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

var _ providers.Checker = (*Provider)(nil)

// Check implements providers.Checker: for each pool, wherever its machines may be, that what
// Git names is in the inventory, and that the account may do with it what the agent does.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	const what = "inventory and rights"
	return driver.Check(clusters, what, func(c *fleet.Cluster, note driver.Note) error {
		got, err := p.look(ctx, c, snapshot.OwnerOf(c))
		if err != nil {
			return vcenter.WrapLook("look at what "+c.Key.String()+" needs", err)
		}
		for _, pool := range c.Pools() {
			note(what, "what machines of pool "+string(pool.Name)+" need is there, and may be used", p.checkPool(ctx, got, &pool))
		}
		return nil
	}), nil
}

func (p *Provider) checkPool(ctx context.Context, got *observation, pool *fleet.Pool) error {
	what := "find what machines of pool " + string(pool.Name) + " need"
	placed, err := placements(got.cluster, got.spec, pool)
	if err != nil {
		return wrap(what, err)
	}
	var errs []error
	for _, at := range placed {
		s, err := p.siteFor(ctx, got, at)
		if err == nil {
			var zone error
			zone, err = examine(ctx, s.Client, at)
			err = fleet.JoinErrors(zone, err)
		}
		errs = append(errs, wrap(what, err))
	}
	return fleet.JoinErrors(errs...)
}
