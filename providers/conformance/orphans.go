package conformance

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// orphansAreSwept: what belongs to clusters that are named is no orphan; what belongs
// to others of the fleet is, and can be removed until no machine of it is left.
func orphansAreSwept(t testing.TB, o Options) {
	b := newBench(t, o)
	if gone := b.sweep(); gone != nil && len(b.observe(gone).Machines) > 0 {
		t.Errorf("after its orphans were removed %s is %+v, want no machines", gone.Key, b.observe(gone))
	}
}

// orphansLeaveNothing: with its orphans a cluster goes as a whole.
func orphansLeaveNothing(t testing.TB, o Options) {
	b := newBench(t, o)
	if gone := b.sweep(); gone != nil && b.observe(gone).Exists {
		t.Errorf("after its orphans were removed %s is %+v, want nothing", gone.Key, b.observe(gone))
	}
}

// sweep removes the orphans of a cluster that is gone, which it returns; nil where the
// provider cannot.
func (b *bench) sweep() *fleet.Cluster {
	b.t.Helper()
	t := b.t
	s := providers.AbilitiesOf(b.p).OrphanRemover
	if !b.can("OrphanRemover", s != nil) {
		return nil
	}
	gone := b.cluster(testFleet, fleet.Key{Namespace: "test", Name: "gone"})
	other := b.cluster("another", fleet.Key{Namespace: "test", Name: "gone"})
	all := []*fleet.Cluster{b.c, gone}
	for _, c := range []*fleet.Cluster{b.c, gone, other} {
		b.ensure(c)
		b.create(c, "m-0")
	}
	b.settle()
	ctx, known := t.Context(), []*fleet.Cluster{b.c}
	orphans := func(of []*fleet.Cluster) []fleet.Orphan {
		t.Helper()
		got, err := s.Orphans(ctx, testFleet, of)
		if err != nil {
			t.Fatalf("Orphans = %v, want no error", err)
		}
		return got
	}
	if got := orphans(all); len(got) > 0 {
		t.Errorf("Orphans of clusters that are all there = %+v, want none", got)
	}
	found := orphans(known)
	if len(found) == 0 {
		t.Fatal("Orphans finds nothing of a cluster that is gone")
	}
	for _, f := range found {
		if f.Cluster != gone.Key || f.ID == "" || f.Kind == "" || f.Reason == "" {
			t.Errorf("orphan = %+v, want one of %s, with its kind, its id and a reason", f, gone.Key)
		}
		// It came back to Git meanwhile: with that knowledge nothing of it is removed.
		_ = s.RemoveOrphan(ctx, testFleet, all, f)
	}
	b.settle()
	b.wantMachines(gone, "it is no orphan any more", "m-0")
	for range rounds {
		if found = orphans(known); len(found) == 0 {
			break
		}
		for _, f := range found {
			// One thing may be in the way of another: it is tried again.
			_ = s.RemoveOrphan(ctx, testFleet, known, f)
			_ = s.RemoveOrphan(ctx, testFleet, known, f)
		}
		b.settle()
	}
	if len(found) > 0 {
		t.Errorf("orphans that are not to be removed: %+v", found)
	}
	for _, c := range []*fleet.Cluster{b.c, other} {
		b.wantMachines(c, "it is no orphan", "m-0")
		if !b.observe(c).Ready {
			t.Errorf("infrastructure of %s of fleet %s went with orphans of another cluster", c.Key, c.Fleet)
		}
	}
	return gone
}
