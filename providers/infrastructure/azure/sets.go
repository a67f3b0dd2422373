package azure

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// An availability set spreads the VMs of a pool over the racks of a location without zones.

// longestSetName is how long the name of an availability set may be.
// Source: Azure documentation, "Naming rules and restrictions for Azure resources", Microsoft.Compute.
const longestSetName = 80

// setName is the name of the availability set of a pool: that which Cluster API's provider gives it, if Azure takes that.
// Source: CAPZ, azure/defaults.go.
func (v *view) setName(pool fleet.Pool) string {
	group := string(pool.Name)
	if pool.Role == fleet.RoleControlPlane {
		group = "control-plane"
	}
	name := v.named("_" + group + "-as")
	if len(name) > longestSetName {
		end := "_" + digest(v.owner, string(pool.Name)) + "-as"
		name = name[:longestSetName-len(end)] + end
	}
	return name
}

// mostInSet is how many VMs an availability set has at most. Further ones are in none.
// Source: Azure documentation, "Azure subscription and service limits, quotas, and constraints".
const mostInSet = 200

// machinesOf returns how many machines a pool has.
func (v *view) machinesOf(pool fleet.PoolName) (n int) {
	for _, m := range v.vms {
		if m.machine.Pool == pool {
			n++
		}
	}
	return n
}

// setPart begins the parts of a cluster that are availability sets.
const setPart = "as-"

// updateDomains is in how many steps Azure maintains the hosts of an availability set. One with one fault domain has one.
const updateDomains = 5

// inSet reports whether the VM of a machine that has no zone is in an availability set. Azure takes none of the others there, and none that is in a scale set.
// Source: Azure documentation, "Availability sets overview", and that of spot VMs, of capacity reservations and of Ultra Disks.
func inSet(spec *api.AzureMachineSpec) bool {
	return spec.SpotVMOptions == nil && spec.CapacityReservationGroupID == "" && spec.VirtualMachineScaleSetID == "" && !hasUltraDisks(spec)
}

// hasUltraDisks reports whether a VM has Ultra Disks, or may get some.
func hasUltraDisks(spec *api.AzureMachineSpec) bool {
	if c := spec.AdditionalCapabilities; c != nil && c.UltraSSDEnabled != nil {
		return *c.UltraSSDEnabled
	}
	return slices.ContainsFunc(spec.DataDisks, func(d api.DataDisk) bool {
		return d.ManagedDisk != nil && d.ManagedDisk.StorageAccountType == "UltraSSD_LRS"
	})
}

// availabilitySet returns the id of the availability set of the machine of r, which it makes if it is not there.
func (v *view) availabilitySet(ctx context.Context, r providers.MachineRequest) (string, error) {
	name, part := v.setName(r.Pool), setPart+string(r.Pool.Name)
	id := v.place.resource(arm.Sets, name)
	var is arm.Resource[arm.State]
	switch err := v.place.Get(ctx, id, &is); {
	case arm.IsMissing(err):
	case err != nil:
		return "", err
	case v.c.Owns(tagsFrom(is.Tags)):
		return id, nil
	default:
		return "", fleet.Errorf(fleet.Conflict, "find availability set "+name, "there is one of that name that is not of the cluster (remove it, or give the cluster a resource group of its own)")
	}
	faults, err := v.place.faultDomains(ctx, v.spec.Location)
	if err != nil {
		return "", err
	}
	if n := api.FaultDomains(r.Pool.Infrastructure); n > 0 {
		faults = int(n)
	}
	updates := updateDomains
	if faults == 1 {
		updates = 1
	}
	body := map[string]any{
		"location": v.spec.Location, "tags": v.shared(part, nil), "sku": map[string]any{"name": "Aligned"},
		"properties": map[string]any{"platformFaultDomainCount": faults, "platformUpdateDomainCount": updates},
	}
	err = v.place.Put(ctx, id, body, arm.Absent())
	if arm.IsTaken(err) { // another one made it meanwhile, perhaps for another machine of the pool
		err = fleet.Errorf(fleet.Unavailable, "create availability set "+name, "%w", err)
		if missing := v.place.Get(ctx, id, &is); missing == nil && v.c.Owns(tagsFrom(is.Tags)) {
			err = nil
		}
	}
	return id, err
}
