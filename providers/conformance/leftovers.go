package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// kinds returns the first words of lines, sorted.
func kinds(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		kind, _, _ := strings.Cut(l, " ")
		out = append(out, kind)
	}
	slices.Sort(out)
	return out
}

// wantContents fails unless the infrastructure holds want, in time.
func (b *bench) wantContents(when string, want []string) {
	b.t.Helper()
	var got []string
	for range rounds {
		if got = b.o.Contents(b.t, b.p); slices.Equal(got, want) {
			return
		}
		b.settle()
		b.observe(b.c)
		// The cluster that keeps the infrastructure looks after what machines left.
		if err := b.p.EnsureInfrastructure(b.t.Context(), "op-infra", b.c); err != nil {
			b.t.Fatalf("EnsureInfrastructure = %v, want no error", err)
		}
	}
	b.t.Errorf("%s there is\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// nothingIsLeft: a machine goes with all its parts, and so does what machines share.
func nothingIsLeft(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Contents", o.Contents != nil) {
		return
	}
	before := o.Contents(t, b.p)
	b.ensure(b.c)
	b.settle()
	shared := o.Contents(t, b.p)
	b.create(b.c, "m-0")
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.settle()
	if slices.Equal(o.Contents(t, b.p), shared) {
		t.Fatalf("two machines add nothing to %q", shared)
	}
	b.remove("m-0")
	b.remove("cp-0")
	b.wantContents("after the deletion of all machines", shared)
	b.dismantle(b.c)
	b.settle()
	if got := o.Contents(t, b.p); !slices.Equal(got, before) {
		t.Errorf("after the deletion of infrastructure there is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(before, "\n"))
	}
}

// deletionIsInterrupted: wherever a deletion breaks off, the next one leaves nothing.
func deletionIsInterrupted(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("LoseAnswer", o.LoseAnswer != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	b.settle()
	shared := o.Contents(t, b.p)
	b.losing("DeleteMachine", func(nth int) {
		b.create(b.c, nthName(nth))
		b.settle()
	}, func(nth int) error {
		return b.p.DeleteMachine(t.Context(), "op-delete", b.c, nthName(nth), "")
	}, func(nth int) {
		b.settle() // what was done shows, and the rest is there alone
		b.remove(nthName(nth))
		b.wantContents("after a deletion that was interrupted", shared)
	})
}

// wipe takes all tags off the machine with that id; back puts them on again.
func (b *bench) wipe(id fleet.ProviderID) (back func()) {
	b.t.Helper()
	var was map[string]string
	b.o.Retag(b.t, b.p, id, func(tags map[string]string) {
		was = maps.Clone(tags)
		clear(tags)
	})
	return func() {
		b.t.Helper()
		b.o.Retag(b.t, b.p, id, func(tags map[string]string) { maps.Copy(tags, was) })
	}
}

// lostTags: a machine whose tags somebody wiped is not Fairlead's to delete any more,
// and neither is what hangs on it. A provider that sees what hangs on it may refuse to
// say anything of the cluster until somebody put the tags back.
func lostTags(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Retag", o.Retag != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	b.settle()
	id, before := b.machine("m-0").ProviderID, o.Contents(t, b.p)
	back := b.wipe(id)
	refused := func(call string, err error) {
		t.Helper()
		if err != nil {
			wantKind(t, call+" with a machine that lost its tags", err, fleet.Conflict)
		}
	}
	for range 3 {
		b.settle()
		_, err := b.p.Observe(t.Context(), b.c)
		refused("Observe", err)
		refused("EnsureInfrastructure", b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c))
	}
	refused("DeleteMachine", b.p.DeleteMachine(t.Context(), "op-delete", b.c, "m-0", ""))
	b.settle()
	after := o.Contents(t, b.p)
	for _, thing := range before {
		if !slices.Contains(after, thing) {
			t.Errorf("%s is gone, of a machine that lost its tags and lives", thing)
		}
	}
	back()
	b.settle()
	if got := b.machine("m-0"); got.ProviderID != id {
		t.Errorf("with its tags put back the machine is %+v, want %s", got, id)
	}
}
