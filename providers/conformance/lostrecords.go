package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// lostRecords: what the infrastructure recorded of a machine that runs is lost, or out of reach. That proves
// nothing: the machine is shown as silent, or the look fails. It is not freed or erased, and what it runs on is
// given to no other machine. A request to delete it is
// refused, or remembered until it can be done.
func lostRecords(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("LoseRecords", o.LoseRecords != nil) {
		return
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	b.awaitRunning("m-0")
	id := b.machine("m-0").ProviderID
	b.remember()
	running := o.LoseRecords(t, b.p, id)
	b.settle()
	b.wantShown("m-0", id, "whose records are lost")
	if err := b.p.DeleteInfrastructure(t.Context(), "op-delete", b.c); err == nil {
		t.Error("DeleteInfrastructure with a machine whose records are lost = nil, want an error")
	}
	if s := providers.AbilitiesOf(b.p).OrphanRemover; s != nil {
		known := []*fleet.Cluster{b.c}
		all, _ := s.Orphans(t.Context(), testFleet, known) // it may not be able to look
		for _, lost := range all {
			_ = s.RemoveOrphan(t.Context(), testFleet, known, lost) // running tells
		}
	}
	refused := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", id)
	b.settle()
	if m := b.wantShown("m-0", id, "whose records are lost, after a request to delete it"); refused == nil && m.State != fleet.MachineDeleting {
		t.Errorf("DeleteMachine of a machine whose records are lost = nil, and it is %+v: want an error, or the state Deleting", m)
	}
	if !running() {
		t.Error("what a machine runs on was changed once its records were lost")
	}
	_ = b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c) // it may wait for people
	_ = b.p.CreateMachine(t.Context(), operation("m-1"), b.request(b.c, "m-1"))
	b.settle()
	if seen, err := b.p.Observe(t.Context(), b.c); err == nil {
		for _, m := range seen.Machines {
			if m.Name != "m-0" && m.ProviderID == id {
				t.Errorf("%s has what %s runs on", m.Name, "m-0")
			}
		}
	}
	if !running() {
		t.Error("what a machine runs on was changed once its records were lost, and another machine was wanted")
	}
}

// awaitRunning waits until the machine of that name runs, as far as the provider can tell.
func (b *bench) awaitRunning(name fleet.MachineName) {
	b.t.Helper()
	for range rounds {
		if b.machine(name).State == fleet.MachineRunning {
			return
		}
		b.settle()
		_ = b.p.EnsureInfrastructure(b.t.Context(), "op-infra", b.c) // upkeep, where machines need it
	}
}

// remember has the cluster know what an agent that starts reads on the status branch: where it lives.
func (b *bench) remember() {
	b.t.Helper()
	seen := b.observe(b.c)
	lives := fleet.Residence{Provider: b.c.Provider, ControlPlane: fleet.InitializedOnce, Endpoint: seen.Endpoint}
	for _, at := range seen.Places {
		lives.Places = append(lives.Places, at.Place)
	}
	b.c = b.c.WithResidence(lives)
}

// wantShown fails unless a look shows the machine with that id as one that does not answer, or shows nothing.
func (b *bench) wantShown(name fleet.MachineName, id fleet.ProviderID, what string) (m fleet.Machine) {
	b.t.Helper()
	seen, err := b.p.Observe(b.t.Context(), b.c)
	if err != nil {
		return m
	}
	if i := slices.IndexFunc(seen.Machines, func(m fleet.Machine) bool { return m.ProviderID == id }); i >= 0 {
		m = seen.Machines[i]
	}
	if !m.Silent || m.Name != name {
		b.t.Errorf("%s, %s, is not shown as silent: %+v", name, what, seen.Machines)
	}
	return m
}
