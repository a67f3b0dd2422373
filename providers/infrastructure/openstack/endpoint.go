package openstack

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// LeaveEndpoint implements providers.EndpointKeeper.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "lead the endpoint away from machine " + c.Key.Namespace + "/" + string(name)
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	return openstackauth.Wrap(op, p.leave(ctx, c, got, name, id))
}

// leave takes a running machine of the control plane out of the load balancer, and
// the floating IP of the API server off it. Where everything is to go, nothing has to.
func (p *Provider) leave(ctx context.Context, c *fleet.Cluster, got *observation, name fleet.MachineName, id fleet.ProviderID) error {
	for _, at := range got.projects {
		leaving, ok := at.mayLeave(name, id)
		if !ok || c.Delete {
			continue
		}
		defer got.home.Changed(snapshot.OwnerOf(c).Part(name))
		if err := network.Leave(ctx, got.home, got.homeSnapshot(), c, got.spec, name); err != nil {
			return err
		}
		p.leaving.Note(serverOf(leaving.ProviderID))
	}
	return nil
}

// mayLeave returns the machine called name, if it is a running one of the control plane, and no other in
// the project has its name.
func (at projectState) mayLeave(name fleet.MachineName, id fleet.ProviderID) (out fleet.Machine, ok bool) {
	named := 0
	for _, m := range at.machines.Machines {
		if m.Name != name {
			continue
		}
		named++
		if m.Role == fleet.RoleControlPlane && m.State == fleet.MachineRunning && (id == "" || m.ProviderID == id) {
			out, ok = m, true
		}
	}
	return out, ok && named == 1
}
