package machine

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
)

// room gives the kind Exhausted, in Nova's words, where the project has no room for a
// server of that flavor. It is asked before volumes are made for the server, which
// takes as long as copying an image does, at each try. Where the limits cannot be
// told, Nova says so when it is asked for the server.
func (m *maker) room(ctx context.Context, flavor string) error {
	if !m.hasVolumes() {
		return nil
	}
	client, err := m.p.Compute(ctx)
	if err != nil {
		return err
	}
	var all absolute
	if err := limits.Get(ctx, client, nil).ExtractInto(&all); err != nil {
		return nil //nolint:nilerr // see above
	}
	f, err := flavors.Get(ctx, client, flavor).Extract()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for _, r := range all.of(Size{1, f.VCPUs, f.RAM}) {
		if free, known := r.free(); known && r.asked > free {
			return fleet.Errorf(fleet.Exhausted, "make server "+m.r.name(), "Quota exceeded for %s: Requested %d, but already used %d of %d %s",
				r.name, r.asked, *r.used, *r.of, r.name)
		}
	}
	return nil
}

// absolute is what Nova says of the limits of a project; what it does not say of one
// is not known, and below zero there is none.
type absolute struct {
	Limits struct {
		Absolute struct {
			Instances     *int `json:"maxTotalInstances"`
			InstancesUsed *int `json:"totalInstancesUsed"`
			Cores         *int `json:"maxTotalCores"`
			CoresUsed     *int `json:"totalCoresUsed"`
			RAM           *int `json:"maxTotalRAMSize"`
			RAMUsed       *int `json:"totalRAMUsed"`
		} `json:"absolute"`
	} `json:"limits"`
}

// hasVolumes reports whether volumes of Cinder are made for the server.
func (m *maker) hasVolumes() bool {
	for _, d := range m.r.Spec.AdditionalBlockDevices {
		if d.Storage.Type == api.VolumeBlockDevice {
			return true
		}
	}
	return m.r.Spec.RootVolume != nil
}
