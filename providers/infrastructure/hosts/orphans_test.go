package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// TestOrphans: the host of a cluster that the fleet does not have is found and cleaned;
// those of others are left alone.
func TestOrphans(t *testing.T) {
	b := newBench(t, 4)
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
	b.create(gone, "m-1", userData("true"))
	b.hosts[2].Off()
	b.p.Forget()
	left, err := b.p.Orphans(t.Context(), "fleet", []*fleet.Cluster{c, c})
	if fleet.KindOf(err) != fleet.Unavailable || strings.Count(err.Error(), "pool/h2") != 1 {
		t.Errorf("Orphans with a silent host: %v, want kind Unavailable, once", err)
	}
	if len(left) != 1 || left[0].Cluster != gone.Key {
		t.Fatalf("Orphans with a silent host = %+v, want those of the others", left)
	}
	if err := b.p.RemoveOrphan(t.Context(), "fleet", []*fleet.Cluster{c}, left[0]); err != nil {
		t.Error(err)
	}
	left[0].ID = "unseen"
	if err := b.p.RemoveOrphan(t.Context(), "fleet", []*fleet.Cluster{c}, left[0]); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("removing what may be on a silent host = %v, want kind Unavailable", err)
	}
}
