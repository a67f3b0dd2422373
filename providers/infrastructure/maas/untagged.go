package maas

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/region"
)

var _ providers.UntaggedFinder = (*Provider)(nil)

// Untagged implements providers.UntaggedFinder: a provider id names a host, and one of the account that has
// something deployed and no tags lost them.
func (p *Provider) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, region.WrapLook("look for machines of "+c.Key.String()+" without tags", err)
	}
	var out []fleet.Machine
	for _, id := range ids {
		system := systemIDOf(id)
		i := slices.IndexFunc(got.listing.machines, func(m region.Machine) bool { return m.SystemID == system })
		if system == "" || i < 0 || len(got.listing.tags[system]) > 0 {
			continue
		}
		out = append(out, fleet.Machine{ProviderID: id, State: fleet.MachineRunning, Damaged: "host " + got.listing.machines[i].Hostname + " has no annotation " + annotation + " with its tags"})
	}
	return out, nil
}
