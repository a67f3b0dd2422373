package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// idComesOnce: a provider id is that of one machine, which is shown once, whatever becomes of the
// machines around it and by whichever name Git leads to its place. Nodes and deletions name machines by
// their ids.
func idComesOnce(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.create(b.c, "m-0")
	b.create(b.c, "m-1")
	b.settle()
	before := b.observe(b.c).Machines
	for _, m := range before {
		if m.ProviderID == "" && m.State == fleet.MachineRunning {
			t.Errorf("machine %s runs and has no id", m.Name)
		}
	}
	if o.OtherName != nil {
		b.c = o.OtherName(t, b.p, b.c)
		got := b.observe(b.c)
		if len(got.Machines) != len(before) || len(got.Places) > 1 {
			t.Errorf("by another name of its place there are %+v in %+v, want %+v", got.Machines, got.Places, before)
		}
	}
	b.remove("m-0")
	b.observe(b.c)
	b.create(b.c, "m-0")
	b.settle()
	b.wantMachines(b.c, "those that stayed, and a second one of a name", "cp-0", "m-0", "m-1")
}

// wantIDsOnce fails where a provider id is shown twice.
func (b *bench) wantIDsOnce(c *fleet.Cluster, got fleet.Infrastructure) {
	b.t.Helper()
	seen := make(map[fleet.ProviderID]fleet.MachineName)
	for _, m := range got.Machines {
		if first, twice := seen[m.ProviderID]; twice && m.ProviderID != "" {
			b.t.Errorf("Observe(%s) shows id %s twice, as machine %s and as %s", c.Key, m.ProviderID, first, m.Name)
		}
		seen[m.ProviderID] = m.Name
	}
}
