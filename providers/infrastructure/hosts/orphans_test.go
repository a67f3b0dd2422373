package hosts_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestOrphans: the host of a cluster that the fleet does not have is found and cleaned;
// those of others are left alone.
func TestOrphans(t *testing.T) {
	b := newBench(t, 3)
	c, gone, foreign := b.cluster(), b.cluster(), b.cluster()
	gone.Key.Name = "gone"
	foreign.Key.Name, foreign.Fleet = "gone", "another"
	for _, of := range []*fleet.Cluster{c, gone, foreign} {
		b.ensure(of)
		b.create(of, "m-0", userData("true"))
	}
	b.p.Forget()
	got, err := b.p.Orphans(t.Context(), "fleet", []*fleet.Cluster{c})
	if err != nil || len(got) != 1 || got[0].Cluster != gone.Key || got[0].Name != "h1" {
		t.Fatalf("Orphans = %+v, %v, want the host of the cluster that is gone", got, err)
	}
	for range 2 {
		if err := b.p.RemoveOrphan(t.Context(), "fleet", []*fleet.Cluster{c}, got[0]); err != nil {
			t.Fatal(err)
		}
	}
	b.until("its host is free", gone, func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 })
	for _, of := range []*fleet.Cluster{c, foreign} {
		if m := b.observe(of).Machines; len(m) != 1 {
			t.Errorf("machines of %s %s = %+v, want the one that was there", of.Fleet, of.Key, m)
		}
	}
	b.hosts[2].Off()
	b.p.Forget()
	if _, err := b.p.Orphans(t.Context(), "fleet", []*fleet.Cluster{c}); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("Orphans with a silent host = %v, want kind Unavailable", err)
	}
}
