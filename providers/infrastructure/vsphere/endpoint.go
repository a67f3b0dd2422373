package vsphere

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// endpoint returns where the API server of the cluster answers: where Git says, else where its
// machines know it, and for a cluster without machines at an address of the pool that Git names.
// That one is kept for the cluster until its first machine shows, which has it in its tags.
func (p *Provider) endpoint(o *observation) (fleet.Endpoint, error) {
	e := endpoint.Wanted(o.cluster)
	ref := o.spec.EndpointPool()
	if ref == nil || o.cluster.ServedElsewhere() || !o.cluster.Endpoint.IsZero() {
		return e, o.checkNamed(e)
	}
	const op = "give the endpoint an address"
	if endpoint.Brought(o.cluster, fleet.Endpoint{Host: noHost}) {
		return fleet.Endpoint{}, fleet.Errorf(fleet.Invalid, op, "the control plane brings a program of its own that serves the endpoint, which cannot know an address of %s %s "+
			"(write the address into controlPlaneEndpoint.host, or leave kube-vip to virtualIP)", ref.Kind, ref.Name)
	}
	if c := o.endpointClaim(e.Host); c.Address.IsValid() {
		e.Host = c.Address.String()
		return e, nil
	}
	if e.Host != "" { // remembered: machines that were made before Git named a pool know it
		return e, nil
	}
	pool, err := addresses.Find(o.cluster, *ref)
	if err != nil {
		return fleet.Endpoint{}, err
	}
	if o.unknown != nil {
		return fleet.Endpoint{}, o.unknown
	}
	at := time.Now()
	c, err := p.ledger.Reserve(pool, addresses.EndpointClaimName(o.cluster), o.known(o.spec.Server), at, at.Add(p.o.Settle))
	if err != nil {
		return fleet.Endpoint{}, err
	}
	e.Host = c.Address.String()
	return e, nil
}

// noHost is no host that people name.
const noHost = "endpoint.invalid"

// endpointClaim returns the address that machines of the cluster know its endpoint at: where they
// differ the remembered one, else that of the oldest which is to stay. Zero: none knows one.
func (o *observation) endpointClaim(remembered string) addresses.Claim {
	type known struct {
		addresses.Claim
		m *machine.Owned
	}
	var all []known
	for i := range o.sites {
		for j := range o.sites[i].owned {
			m := &o.sites[i].owned[j]
			if c, err := addresses.EndpointOf(m.Tags); err == nil && c.Address.IsValid() {
				all = append(all, known{c, m})
			}
		}
	}
	if len(all) == 0 {
		return addresses.Claim{}
	}
	rank := func(k known) int {
		switch {
		case k.m.Machine.Damaged != "":
			return 3
		case k.Address.String() == remembered:
			return 0
		case k.m.Deleting():
			return 2
		}
		return 1
	}
	return slices.MinFunc(all, func(a, b known) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.m.Machine.Created.Compare(b.m.Machine.Created), cmp.Compare(a.m.Machine.Name, b.m.Machine.Name))
	}).Claim
}

// known returns what is known of the addresses of a vCenter that the cluster is on. What guests say
// takes no address from a pool permanently: they may say anything.
func (o *observation) known(server string) addresses.Known {
	place := server
	if i := slices.IndexFunc(o.sites, func(s observedSite) bool { return s.is(server) }); i >= 0 {
		place = o.sites[i].identity()
	}
	out := addresses.Known{Place: place, Taken: o.holders.Taken(), Seen: o.cluster.Neighbors.Addresses()}
	for i := range o.sites {
		for _, vm := range o.sites[i].look.Tagged() {
			for _, n := range vm.NICs {
				for _, text := range n.IpAddress {
					if a, err := netip.ParseAddr(text); err == nil {
						out.Seen[a] = true
					}
				}
			}
		}
	}
	return out
}

// checkNamed says who has the address e that Git names for the endpoint of a cluster without
// machines.
func (o *observation) checkNamed(e fleet.Endpoint) error {
	a, err := netip.ParseAddr(e.Host)
	if err != nil || o.cluster.ServedElsewhere() || len(o.machines()) > 0 {
		return nil //nolint:nilerr // a name belongs to no machine
	}
	if other := o.holders.HolderOf(a, o.endpointHolder()); other != "" {
		return fleet.Errorf(fleet.Conflict, "use "+e.Host+" as endpoint", "it was given to %s from a pool "+
			"(name another address, and put those that Git names into excludedAddresses of the pool)", other)
	}
	return nil
}

// endpointHolder is what the endpoint of the cluster is called among holders of addresses.
func (o *observation) endpointHolder() string {
	return addresses.EndpointHolder(map[string]string{fleet.TagFleet: string(o.cluster.Fleet), fleet.TagCluster: o.cluster.Key.String()})
}

// claimEndpoint returns the value of the tag by which the machine of r holds the address of the
// endpoint that its user data names; empty: that is of no pool. Where it became another's since
// that was decided nothing is made.
func (p *Provider) claimEndpoint(r providers.MachineRequest, got *observation) (string, error) {
	ref := got.spec.EndpointPool()
	if ref == nil || r.Cluster.ServedElsewhere() || !r.Cluster.Endpoint.IsZero() {
		return "", nil
	}
	e, err := p.endpoint(got)
	if err != nil {
		return "", err
	}
	if e.Host != r.Endpoint.Host {
		return "", fleet.Errorf(fleet.Conflict, "hold the address of the endpoint", "it is %s by now, and the user data of the machine names %s", e.Host, r.Endpoint.Host)
	}
	if c := got.endpointClaim(e.Host); c.Address.IsValid() {
		return addresses.Format([]addresses.Claim{c}), nil
	}
	a, err := netip.ParseAddr(e.Host)
	if err != nil {
		return "", nil // of a pool it never was, and no other machine is given a name
	}
	pool, err := addresses.Find(r.Cluster, *ref)
	if err != nil {
		return "", err
	}
	return addresses.Format([]addresses.Claim{{Pool: pool.ID, Address: a}}), nil
}
