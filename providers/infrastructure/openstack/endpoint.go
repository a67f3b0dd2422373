package openstack

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// LeaveEndpoint implements providers.EndpointKeeper.
func (p *Provider) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "lead the endpoint away from machine " + c.Key.Namespace + "/" + string(name)
	got, err := p.look(ctx, c)
	if err != nil {
		return openstackauth.WrapLook(op, err)
	}
	for _, at := range got.projects {
		if err := p.leave(ctx, c, got, at, name, id); err != nil {
			return openstackauth.Wrap(op, err)
		}
	}
	return nil
}

// leave takes a running machine of the control plane out of the load balancer, and
// the floating IP of the API server off it. Where everything is to go, nothing has to.
func (p *Provider) leave(ctx context.Context, c *fleet.Cluster, got *observation, at projectState, name fleet.MachineName, id fleet.ProviderID) error {
	i := slices.IndexFunc(at.machines.Machines, func(m fleet.Machine) bool {
		return m.Name == name && m.Role == fleet.RoleControlPlane && m.State == fleet.MachineRunning && (id == "" || m.ProviderID == id)
	})
	duplicates := 0
	for _, m := range at.machines.Machines {
		if m.Name == name {
			duplicates++
		}
	}
	if i < 0 || c.Delete || duplicates > 1 {
		return nil
	}
	defer got.home.Changed(snapshot.OwnerOf(c).Part(name))
	if err := network.Leave(ctx, got.home, got.homeSnapshot(), c, got.spec, name); err != nil {
		return err
	}
	p.leaving.Note(strings.TrimPrefix(string(at.machines.Machines[i].ProviderID), machine.IDPrefix), time.Now())
	return nil
}

// leavingFor is how long the endpoint leads to no machine that left it. The planner
// deletes the machine within that time, or it decided otherwise.
const leavingFor = 15 * time.Minute

// left returns the ids of the servers that left the endpoint recently. An agent that starts knows none:
// it leads the endpoint to them until it removes them.
func (p *Provider) left(now time.Time) []string {
	p.leaving.ForgetIf(func(_ string, since time.Time) bool { return now.Sub(since) >= leavingFor })
	return slices.Collect(maps.Keys(p.leaving.All()))
}
