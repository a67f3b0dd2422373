package vsphere

import (
	"context"
	"maps"
	"net/netip"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// Create implements driver.Driver: it asks for a clone. What follows on it is Upkeep.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, got *observation) error {
	return wrap(what, p.clone(ctx, op, r, got))
}

// clone asks for the VM of r.
func (p *Provider) clone(ctx context.Context, op fleet.OperationID, r providers.MachineRequest, got *observation) error {
	c := r.Cluster
	at, err := place(c, got.spec, &r.Pool, r.FailureDomain)
	if err != nil {
		return err
	}
	s, err := p.siteFor(ctx, got, at)
	if err != nil {
		return err
	}
	found, err := find(ctx, s.Client, at)
	if err != nil {
		return err
	}
	if err := found.storage(ctx, s.Client, at); err != nil {
		return err
	}
	if err := p.checkFound(ctx, s.Client, snapshot.OwnerOf(c), at, found); err != nil {
		return err
	}
	found.place.FailureDomain = r.FailureDomain
	e, err := p.claimEndpoint(r, got)
	if err != nil {
		return err
	}
	claims, err := p.reserve(r, at, got)
	if err != nil {
		return err
	}
	tags := maps.Clone(r.Tags(op))
	if e != "" {
		tags[addresses.EndpointTag] = e
	}
	if len(claims) > 0 {
		tags[addresses.Tag] = addresses.Format(claims)
	}
	name, clone, err := machine.Clone(machine.Request{Tags: tags, Spec: at.VSphereMachineSpec, UserData: r.UserData, Template: found.template, Place: found.place})
	if err != nil {
		p.ledger.Release(claims...)
		return err
	}
	o := snapshot.OwnerOf(c).Part(r.Name)
	defer s.Changed(o)
	k := token{machine.InstanceUUID(tags), r.Name, op}
	_, err = s.Clone(ctx, found.ref, found.place.Folder, name, *clone, k.String())
	if fleet.Refused(err) {
		p.ledger.Release(claims...)
	}
	return err
}

// siteFor returns the vCenter of a placement: one that was looked at, or another.
func (p *Provider) siteFor(ctx context.Context, got *observation, at placement) (*observedSite, error) {
	if s := siteOfSeen(got.sites, at.Server); s != nil {
		return s, nil
	}
	key, data, err := p.secretOf(ctx, got.cluster, got.spec)
	if err != nil {
		return nil, err
	}
	client, err := p.open(key, data, at.access())
	if err != nil {
		return nil, err
	}
	s := site{Client: client, access: at.access(), named: true}
	if err := s.identify(ctx, got.cluster); err != nil {
		return nil, err
	}
	if same := got.siteOf(s.access.Instance); same != nil {
		return same, same.join(&s)
	}
	return &observedSite{site: s}, nil
}

func siteOfSeen(all []observedSite, server string) *observedSite {
	for i := range all {
		if all[i].is(server) {
			return &all[i]
		}
	}
	return nil
}

// reserve returns the addresses of pools that the machine of r gets, in the order in which its
// devices name pools.
func (p *Provider) reserve(r providers.MachineRequest, spec placement, got *observation) ([]addresses.Claim, error) {
	var refs []addresses.Ref
	for _, d := range spec.Network.Devices {
		refs = append(refs, d.AddressesFromPools...)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	if got.unknown != nil {
		return nil, got.unknown
	}
	known := got.known(spec.Server)
	if e, err := netip.ParseAddr(r.Endpoint.Host); err == nil {
		known.Taken[e] = true
	}
	now := time.Now()
	return p.ledger.ReserveFor(r.Cluster, r.Name, refs, known, now, now.Add(p.o.Settle))
}

// pooled returns the addresses of pools that a machine with these claims has, by device.
func pooled(c *fleet.Cluster, spec *api.VSphereMachineSpec, claims []addresses.Claim) ([][]machine.PoolAddress, error) {
	out := make([][]machine.PoolAddress, len(spec.Network.Devices))
	n := 0
	for i, d := range spec.Network.Devices {
		for _, ref := range d.AddressesFromPools {
			pool, err := addresses.Find(c, ref)
			if err != nil {
				return nil, err
			}
			if n >= len(claims) || claims[n].Pool != pool.ID {
				return nil, fleet.Errorf(fleet.Conflict, "tell the machine its addresses", "its tags have none of %s, which Git names now (it was made for other pools: delete it)", pool.ID)
			}
			out[i] = append(out[i], machine.PoolAddress{Address: pool.Prefix(claims[n].Address), Gateway: pool.Gateway})
			n++
		}
	}
	return out, nil
}
