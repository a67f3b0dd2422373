package maas

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, region.WrapLook("observe "+c.Key.String(), err)
	}
	out := fleet.Infrastructure{FailureDomains: got.failureDomains(), Places: []fleet.PlaceSeen{{Place: got.place(), Named: true}}}
	for _, h := range got.hosts {
		out.Machines = append(out.Machines, h.machine)
		if what := (keeper{p, got}).Next(h); what != "" {
			out.Upkeep = append(out.Upkeep, what)
		}
	}
	driver.SortMachines(out.Machines)
	out.Places = append(out.Places, got.memory()...)
	if (machines{p}).Exists(c, got) {
		out.Exists, out.Places[0].Used = true, true
		out.Endpoint = endpoint.Wanted(c)
		if out.Endpoint.Host == "" {
			out.Endpoint.Host = got.name.fqdn
		}
		out.Message = cmp.Or(got.name.missing(), got.endpointHolder())
		out.Ready = out.Message == ""
	}
	for _, n := range got.ours() {
		if out.Ready && !slices.Equal(n.Addresses, got.servers(&n, "")) {
			out.Upkeep = append(out.Upkeep, "update the addresses of "+n.fqdn)
		}
	}
	slices.Sort(out.Upkeep)
	out.Drift = slices.Clone(out.Upkeep)
	return out, nil
}

// endpointHolder says which machine has the virtual address that Git names for a cluster without machines; empty:
// none of those that the account has.
func (o *observation) endpointHolder() string {
	e, err := netip.ParseAddr(endpoint.Wanted(o.cluster).Host)
	if err != nil || o.spec.VirtualIP == nil || o.cluster.ServedElsewhere() || len(o.hosts) > 0 {
		return ""
	}
	for i := range o.listing.machines {
		m := &o.listing.machines[i]
		if slices.ContainsFunc(m.Addresses, func(text string) bool { a, err := netip.ParseAddr(text); return err == nil && a == e }) {
			return fmt.Sprintf("the endpoint %s is an address of host %s (name an unused one in controlPlaneEndpoint.host, and reserve it in MAAS)", e, cmp.Or(m.Hostname, m.SystemID))
		}
	}
	return ""
}

// failureDomains returns the zones that machines may be in: those of Git, or all.
func (o *observation) failureDomains() []fleet.FailureDomain {
	zones := o.spec.FailureDomains
	if len(zones) == 0 {
		zones = o.listing.zones
	}
	var out []fleet.FailureDomain
	for _, z := range slices.Sorted(slices.Values(zones)) {
		out = append(out, fleet.FailureDomain{Name: z, ControlPlane: true})
	}
	return out
}
