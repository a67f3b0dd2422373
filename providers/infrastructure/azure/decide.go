package azure

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// decide follows what is to be done for what the machines of v's cluster share.
func (v *view) decide() *steps.Decision {
	d := new(steps.Decision)
	if other := v.twin(); other != "" && !v.started() && v.balancer() == nil {
		d.Fault(fleet.Errorf(fleet.Conflict, "use resource group "+v.place.group, "%s is in it, and their cloud controller managers would take each other's addresses (name another resourceGroup)", other))
		return d
	}
	n := v.network(d)
	if v.group != nil {
		v.makeEndpoint(d, n)
		v.aside(d, !v.started(), v.makeOutbound)
		v.extend(d)
	}
	if n.subnet(fleet.RoleWorker, "") == nil && len(d.Steps)+len(d.Waits)+len(d.Faults) == 0 {
		d.Wait("the subnet of machines is not there")
	}
	return d
}

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	if api.IsManaged(c) {
		out, err := p.observeManaged(ctx, c)
		return out, arm.WrapLook("observe "+c.Key.String(), err)
	}
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, arm.WrapLook("observe "+c.Key.String(), err)
	}
	d := v.decide()
	exists := v.exists() || len(v.vms) > 0
	out := fleet.Infrastructure{
		Exists: exists, Machines: v.machines(), FailureDomains: v.failureDomains(),
		Places: []fleet.PlaceSeen{{Place: fleet.Place{ID: v.place.id()}, Used: exists, Named: true}},
	}
	v.elsewhere(ctx, out.Machines)
	d.Report(&out, v.started(), v.cleaning())
	if c.Delete {
		out.Message = p.deletion(v)
	}
	driver.SortMachines(out.Machines)
	return out, nil
}

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "create infrastructure of " + c.Key.String()
	if api.IsManaged(c) { // all of it is of the control plane
		_, _, err := api.ReadControlPlane(c)
		return arm.Wrap(op, err)
	}
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return arm.WrapLook(op, err)
	}
	defer v.changed()
	errs := steps.Ensure(ctx, v.decide, v.cleaning, arm.Wrap)
	return arm.Wrap(op, fleet.JoinErrors(errs...))
}

// failureDomains are the zones in which the size of the control plane may be used.
func (v *view) failureDomains() []fleet.FailureDomain {
	var out []fleet.FailureDomain
	for _, z := range v.zones {
		is := v.spec.FailureDomains[z]
		out = append(out, fleet.FailureDomain{Name: z, ControlPlane: is.ControlPlane == nil || *is.ControlPlane})
	}
	return out
}
