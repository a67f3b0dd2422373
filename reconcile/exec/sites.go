package exec

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// change changes the infrastructure of the site that a is for.
func (w *Environment) change(ctx context.Context, a fleet.Action) error {
	infra, err := w.site(a)
	if err != nil {
		return err
	}
	c := w.Cluster.At(a.Provider)
	switch a.Kind {
	case fleet.EnsureInfrastructure:
		return infra.EnsureInfrastructure(ctx, a.Operation, c)
	case fleet.DeleteInfrastructure:
		return infra.DeleteInfrastructure(ctx, a.Operation, c)
	case fleet.SwitchOff, fleet.SwitchOn:
		r := providers.AbilitiesOf(infra).Rebooter
		if r == nil {
			return fleet.Errorf(fleet.Invalid, describe(a), "its provider cannot reboot machines")
		}
		to := fleet.HostOn
		if a.Kind == fleet.SwitchOff {
			to = fleet.HostOff
		}
		return r.SwitchMachine(ctx, a.Operation, c, a.Machine, a.ProviderID, to)
	case fleet.EnsurePool, fleet.DeletePool:
		return changeKept(ctx, infra, c, a)
	default:
		return infra.DeleteMachine(ctx, a.Operation, c, a.Machine, a.ProviderID)
	}
}

// changeKept has the cloud bring a pool that it keeps in line with c, or delete it.
func changeKept(ctx context.Context, infra providers.Infrastructure, c *fleet.Cluster, a fleet.Action) error {
	k := providers.AbilitiesOf(infra).PoolKeeper
	if k == nil {
		return fleet.Errorf(fleet.Invalid, describe(a), "its provider keeps no pools")
	}
	if a.Kind == fleet.DeletePool {
		return k.DeletePool(ctx, a.Operation, c, a.Pool)
	}
	p, ok := c.KeptPool(a.Pool)
	if !ok {
		return fleet.Errorf(fleet.Invalid, describe(a), "%s has no pool %q", c.Key, a.Pool)
	}
	return k.EnsurePool(ctx, a.Operation, c, p)
}

// leaveEndpoint leads the endpoint away from the machine that a has leave etcd: its API
// server answers nothing afterwards, and an agent that ends in between leaves an endpoint
// that works. Etcd was asked nothing where that fails, however it failed.
func (w *Environment) leaveEndpoint(ctx context.Context, a fleet.Action) error {
	infra, err := w.site(a)
	if err != nil {
		return err
	}
	k := providers.AbilitiesOf(infra).EndpointKeeper
	if k == nil || a.ProviderID == "" { // the member of no machine
		return nil
	}
	err = k.LeaveEndpoint(ctx, w.Cluster.At(a.Provider), a.Machine, a.ProviderID)
	if fleet.KindOf(err) == fleet.Unanswered {
		return fleet.Errorf(fleet.Unavailable, "leave etcd with machine "+string(a.Machine), "%w", err)
	}
	return err
}

// site returns the infrastructure of the site that a is for.
func (w *Environment) site(a fleet.Action) (providers.Infrastructure, error) {
	if a.Provider == "" {
		return w.Infrastructure, nil
	}
	if g := w.Guests[a.Provider]; g != nil {
		return g, nil
	}
	return nil, fleet.Errorf(fleet.Invalid, describe(a), "%s has no site on %s", a.Cluster, a.Provider)
}
