package metal3

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// addressesOf returns the addresses that the machine of tags has of pools.
func addressesOf(tags map[string]string) []string {
	claims, err := addresses.Parse(tags[addresses.Tag])
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range claims {
		out = append(out, c.Address.String())
	}
	return out
}

// mustGiveBackAddress reports whether the machine on h, which is not deployed, has an address of a pool that
// another machine has, of whatever pool, and is deployed with, or keeps: see package addresses.
func (o *observation) mustGiveBackAddress(h *observedHost) bool {
	claims, err := addresses.Parse(h.tags[addresses.Tag])
	if err != nil || h.node == nil || h.node.State != ironic.Available {
		return false
	}
	return slices.ContainsFunc(claims, func(c addresses.Claim) bool {
		return o.listing.holders.Loses(h.node.UUID, c.Address, o.listing.isDeployed)
	})
}

// isDeployed reports whether more than a claim was made of a node.
func (l *listing) isDeployed(uuid string) bool {
	n := l.byID[uuid]
	return n != nil && n.State != ironic.Available
}

// reserve returns the addresses of pools that the machine of r gets on a host, in the order of
// the references of its data template.
func (p *Provider) reserve(o *observation, r providers.MachineRequest, d *machine.Data, t *api.MachineSpec) ([]addresses.Claim, error) {
	refs, err := d.Pools(t.Data)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	if o.listing.unknown != nil {
		return nil, o.listing.unknown
	}
	d.Addresses = make(map[api.IPPoolReference]machine.Address, len(refs))
	known := addresses.Known{Place: o.endpoint, Taken: o.listing.holders.Taken(), Seen: o.cluster.Neighbors.Addresses()}
	now := time.Now()
	return p.ledger.ReserveAll(len(refs), known, func(i int, known addresses.Known) (addresses.Claim, error) {
		pool, err := machine.FindPool(o.cluster, refs[i])
		if err != nil {
			return addresses.Claim{}, err
		}
		who := machine.Claim{Name: addresses.ClaimName(r.Cluster, r.Name, i), Host: d.Host.Name, Index: d.Machine.Index}
		if t.DataTemplate != nil {
			who.Template = t.DataTemplate.Name
		}
		a, err := pool.Reserve(&p.ledger, who, known, now, now.Add(p.o.Settle))
		if err != nil {
			return addresses.Claim{}, err
		}
		claim := addresses.Claim{Pool: pool.ID, Address: a}
		if d.Addresses[refs[i]], err = pool.Address(a); err != nil {
			p.ledger.Release(claim)
		}
		return claim, err
	})
}

// failureDomains returns those that the Metal3Cluster has.
func failureDomains(spec *api.Metal3ClusterSpec) []fleet.FailureDomain {
	var out []fleet.FailureDomain
	for _, d := range spec.FailureDomains {
		out = append(out, fleet.FailureDomain{Name: d.Name, ControlPlane: d.ControlPlane != nil && *d.ControlPlane})
	}
	return out
}
