package openstack

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// CreateMachine implements providers.Infrastructure.
func (p *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	c := r.Cluster
	what := "create machine " + c.Key.Namespace + "/" + string(r.Name)
	home, spec, err := p.home(ctx, c)
	if err != nil {
		return openstackauth.WrapLook(what, err)
	}
	template, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return openstackauth.Wrap(what, err)
	}
	project, err := p.projectOf(ctx, c, r.Pool, template, home)
	if err != nil {
		return openstackauth.WrapLook(what, err)
	}
	if err := fits(what, c); err != nil {
		return err
	}
	if err := inZone(ctx, home, spec, r); err != nil {
		return openstackauth.Wrap(what, err)
	}
	o := snapshot.OwnerOf(c).Part(r.Name)
	return p.keeper.Create(ctx, project, o, func(s *cloud.Snapshot) (machine.Request, error) {
		at := s
		if project != home {
			if at, err = home.Snapshot(ctx, o); err != nil {
				return machine.Request{}, err
			}
		}
		place := network.Observe(at, c, spec)
		if !place.Exists && !place.Ready { // all of it may be what others made
			return machine.Request{}, fleet.Errorf(fleet.Conflict, what, "the infrastructure of the cluster is not there")
		}
		group := place.Place.WorkerGroup
		if r.Pool.Role == fleet.RoleControlPlane {
			group = place.Place.ControlPlaneGroup
		}
		if spec.ManagedSecurityGroups != nil && group == "" && !place.Place.Ungrouped {
			return machine.Request{}, fleet.Errorf(fleet.Conflict, what, "the security group of the cluster is not there")
		}
		pool, err := floatingPool(c, template, spec.IdentityRef, s, place.Place.ExternalNetwork)
		if err != nil {
			return machine.Request{}, err
		}
		image, err := p.imageOf(ctx, c, spec, template, project, s)
		if err != nil {
			return machine.Request{}, err
		}
		return machine.Request{
			Owner: o, Tags: r.Tags(op), Spec: template, Image: image, More: spec.Tags, Zone: r.FailureDomain,
			UserData: r.UserData, Place: placeOf(place.Place, group), Floating: machine.Floating{Pool: pool},
		}, nil
	})
}

// placeOf returns where the servers of the cluster are put.
func placeOf(at network.Placement, group string) machine.Place {
	out := machine.Place{Network: at.Network, Subnets: at.Addresses}
	if at.PortSecurity {
		out.SecurityGroup = group
	}
	return out
}

// DeleteMachine implements providers.Infrastructure. A machine of the control plane
// leaves the endpoint first, unless everything is to go. Where the endpoint would not
// lead to each machine that stays, or takes no change right now, the machine stays;
// whatever else is wrong with the endpoint must not keep the machine.
func (p *Provider) DeleteMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "delete machine " + c.Key.Namespace + "/" + string(name)
	if name == "" {
		return fleet.Errorf(fleet.Invalid, op, "no name was given")
	}
	got, err := p.look(ctx, c)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	o := snapshot.OwnerOf(c).Part(name)
	var errs []error
	for _, at := range got.projects {
		if err := machine.CheckIdentity(at.snapshot, o); err != nil {
			return openstackauth.Wrap(op, err)
		}
		err := p.leave(ctx, c, got, at, name, id)
		if fleet.KindOf(err) == fleet.Conflict {
			return openstackauth.Wrap(op, err)
		}
		if err != nil {
			p.log().Warn("Leaving the endpoint unchanged", "cluster", c.Key.String(), "machine", name, "error", err)
		}
		errs = append(errs, p.keeper.Delete(ctx, at.project, o, id, pools{c}.keep))
	}
	return openstackauth.Wrap(op, fleet.JoinErrors(errs...))
}
