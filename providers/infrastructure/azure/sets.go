package azure

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// An availability set spreads the VMs of a pool over the racks of a location without zones.

// setName is the name of the availability set of a pool.
// Source: CAPZ, azure/defaults.go.
func (v *view) setName(pool fleet.Pool) string {
	group := string(pool.Name)
	if pool.Role == fleet.RoleControlPlane {
		group = "control-plane"
	}
	return v.named("_" + group + "-as")
}

// setPart begins the parts of a cluster that are availability sets.
const setPart = "as-"

// updateDomains is in how many steps Azure maintains the hosts of an availability set.
const updateDomains = 5

// inSet reports whether the VM of a machine that has no zone is in an availability set. Azure takes none of the others there.
// Source: Azure documentation, "Availability sets overview", and that of spot VMs and of capacity reservations.
func inSet(spec *api.AzureMachineSpec) bool {
	return spec.SpotVMOptions == nil && spec.CapacityReservationGroupID == ""
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
	body := map[string]any{
		"location": v.spec.Location, "tags": v.shared(part, nil), "sku": map[string]any{"name": "Aligned"},
		"properties": map[string]any{"platformFaultDomainCount": faults, "platformUpdateDomainCount": updateDomains},
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
