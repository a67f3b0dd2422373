package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// machines are those of a provider, for package driver.
type machines struct{ *Provider }

var _ driver.Driver[*observation, serverIn] = machines{}

// A serverIn is the server of a machine, and its project. Of a machine of which there are only parts it
// has no server.
type serverIn struct {
	at     *projectState
	server *servers.Server
}

// Look implements driver.Driver. It refuses a machine whose server is in doubt.
func (p machines) Look(ctx context.Context, c *fleet.Cluster, o snapshot.Owner) (*observation, error) {
	got, err := p.look(ctx, c, o)
	if err != nil {
		return nil, openstackauth.WrapLook("", err)
	}
	if o.Machine == "" {
		return got, nil
	}
	for _, at := range got.projects {
		if err := machine.CheckIdentity(at.snapshot, o); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// Seen implements driver.Driver.
func (p machines) Seen(c *fleet.Cluster, got *observation) []driver.Seen[serverIn] {
	var out []driver.Seen[serverIn]
	for i := range got.projects {
		at := &got.projects[i]
		for _, m := range at.machines.Machines {
			if v := at.snapshot.Servers.Get(serverOf(m.ProviderID)); v != nil {
				out = append(out, driver.Seen[serverIn]{Machine: m, Where: "server " + v.ID, Thing: serverIn{at, v}})
			}
		}
		for _, o := range machine.WithoutServer(at.snapshot, snapshot.OwnerOf(c)) {
			out = append(out, driver.Seen[serverIn]{Machine: fleet.Machine{Name: o.Machine}, Thing: serverIn{at: at}, Parts: true})
		}
	}
	return out
}

// Exists implements driver.Driver. All of a ready network may be what others made.
func (p machines) Exists(_ *fleet.Cluster, got *observation) bool {
	return got.net.Exists || got.net.Ready
}

// Wrap implements driver.Driver.
func (p machines) Wrap(what string, err error) error { return openstackauth.Wrap(what, err) }

// Create implements driver.Driver.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, got *observation) error {
	c := r.Cluster
	template, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return openstackauth.Wrap(what, err)
	}
	if err := fits(what, c); err != nil {
		return err
	}
	if err := inZone(ctx, got.home, got.spec, r); err != nil {
		return openstackauth.Wrap(what, err)
	}
	place := got.net.Place
	group := place.WorkerGroup
	if r.Pool.Role == fleet.RoleControlPlane {
		group = place.ControlPlaneGroup
	}
	if got.spec.ManagedSecurityGroups != nil && group == "" && !place.Ungrouped {
		return fleet.Errorf(fleet.Conflict, what, "the security group of the cluster is not there")
	}
	o := snapshot.OwnerOf(c).Part(r.Name)
	project, s, err := p.projectFor(ctx, c, r.Pool, template, got, o)
	if err != nil {
		return openstackauth.WrapLook(what, err)
	}
	pool, err := floatingPool(c, template, got.spec.IdentityRef, s, place.ExternalNetwork)
	if err != nil {
		return openstackauth.Wrap(what, err)
	}
	image, err := p.imageOf(ctx, c, got.spec, template, project, s)
	if err != nil {
		return openstackauth.Wrap(what, err)
	}
	return openstackauth.Wrap(what, p.keeper.Create(ctx, project, s, machine.Request{
		Owner: o, Tags: r.Tags(op), Spec: template, Image: image, More: got.spec.Tags, Zone: r.FailureDomain,
		UserData: r.UserData, Place: placeOf(place, group), Floating: machine.Floating{Pool: pool},
	}))
}

// projectFor returns the project of the machines of pool, by the credential of the pool, and what is in
// it, with all changes of o.
func (p machines) projectFor(ctx context.Context, c *fleet.Cluster, pool fleet.Pool, template *api.OpenStackMachineSpec, got *observation, o snapshot.Owner) (*cloud.Project, *cloud.Snapshot, error) {
	project, err := p.projectOf(ctx, c, pool, template, got.home)
	if err != nil {
		return nil, nil, err
	}
	for _, at := range got.projects {
		if at.project == project {
			return project, at.snapshot, nil
		}
	}
	s, err := project.Snapshot(ctx, o)
	return project, s, err
}

// placeOf returns where the servers of the cluster are put.
func placeOf(at network.Placement, group string) machine.Place {
	out := machine.Place{Network: at.Network, Subnets: at.Addresses}
	if at.PortSecurity {
		out.SecurityGroup = group
	}
	return out
}

// Remove implements driver.Driver. A machine of the control plane leaves the endpoint first, unless
// everything is to go. Where the endpoint would not lead to each machine that stays, or takes no change
// right now, the machine stays; whatever else is wrong with the endpoint must not keep the machine.
func (p machines) Remove(ctx context.Context, _ string, c *fleet.Cluster, _ *observation, m driver.Seen[serverIn]) error {
	at, o := m.Thing.at, snapshot.OwnerOf(c).Part(m.Name)
	if m.Parts {
		return p.keeper.DeleteParts(ctx, at.project, at.snapshot, o, pools{c}.keep)
	}
	if m.Role == fleet.RoleControlPlane {
		got, err := p.look(ctx, c, snapshot.OwnerOf(c)) // with the members that were removed
		if err != nil {
			return openstackauth.WrapLook("", err)
		}
		err = p.leave(ctx, c, got, m.Name, m.ProviderID)
		if fleet.KindOf(err) == fleet.Conflict {
			return err
		}
		if err != nil {
			p.log().Warn("Leaving the endpoint unchanged", "cluster", c.Key.String(), "machine", m.Name, "error", err)
		}
	}
	return p.keeper.Delete(ctx, at.project, o, m.Thing.server)
}

// RemoveShared implements driver.Driver.
func (p machines) RemoveShared(ctx context.Context, what string, c *fleet.Cluster, got *observation) error {
	o := snapshot.OwnerOf(c)
	var errs []error
	bastions := 0
	for _, at := range got.projects {
		bastions += len(at.machines.Bastions)
		errs = append(errs, p.deleteBastions(ctx, at, at.machines.Bastions, c), p.keeper.DeleteAllParts(ctx, at.project, at.snapshot, o, pools{c}.keep))
	}
	if bastions == 0 {
		defer got.home.Changed(o)
		errs = append(errs, network.Delete(ctx, got.home, got.homeSnapshot(), o))
		for _, at := range got.projects {
			if at.images != nil {
				errs = append(errs, at.images.Delete(ctx))
			}
		}
	}
	err := fleet.JoinErrors(errs...)
	p.noteRefusal(o, err)
	return err
}
