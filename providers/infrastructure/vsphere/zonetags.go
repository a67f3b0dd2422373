package vsphere

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// checkZone says which objects of vCenter have not the tags by which z is a region and a zone: a
// cloud provider and the CSI driver know Nodes' by them, and schedule volumes by that. Nil has none.
// Source: CAPV, controllers/vspheredeploymentzone_controller_domain.go.
func (f *requirements) checkZone(ctx context.Context, c *vcenter.Client, z *api.Zone) error {
	if z == nil {
		return nil
	}
	var errs []error
	for _, d := range []api.FailureDomain{z.Domain.Region, z.Domain.Zone} {
		if d.Name == "" {
			continue
		}
		on, err := f.objectsOf(ctx, c, d.Type, &z.Domain.Topology)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, e := range on {
			have, err := c.TagsOf(ctx, e.Ref)
			if err == nil && !slices.ContainsFunc(have, func(t vcenter.Tag) bool { return t.Name == d.Name && t.Category == d.TagCategory }) {
				err = fleet.Errorf(fleet.Invalid, "tell the zone "+z.Name, "%s %s has no tag %s of category %s (assign it: tags are made by people)", e.Kind, e.Path, d.Name, d.TagCategory)
			}
			errs = append(errs, err)
		}
	}
	return fleet.JoinErrors(errs...)
}

// objectsOf returns the objects of t that have the tags of a failure domain of a type.
func (f *requirements) objectsOf(ctx context.Context, c *vcenter.Client, kind api.FailureDomainType, t *api.Topology) ([]*vcenter.Entity, error) {
	if kind == api.DatacenterFailureDomain {
		return []*vcenter.Entity{f.dc}, nil
	}
	compute, err := f.all.Compute(f.dc, t.ComputeCluster)
	if err != nil || kind == api.ComputeClusterFailureDomain {
		return []*vcenter.Entity{compute}, err
	}
	g, err := c.Groups(ctx, compute.Ref)
	if err != nil {
		return nil, err
	}
	var out []*vcenter.Entity
	for _, ref := range g.Hosts[t.Hosts.HostGroupName] {
		if e := f.all.Entity(ref); e != nil {
			out = append(out, e)
		}
	}
	return out, nil
}
