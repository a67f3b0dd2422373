package conformance

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// secondLook: what a machine runs on may become another cluster's after it was listed. A deletion that was
// decided on the listing asks again by id, and leaves alone what is not the machine any more. So does the
// removal of an orphan.
func secondLook(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("TakeOver", o.TakeOver != nil) {
		return
	}
	b.ensure(b.c)
	b.takenOver("m-0", "DeleteMachine", func(id fleet.ProviderID) func() error {
		return func() error { return b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", id) }
	})
	s := providers.AbilitiesOf(b.p).OrphanRemover
	if s == nil {
		return
	}
	b.takenOver("m-1", "RemoveOrphan", func(id fleet.ProviderID) func() error {
		known := []*fleet.Cluster{b.cluster(testFleet, fleet.Key{Namespace: testKey().Namespace, Name: "eu-2"})}
		lost := b.orphanOf(s, known, id)
		return func() error { return s.RemoveOrphan(t.Context(), testFleet, known, lost) }
	})
}

// takenOver makes a machine called name, has another cluster get what it runs on, and has call, which
// prepare returns, remove it.
func (b *bench) takenOver(name fleet.MachineName, call string, prepare func(fleet.ProviderID) func() error) {
	b.t.Helper()
	b.create(b.c, name)
	b.settle()
	id := b.machine(name).ProviderID
	remove := prepare(id)
	b.settle() // so that no listing is good enough
	after := b.o.TakeOver(b.t, b.p, id)
	if err := remove(); err != nil {
		wantKind(b.t, call+" of what is another cluster's by now", err, fleet.Conflict)
	}
	b.settle()
	switch taken, there := after(); {
	case !taken:
		b.t.Errorf("%s listed no machines, so nothing was taken over after a listing", call)
	case !there:
		b.t.Errorf("%s deleted what became another cluster's after it was listed", call)
	}
}

// orphanOf returns the orphan that is the machine with that id, of a cluster that is none of known.
func (b *bench) orphanOf(s providers.OrphanRemover, known []*fleet.Cluster, id fleet.ProviderID) (out fleet.Orphan) {
	b.t.Helper()
	all, err := s.Orphans(b.t.Context(), testFleet, known)
	if err != nil {
		b.t.Fatalf("Orphans = %v, want no error", err)
	}
	for _, o := range all { // ids of machines hold those of what they run on, where that has parts
		if o.Cluster == b.c.Key && (out.ID == "" || strings.HasSuffix(string(id), o.ID)) {
			out = o
		}
	}
	if out.ID == "" {
		b.t.Fatalf("Orphans = %+v, want one that is machine %s", all, id)
	}
	return out
}
