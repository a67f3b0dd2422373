package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// nextOfAName: what was asked of a machine ends with it. The next machine of its name, which may have
// its host and its id, is not shown as one that is to go, whatever was in the way of the first deletion.
func nextOfAName(t testing.TB, o Options) {
	b := newBench(t, o)
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	end := b.interrupt()
	_ = b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", "") // it may break off
	end()
	b.settle()
	b.remove("m-0")
	b.create(b.c, "m-0")
	b.settle()
	if m := b.machine("m-0"); m.State == fleet.MachineDeleting || m.Interrupted {
		t.Errorf("the next machine of a name is %s, interrupted %t, and nobody asked for its deletion", m.State, m.Interrupted)
	}
}
