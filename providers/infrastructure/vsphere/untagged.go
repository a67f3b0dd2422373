package vsphere

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// Untagged implements providers.UntaggedFinder. Machines that were made here are known by their
// UUIDs too; those that were adopted have UUIDs that say nothing.
func (p *Provider) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	op := "look for machines of " + c.Key.String() + " without tags"
	sites, _, err := p.sites(ctx, c)
	if err != nil {
		return nil, vcenter.WrapLook(op, err)
	}
	var out []fleet.Machine
	for _, id := range ids {
		uuid, ok := strings.CutPrefix(string(id), machine.IDPrefix)
		if !ok {
			continue
		}
		var vms []vcenter.VM
		for i := range sites {
			some, err := sites[i].WithUUID(ctx, uuid)
			if err != nil {
				return nil, vcenter.WrapLook(op, err)
			}
			vms = append(vms, some...)
		}
		tagged := slices.ContainsFunc(vms, func(vm vcenter.VM) bool {
			o, known := vm.Owner()
			return known && o.Shared() == snapshot.OwnerOf(c).Shared()
		})
		if len(vms) > 0 && !tagged { // a copy and its original count as one
			out = append(out, machine.Untagged(p.converted(&vms[0]), c))
		}
	}
	driver.SortMachines(out)
	return out, nil
}
