package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

// oneComputer: Git has what a machine runs on under a second name. The provider says so,
// gives it to no other machine, and leaves the machine that has it unchanged.
func oneComputer(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Twin", o.Twin != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	id := b.machine("m-0").ProviderID
	before := o.Contents(t, b.p)
	b.c = o.Twin(t, b.p, b.c, id)
	_ = b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c) // it may refuse the second name
	b.settle()
	seen := b.observe(b.c)
	held := func(h fleet.Host) bool { return !h.Gone && h.Held != "" }
	if len(seen.Hosts) > 0 && !slices.ContainsFunc(seen.Hosts, held) {
		t.Errorf("hosts of one computer = %+v, want one that is held", seen.Hosts)
	}
	err := b.p.CreateMachine(t.Context(), operation("m-1"), b.request(b.c, "m-1"))
	if kind := fleet.KindOf(err); err == nil || kind != fleet.Exhausted && kind != fleet.Conflict && kind != fleet.Invalid {
		t.Errorf("CreateMachine with a second name of what another machine has = %v (kind %s), want Exhausted, Conflict or Invalid", err, kind)
	}
	b.settle()
	if names, ids := b.machines(b.c); len(names) != 1 || names[0] != "m-0" || ids[0] != id {
		t.Errorf("machines of one computer = %q %q, want m-0 %s", names, ids, id)
	}
	if m := b.machine("m-0"); m.Damaged != "" {
		t.Errorf("the machine that was there first is %+v, want it as it was", m)
	}
	if after := o.Contents(t, b.p); !slices.Equal(after, before) {
		t.Errorf("with a second name of a computer there is %q, want %q", after, before)
	}
}
