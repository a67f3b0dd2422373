package inmemory

import (
	"context"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
)

// giveAddresses has vm, which is for r, take an address of each of the pools that refs name.
// Whichever machine of the cloud has one keeps it, whosesoever it is. The cloud refuses a
// machine whose address another one was given since.
func (p *Provider) giveAddresses(ctx context.Context, r providers.MachineRequest, refs []addresses.Ref, vm *VMSpec) error {
	if len(refs) == 0 {
		return nil
	}
	all, err := p.api.VMs(ctx, nil)
	if err != nil {
		return err
	}
	holders := make(addresses.Holders)
	for _, v := range all {
		if v.Refused != "" {
			continue // there never was one
		}
		if err := holders.Add(v.ID, v.Tags[addresses.Tag]); err != nil {
			return fleet.Errorf(fleet.Conflict, "give addresses", "server %s of cluster %s: %w", v.Name, v.Tags[fleet.TagCluster], err)
		}
	}
	now := time.Now()
	claims, err := p.ledger.ReserveFor(r.Cluster, r.Name, refs, addresses.Known{Taken: holders.Taken(), Seen: r.Cluster.Neighbors.Addresses()}, now, now.Add(p.settle))
	if err != nil {
		return err
	}
	for _, c := range claims {
		vm.Addresses = append(vm.Addresses, c.Address.String())
	}
	vm.Tags[addresses.Tag] = addresses.Format(claims)
	return nil
}
