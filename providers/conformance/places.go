package conformance

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// rememberedPlace: what is in a place that Git does not lead to any more is seen, and
// goes, as long as that is handed in again which was told of the place.
func rememberedPlace(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Elsewhere", o.Elsewhere != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	left := *o.Elsewhere(t, b.p, b.c)
	inGit := left
	left.Workers = b.c.Workers
	empty := o.Contents(t, b.p)
	b.ensure(&inGit)
	shared := o.Contents(t, b.p)
	b.create(&inGit, "m-0")
	b.settle()
	places := b.observe(&inGit).Places
	if len(places) != 2 || !places[1].Used || !places[1].Named || places[1].Access == "" || places[1].ID == places[0].ID {
		t.Fatalf("with a machine elsewhere the places are %+v, want two, and of the second how to look there again", places)
	}
	left.Residence = fleet.Residence{Provider: left.Provider, Places: []fleet.Place{places[0].Place, places[1].Place}}
	b.c = &left
	b.wantMachines(&left, "in a remembered place", "m-0")
	if got := b.observe(&left); len(got.Places) != 2 || got.Places[1].Place != places[1].Place || !got.Places[1].Used || got.Places[1].Named {
		t.Errorf("places %+v, want the one that Git does not lead to any more among them", got.Places)
	}
	wantKind(t, "DeleteInfrastructure with a machine in a remembered place",
		b.p.DeleteInfrastructure(t.Context(), "op-delete", &left), fleet.Conflict)
	b.ensure(&left)
	b.wantMachines(&left, "after infrastructure was ensured", "m-0")
	b.remove("m-0")
	b.wantContents("after the deletion of the machine elsewhere", shared)
	b.settle()
	if got := b.observe(&left); len(got.Places) != 2 || got.Places[1].Used {
		t.Errorf("places %+v, want nothing in the second", got.Places)
	}
	b.c = &inGit
	b.create(&inGit, "m-1")
	b.settle()
	b.c = &left
	b.remove("m-1")
	b.dismantle(&left)
	b.settle()
	if got := o.Contents(t, b.p); !slices.Equal(got, empty) {
		t.Errorf("after the deletion of infrastructure there is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(empty, "\n"))
	}
}
