package conformance_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// An annex is a provider whose clusters may have workers in a second cloud: it has
// two places.
type annex struct {
	providers.Infrastructure
	other *inmemory.Provider
	fault annexFault
}

// annexed is the annotation of a pool that is in the second cloud, the id of which is
// annexID.
const (
	annexed = "annexed"
	annexID = "the annex"
)

// An annexFault is a promise that an annex breaks.
type annexFault string

const (
	forgets          annexFault = "forgets what Git does not lead to"
	keepsAccess      annexFault = "does not tell how to look again"
	names            annexFault = "says that Git leads there"
	deletesAtHome    annexFault = "deletes machines at home alone"
	silent           annexFault = "does not show what Git asks for in vain"
	dismantlesAtHome annexFault = "looks for machines at home alone before it deletes infrastructure"
)

func (a annex) Abilities() providers.Abilities { return providers.AbilitiesOf(a.Infrastructure) }

func (a annex) Unwrap() providers.Infrastructure { return a.Infrastructure }

// named reports whether Git leads to the second cloud, and leads whether anything does.
func (a annex) leads(c *fleet.Cluster) (named, leads bool) {
	named = slices.ContainsFunc(c.Workers, func(p fleet.Pool) bool { _, ok := p.Annotations[annexed]; return ok })
	known := slices.Contains(c.OtherPlaces(), fleet.Place{ID: annexID, Access: "the key"})
	return named, named || known && a.fault != forgets
}

func (a annex) vms(t testing.TB) []inmemory.VM {
	t.Helper()
	out, err := a.other.API().VMs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Observe implements providers.Infrastructure.
func (a annex) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	got, err := a.Infrastructure.Observe(ctx, c)
	if c.Infrastructure.Name == mistaken && a.fault != silent {
		got.Drift = append(got.Drift, "find cloud "+mistaken)
	}
	if strings.HasPrefix(c.Endpoint.Host, "10.9.0.") && a.fault != silent {
		got.Message = "the endpoint " + c.Endpoint.Host + " is an address of a machine"
	}
	named, leads := a.leads(c)
	if err != nil || !leads {
		return got, err
	}
	there, err := a.other.Observe(ctx, c)
	if err != nil {
		return fleet.Infrastructure{}, err
	}
	at := fleet.PlaceSeen{Place: fleet.Place{ID: annexID, Access: "the key"}, Used: len(there.Machines) > 0, Named: named || a.fault == names}
	if a.fault == keepsAccess {
		at.Access = ""
	}
	got.Places = []fleet.PlaceSeen{{Place: fleet.Place{ID: "home"}, Used: got.Exists, Named: true}, at}
	got.Machines = append(got.Machines, there.Machines...)
	slices.SortFunc(got.Machines, func(x, y fleet.Machine) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ProviderID, y.ProviderID))
	})
	got.Exists = got.Exists || there.Exists
	return got, nil
}

// EnsureInfrastructure implements providers.Infrastructure.
func (a annex) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if named, _ := a.leads(c); named {
		if err := a.other.EnsureInfrastructure(ctx, op, c); err != nil {
			return err
		}
	}
	return a.Infrastructure.EnsureInfrastructure(ctx, op, c)
}

// CreateMachine implements providers.Infrastructure.
func (a annex) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	if _, ok := r.Pool.Annotations[annexed]; !ok {
		return a.Infrastructure.CreateMachine(ctx, op, r)
	}
	return a.other.CreateMachine(ctx, op, r)
}

// DeleteMachine implements providers.Infrastructure.
func (a annex) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	named, leads := a.leads(c)
	if leads && (named || a.fault != deletesAtHome) {
		if err := a.other.DeleteMachine(ctx, op, c, name, id); err != nil {
			return err
		}
	}
	return a.Infrastructure.DeleteMachine(ctx, op, c, name, id)
}

// DeleteInfrastructure implements providers.Infrastructure.
func (a annex) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if _, leads := a.leads(c); leads && a.fault != dismantlesAtHome {
		if err := a.other.DeleteInfrastructure(ctx, op, c); err != nil {
			return err
		}
	}
	return a.Infrastructure.DeleteInfrastructure(ctx, op, c)
}
