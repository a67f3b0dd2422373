package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// secondLook: what a machine runs on may become another cluster's after it was listed. A deletion that was
// decided on the listing asks again by id, and leaves alone what is not the machine any more.
func secondLook(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("TakeOver", o.TakeOver != nil) {
		return
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	id := b.machine("m-0").ProviderID
	b.settle() // so that no listing is good enough
	after := o.TakeOver(t, b.p, id)
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", id); err != nil {
		wantKind(t, "DeleteMachine of what is another cluster's by now", err, fleet.Conflict)
	}
	b.settle()
	switch taken, there := after(); {
	case !taken:
		t.Error("DeleteMachine listed no machines, so nothing was taken over after a listing")
	case !there:
		t.Error("DeleteMachine deleted what became another cluster's after it was listed")
	}
}
