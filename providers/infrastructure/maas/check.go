package maas

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

var _ providers.Checker = (*Provider)(nil)

// Check implements providers.Checker: the account and its rights, names that Git has, and whether a host is
// free for each machine that is not there yet.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	taken := make(map[string]bool)
	return driver.Check(clusters, "MAAS", func(c *fleet.Cluster, note driver.Note) error {
		got, err := p.look(ctx, c, snapshot.OwnerOf(c))
		if err != nil {
			return region.WrapLook("look at the machines of "+c.Key.String(), err)
		}
		note("account", "user "+got.listing.user.Name+" of "+got.place().ID, nil)
		if got.name.fqdn != "" {
			text, err := got.checkName(ctx)
			note("endpoint", text, err)
		}
		for _, zone := range got.spec.FailureDomains {
			note("zone", "zone "+zone, has("find zone "+zone, "zone", zone, got.listing.zones))
		}
		images, err := got.client.Names(ctx, region.Images)
		if err != nil {
			return region.WrapLook("list images", err)
		}
		free, err := got.client.Machines(ctx, region.Filter{Free: true})
		if err != nil {
			return region.WrapLook("list free hosts", err)
		}
		for _, pool := range c.Pools() {
			spec, err := api.ReadMachine(pool.Infrastructure)
			if err != nil {
				return err
			}
			note("image", "image "+spec.Image+" of pool "+string(pool.Name), hasImage("find the image of pool "+string(pool.Name), spec.Image, images))
			text, err := got.hostsFor(ctx, pool, spec, free, taken)
			note("hosts", text, err)
		}
		return nil
	}), nil
}

// has returns an error if name is none of list.
func has(op, what, name string, list []string) error {
	if slices.Contains(list, name) {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, op, "MAAS has no %s %q; it has %v", what, name, list)
}

// checkName says whether the account can make the name of the cluster.
func (o *observation) checkName(ctx context.Context) (string, error) {
	op := "make the name " + o.name.fqdn
	domains, err := o.client.Names(ctx, region.Domains)
	if err != nil {
		return "", region.WrapLook("list domains", err)
	}
	if err := has(op, "domain", o.spec.DNSDomain, domains); err != nil {
		return "", err
	}
	if !o.listing.user.Admin {
		return "", o.ofDNS(op, fleet.Errorf(fleet.Unauthorized, op, "the user is no administrator"))
	}
	return "name " + o.name.fqdn, nil
}

// hostsFor takes hosts for the machines of pool that are not there yet, and says how many there are.
func (o *observation) hostsFor(ctx context.Context, pool fleet.Pool, spec *api.MaasMachineSpec, free []region.Machine, taken map[string]bool) (string, error) {
	missing := pool.Replicas
	for _, h := range o.hosts {
		if h.machine.Pool == pool.Name {
			missing--
		}
	}
	if missing <= 0 {
		return fmt.Sprintf("pool %s has all its machines", pool.Name), nil
	}
	found := 0
	var why []string
	for i := range free {
		m := &free[i]
		reason := mismatch(spec, m)
		switch {
		case spec.ResourcePool != "" && m.Pool.Name != spec.ResourcePool, spec.FailureDomain != "" && m.Zone.Name != spec.FailureDomain:
			continue
		case reason == "" && taken[m.SystemID]:
			reason = "is for another machine"
		case reason == "" && found == missing:
			continue
		case reason == "":
			reason = o.mayRun(ctx, m)
		}
		if reason != "" {
			why = append(why, m.Hostname+" "+reason)
			continue
		}
		taken[m.SystemID] = true
		found++
	}
	if found < missing {
		return "", fleet.Errorf(fleet.Exhausted, "find hosts for pool "+string(pool.Name), "%d more are needed, and %d that are Ready in MAAS fit: %s (commission more hosts, or ask for fewer machines)",
			missing, found, claims.Why(why, mostReasons))
	}
	return fmt.Sprintf("there are %d for %d machines of pool %s", found, missing, pool.Name), nil
}
