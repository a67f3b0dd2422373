package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// departedPool: a pool leaves Git with machines. They are shown unchanged, so that they go by the time-outs and
// the strategy that were recorded with their pool, and nothing but a request deletes them. Such a request leaves
// nothing. The machines of a pool that comes back are those that it had.
func departedPool(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	b.settle()
	shared := o.Contents(t, b.p)
	b.create(b.c, "m-0")
	b.create(b.c, "m-1")
	b.settle()
	b.inLine()
	before := map[fleet.MachineName]fleet.Machine{"m-0": b.machine("m-0"), "m-1": b.machine("m-1")}
	inGit := b.c
	left := *b.c
	left.Workers = nil
	b.c = &left
	unchanged := func(when string, name fleet.MachineName) {
		t.Helper()
		is, was := b.machine(name), before[name]
		if is.ProviderID != was.ProviderID || is.Pool != was.Pool || is.Role != was.Role || is.Template != was.Template ||
			is.Version != was.Version || !is.Created.Equal(was.Created) || is.State == fleet.MachineDeleting || is.State == fleet.MachineFailed || is.Damaged != "" || is.Silent {
			t.Errorf("%s machine %s is %+v, want what it was before: %+v", when, name, is, was)
		}
	}
	for _, name := range []fleet.MachineName{"m-0", "m-1"} {
		unchanged("once its pool left Git", name)
	}
	b.ensure(&left)
	b.settle()
	for _, name := range []fleet.MachineName{"m-0", "m-1"} {
		unchanged("once its pool left Git, and infrastructure was ensured", name)
	}
	b.remove("m-1")
	b.wantMachines(&left, "one of a pool that left Git goes as any other", "m-0")
	b.c = inGit
	unchanged("once its pool came back", "m-0")
	b.c = &left
	b.remove("m-0")
	b.wantContents("after the deletion of the machines of a pool that left Git", shared)
}
