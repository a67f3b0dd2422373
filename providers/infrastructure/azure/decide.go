package azure

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// decide follows what is to be done for what the machines of v's cluster share.
func (v *view) decide() *decision {
	d := new(decision)
	if other := v.twin(); other != "" && !v.started() && v.balancer() == nil {
		d.fault(fleet.Errorf(fleet.Conflict, "use resource group "+v.place.group, "%s is in it, and their cloud controller managers would take each other's addresses (name another resourceGroup)", other))
		return d
	}
	n := v.network(d)
	if v.group != nil {
		v.makeEndpoint(d, n)
	}
	if n.subnet(fleet.RoleWorker, "") == nil && len(d.steps)+len(d.waits)+len(d.faults) == 0 {
		d.wait("the subnet of machines is not there")
	}
	return d
}

// Observe implements providers.Infrastructure.
func (p *Provider) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return fleet.Infrastructure{}, arm.WrapLook("observe "+c.Key.String(), err)
	}
	d := v.decide()
	exists := v.exists() || len(v.vms) > 0
	out := fleet.Infrastructure{
		Exists: exists, Endpoint: d.endpoint, Machines: v.machines(), FailureDomains: v.failureDomains(),
		Places: []fleet.PlaceSeen{{Place: fleet.Place{ID: v.place.id()}, Used: exists, Named: true}},
	}
	if out.Ready = d.ready(v.started()); !out.Ready {
		out.Message = d.message()
	}
	if c.Delete {
		out.Message = p.deletion(v)
	}
	if out.Ready {
		for _, err := range d.faults {
			out.Drift = append(out.Drift, err.Error())
		}
		for _, s := range append(d.steps, v.cleaning()...) {
			out.Drift = append(out.Drift, s.what)
			if s.upkeep {
				out.Upkeep = append(out.Upkeep, s.what)
			}
		}
	}
	if !exists && len(d.faults) == 0 {
		out.Endpoint = fleet.Endpoint{}
	}
	slices.Sort(out.Drift)
	slices.Sort(out.Upkeep)
	driver.SortMachines(out.Machines)
	return out, nil
}

// EnsureInfrastructure implements providers.Infrastructure.
func (p *Provider) EnsureInfrastructure(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster) error {
	op := "create infrastructure of " + c.Key.String()
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return arm.WrapLook(op, err)
	}
	errs := v.perform(ctx, v.decide)
	errs = append(errs, v.decide().faults...)
	for _, s := range v.cleaning() {
		if err := arm.Wrap(s.what, s.do(ctx)); err != nil {
			errs = append(errs, err)
		}
	}
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
