package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// failedRequest: where a request fails after it was taken, a machine or a Failure says
// why, and the machine can be asked for again.
func failedRequest(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("FailCreate", o.FailCreate != nil) {
		return
	}
	b.ensure(b.c)
	end := o.FailCreate(t, b.p)
	b.create(b.c, "m-0")
	var told fleet.Failure
	for range rounds {
		b.settle()
		if all := b.observe(b.c).Failures; len(all) > 0 {
			told = all[0]
			break
		}
	}
	if told.Machine != "m-0" || told.Operation != operation("m-0") || told.Message == "" || told.At.IsZero() {
		t.Errorf("a request that failed is told as %+v, want its machine, operation, time and why", told)
	}
	b.wantMachines(b.c, "a request that failed made nothing")
	end()
	b.create(b.c, "m-0")
	b.settle()
	b.wantMachines(b.c, "it was asked for again", "m-0")
	if all := b.observe(b.c).Failures; len(all) > 0 {
		t.Errorf("failures = %+v, want none of a machine that was asked for again", all)
	}
}

// releasedMachine: a machine whose host is busy after it went is no part of the cluster.
// Its name is free, and it keeps nothing.
func releasedMachine(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("SlowRelease", o.SlowRelease != nil) {
		return
	}
	o.SlowRelease(t, b.p)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	first := b.machine("m-0").ProviderID
	b.remove("m-0")
	released := func(when string) {
		t.Helper()
		for _, m := range b.observe(b.c).Machines {
			if m.ProviderID == first && m.State == fleet.MachineReleased {
				return
			}
		}
		t.Errorf("%s the machine that went is not shown as Released", when)
	}
	released("after its deletion")
	b.create(b.c, "m-0")
	b.settle()
	released("beside its successor")
	if names, ids := b.machines(b.c); len(names) != 1 || names[0] != "m-0" || ids[0] == first {
		t.Errorf("machines after the name was given again: %q %q, want one other than %s", names, ids, first)
	}
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", first); err != nil {
		t.Errorf("DeleteMachine of one that is released = %v, want no error", err)
	}
	b.settle()
	b.wantMachines(b.c, "the deletion was of the one that is released", "m-0")
	b.remove("m-0")
	b.dismantle(b.c)
}
