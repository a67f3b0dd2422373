package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// lookingChangesNothing: a reader, by Observe or by an ability, asks for no
// change, whatever there is to be fixed, finished or taken away.
func lookingChangesNothing(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Changes", o.Changes != nil) {
		return
	}
	gone := b.cluster(testFleet, fleet.Key{Namespace: "test", Name: "gone"})
	b.look("nothing is there")
	if err := b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c); err != nil {
		t.Fatal(err)
	}
	b.look("infrastructure is being made")
	b.settle()
	b.ensure(b.c)
	b.look("infrastructure is ready")
	b.create(b.c, "m-0")
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.look("machines are being made")
	b.settle()
	b.look("machines are there")
	b.ensure(gone)
	b.create(gone, "m-0")
	b.settle()
	b.look("another cluster was removed from Git")
	if o.Retag != nil {
		back := b.wipe(b.machine("m-0").ProviderID)
		b.settle()
		b.look("a machine lost its tags")
		back()
		b.settle()
	}
	end := b.interrupt()
	_ = b.p.CreateMachine(t.Context(), operation("m-1"), b.request(b.c, "m-1"))
	end()
	b.settle()
	b.look("a creation was interrupted")
	end = b.interrupt()
	_ = b.p.DeleteMachine(t.Context(), "op-delete", b.c, "cp-0", "")
	end()
	b.settle()
	b.look("a deletion was interrupted")
	if err := b.p.DeleteMachine(t.Context(), "op-delete", b.c, "cp-0", ""); err != nil {
		t.Fatal(err)
	}
	b.look("a machine is being deleted")
	b.settle()
	b.look("a machine was deleted")
}

// look looks at the bench's cluster in every way there is.
func (b *bench) look(when string) {
	b.t.Helper()
	ctx, before := b.t.Context(), b.o.Changes(b.t, b.p)
	report := func(what string, err error) {
		b.t.Helper()
		if err != nil && fleet.KindOf(err) != fleet.Conflict && fleet.KindOf(err) != fleet.NotFound {
			b.t.Errorf("%s while %s = %v, want no error", what, when, err)
		}
		if after := b.o.Changes(b.t, b.p); after != before {
			b.t.Errorf("%s changes something while %s:\n%s\nbefore:\n%s", what, when, after, before)
			before = after
		}
	}
	for range 2 {
		_, err := b.p.Observe(ctx, b.c)
		report("Observe", err)
	}
	can := providers.AbilitiesOf(b.p)
	if l := can.Lister; l != nil {
		_, err := l.Clusters(ctx, testFleet)
		report("Clusters", err)
	}
	if s := can.OrphanRemover; s != nil {
		_, err := s.Orphans(ctx, testFleet, []*fleet.Cluster{b.c})
		report("Orphans", err)
	}
	if f := can.UntaggedFinder; f != nil {
		seen, err := b.p.Observe(ctx, b.c)
		report("Observe", err)
		var ids []fleet.ProviderID
		for _, m := range seen.Machines {
			ids = append(ids, m.ProviderID)
		}
		found, err := f.Untagged(ctx, b.c, append(ids, "gone:///42"))
		report("Untagged", err)
		for _, m := range found {
			if m.Damaged == "" || !slices.Contains(ids, m.ProviderID) {
				b.t.Errorf("Untagged while %s finds %+v, want nothing that carries tags or is gone", when, m)
			}
		}
	}
	if a := can.Adopter; a != nil {
		_, err := a.Adoptable(ctx, b.c, nil)
		report("Adoptable", err)
	}
}
