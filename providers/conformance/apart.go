package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// otherCluster: clusters of one fleet do not see each other, however alike
// their names and those of their machines are.
func otherCluster(t testing.TB, o Options) {
	b := newBench(t, o)
	b.apart(
		b.cluster(testFleet, fleet.Key{Namespace: "prod", Name: "eu"}),
		b.cluster(testFleet, fleet.Key{Namespace: "test", Name: "eu-1"}))
}

// otherFleet: fleets that share an infrastructure do not see each other.
func otherFleet(t testing.TB, o Options) {
	b := newBench(t, o)
	b.apart(b.cluster("another", testKey()))
}

// apart checks that everything done to the bench's cluster leaves others alone.
func (b *bench) apart(others ...*fleet.Cluster) {
	t := b.t
	t.Helper()
	b.ensure(b.c)
	b.create(b.c, "m-0")
	for _, c := range others {
		b.ensure(c)
		r := b.request(c, "m-0")
		r.Pool.Template = "1-theirs"
		if err := b.p.CreateMachine(t.Context(), "op-theirs", r); err != nil {
			t.Fatalf("CreateMachine of a name that another cluster has too = %v, want no error", err)
		}
	}
	b.settle()
	b.wantMachines(b.c, "those of others are not shown", "m-0")
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", ""); err != nil {
		t.Fatalf("DeleteMachine = %v, want no error", err)
	}
	b.settle()
	b.wantMachines(b.c, "it was deleted")
	for _, c := range others {
		_, ids := b.machines(c)
		for _, id := range ids {
			if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", id); err != nil {
				t.Errorf("DeleteMachine with another cluster's id = %v, want no error", err)
			}
		}
	}
	if err := b.p.DeleteInfrastructure(t.Context(), "op-delete", b.c); err != nil {
		t.Errorf("DeleteInfrastructure while others have machines = %v, want no error", err)
	}
	b.settle()
	for _, c := range others {
		b.wantMachines(c, "it belongs to another cluster or fleet", "m-0")
		if got := b.observe(c); !got.Ready {
			t.Errorf("infrastructure of %s %s = %+v, want it untouched", c.Fleet, c.Key, got)
		}
	}
}

// foreignMachine: a machine without tags belongs to no cluster, whatever its name.
func foreignMachine(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Foreign", o.Foreign != nil) {
		return
	}
	b.ensure(b.c)
	same, prefixed := o.Foreign(t, b.p, "m-0"), o.Foreign(t, b.p, "eu-1-m-0")
	b.settle()
	b.wantMachines(b.c, "machines without tags are not shown")
	for _, name := range []fleet.MachineName{"m-0", "eu-1-m-0"} {
		if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, name, ""); err != nil {
			t.Errorf("DeleteMachine = %v, want no error", err)
		}
	}
	b.create(b.c, "m-0")
	b.settle()
	b.wantMachines(b.c, "a machine without tags is not adopted", "m-0")
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", ""); err != nil {
		t.Errorf("DeleteMachine = %v, want no error", err)
	}
	b.settle()
	if !same() || !prefixed() {
		t.Error("a machine without tags was deleted")
	}
}
