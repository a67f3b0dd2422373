package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

// mistakesChangeNothing: where Git names what the infrastructure does not have, or asks for a change
// that cannot be made, everything stays unchanged. The cluster is seen as before, and its machines
// can go. Once Git is put right, further machines are made.
func mistakesChangeNothing(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Mistaken", o.Mistaken != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.create(b.c, "m-0")
	b.create(b.c, "m-1")
	b.settle()
	was := b.ensure(b.c)
	mistaken := o.Mistaken(t, b.p, b.c)
	if len(mistaken) == 0 {
		t.Error("the hook Mistaken gave no cluster")
	}
	for _, c := range mistaken {
		before := o.Contents(t, b.p)
		for range 2 {
			if err := b.p.EnsureInfrastructure(t.Context(), "op-infra", c); err != nil {
				t.Logf("EnsureInfrastructure of %s: %v", c.Infrastructure.Name, err)
			}
			b.settle()
		}
		if after := o.Contents(t, b.p); !slices.Equal(after, before) {
			t.Errorf("contents after a mistake = %q, want %q", after, before)
		}
		got := b.observe(c)
		if got.Endpoint != was.Endpoint || !got.Exists {
			t.Errorf("a mistaken cluster is seen at %v, exists %t, want %v", got.Endpoint, got.Exists, was.Endpoint)
		}
		b.wantMachines(c, "a mistake hides and deletes no machine", "cp-0", "m-0", "m-1")
		if err := b.p.DeleteMachine(t.Context(), "op-delete", c, "m-1", ""); err != nil {
			t.Errorf("DeleteMachine of a mistaken cluster = %v, want no error", err)
		}
		b.settle()
		b.wantMachines(c, "a mistake keeps no machine that is to go", "cp-0", "m-0")
		b.ensure(b.c)
		b.makeAgain("m-1")
	}
}

// makeAgain makes a machine, as soon as what the last one of its name was on is free.
func (b *bench) makeAgain(name fleet.MachineName) {
	b.t.Helper()
	var err error
	for range rounds {
		if err = b.p.CreateMachine(b.t.Context(), operation(name)+"-again", b.request(b.c, name)); err == nil {
			b.settle()
			if names, _ := b.machines(b.c); slices.Contains(names, name) {
				return
			}
		}
		b.settle()
	}
	b.t.Fatalf("CreateMachine(%s) once Git is put right = %v, want no error", name, err)
}
