package openstack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// zones returns the availability zones of Nova that take servers, sorted.
func zones(ctx context.Context, p *cloud.Project) ([]string, error) {
	return cloud.Lookup(p, "availability zones", func() ([]string, error) {
		const op = "list availability zones"
		client, err := p.Compute(ctx)
		if err != nil {
			return nil, openstackauth.WrapLook(op, err)
		}
		pages, err := availabilityzones.List(client).AllPages(ctx)
		if err != nil {
			return nil, openstackauth.WrapLook(op, err)
		}
		all, err := availabilityzones.ExtractAvailabilityZones(pages)
		if err != nil {
			return nil, openstackauth.WrapLook(op, err)
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
// left to Nova. The error is of kind Invalid: Git names zones that Nova does not
// have, or that take no servers.
func failureDomains(ctx context.Context, p *cloud.Project, spec *api.OpenStackClusterSpec) (out []fleet.FailureDomain, unknown, err error) {
	all, err := zones(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	named := spec.ControlPlaneAvailabilityZones
	omit := spec.ControlPlaneOmitAvailabilityZone != nil && *spec.ControlPlaneOmitAvailabilityZone
	for _, z := range all {
		d := fleet.FailureDomain{Name: z, ControlPlane: !omit}
		if len(named) > 0 {
			d.ControlPlane = slices.Contains(named, z)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b fleet.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	missing := slices.DeleteFunc(slices.Clone(named), func(z string) bool { return slices.Contains(all, z) })
	if len(missing) > 0 {
		slices.Sort(missing)
		unknown = fleet.Errorf(fleet.Invalid, "look up controlPlaneAvailabilityZones", "Nova has no zone %s that takes servers, it has %s (correct controlPlaneAvailabilityZones)",
			strings.Join(missing, ", "), strings.Join(all, ", "))
	}
	return out, unknown, nil
}

// inZone refuses a machine of the control plane that no zone was chosen for
// although Git names zones: Nova would put it anywhere.
func inZone(ctx context.Context, p *cloud.Project, spec *api.OpenStackClusterSpec, r providers.MachineRequest) error {
	if len(spec.ControlPlaneAvailabilityZones) == 0 || r.Pool.Role != fleet.RoleControlPlane || r.FailureDomain != "" {
		return nil
	}
	domains, unknown, err := failureDomains(ctx, p, spec)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(domains, func(d fleet.FailureDomain) bool { return d.ControlPlane }) {
		return nil
	}
	return unknown
}
