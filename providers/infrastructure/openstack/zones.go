package openstack

import (
	"cmp"
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// zones returns the availability zones of Nova that take servers, sorted.
func zones(ctx context.Context, p *cloud.Project) ([]string, error) {
	return cloud.Lookup(p, "availability zones", func() ([]string, error) {
		const op = "list availability zones"
		client, err := p.Compute(ctx)
		if err != nil {
			return nil, cloud.WrapLook(op, err)
		}
		pages, err := availabilityzones.List(client).AllPages(ctx)
		if err != nil {
			return nil, cloud.WrapLook(op, err)
		}
		all, err := availabilityzones.ExtractAvailabilityZones(pages)
		if err != nil {
			return nil, cloud.WrapLook(op, err)
		}
		var out []string
		for _, z := range all {
			if z.ZoneState.Available {
				out = append(out, z.ZoneName)
			}
		}
		slices.Sort(out)
		return out, nil
	}, func([]string) bool { return true })
}

// failureDomains returns the zones as failure domains. Those for the control
// plane are named in Git; without that they are all, or none where the zone is
// left to Nova.
func failureDomains(ctx context.Context, p *cloud.Project, spec *api.OpenStackClusterSpec) ([]fleet.FailureDomain, error) {
	all, err := zones(ctx, p)
	if err != nil {
		return nil, err
	}
	named := spec.ControlPlaneAvailabilityZones
	omit := spec.ControlPlaneOmitAvailabilityZone != nil && *spec.ControlPlaneOmitAvailabilityZone
	var out []fleet.FailureDomain
	for _, z := range all {
		d := fleet.FailureDomain{Name: z, ControlPlane: !omit}
		if len(named) > 0 {
			d.ControlPlane = slices.Contains(named, z)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b fleet.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
