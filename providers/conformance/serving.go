package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// endpointServes: a control plane is rolled while nothing changes what its endpoint leads
// to. Whatever the provider refuses, after each removal a machine that stays is behind it.
func endpointServes(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Served", o.Served != nil) {
		return
	}
	b.ensure(b.c)
	first := []fleet.MachineName{"cp-0", "cp-1", "cp-2"}
	for _, name := range first {
		b.createOf(b.c, b.c.ControlPlane, name, "")
	}
	for range rounds {
		b.settle()
		if len(b.serving()) > 0 && len(b.observe(b.c).Drift) == 0 {
			break
		}
		_ = b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c) // serving tells
	}
	if o.Jam != nil {
		o.Jam(t, b.p)
		for range rounds { // for such a time that nothing waits for it any more
			b.settle()
		}
	}
	for i, name := range first {
		b.createOf(b.c, b.c.ControlPlane, "new-"+name, "")
		b.settle()
		_ = b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c) // what it cannot do is not what is asked here
		id := b.machine(name).ProviderID
		if k := providers.AbilitiesOf(b.p).EndpointKeeper; k != nil {
			if err := k.LeaveEndpoint(t.Context(), b.c, name, id); err != nil {
				continue // it keeps its etcd, and stays
			}
		}
		_ = b.p.DeleteMachine(t.Context(), "op-delete", b.c, name, id)
		b.settle()
		if got := b.serving(); len(got) == 0 {
			t.Errorf("after machine %d was removed the endpoint leads to no machine", i)
		}
	}
}

// serving returns the machines that are there and that the endpoint leads to.
func (b *bench) serving() []fleet.MachineName {
	b.t.Helper()
	names, _ := b.machines(b.c)
	return slices.DeleteFunc(b.o.Served(b.t, b.p, b.c), func(name fleet.MachineName) bool { return !slices.Contains(names, name) })
}
