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
	default:
		return infra.DeleteMachine(ctx, a.Operation, c, a.Machine, a.ProviderID)
	}
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
