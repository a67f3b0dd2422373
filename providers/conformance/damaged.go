package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// damagedTags: a machine that lost a tag, or has one that Fairlead never wrote, is
// shown as damaged, and nothing is taken from it: to the planner a machine that is not
// shown is dead. A provider that cannot tell what it is may refuse to say anything of
// the cluster. With its tags put back it is what it was.
func damagedTags(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Retag", o.Retag != nil) || !b.has("Contents", o.Contents != nil) {
		return
	}
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.create(b.c, "m-0")
	b.settle()
	b.settle()
	before := o.Contents(t, b.p)
	lost := func(tags map[string]string, tag string) { delete(tags, tag) }
	garbled := func(tags map[string]string, tag string) { tags[tag] = "?? " + tags[tag] }
	for _, d := range []struct {
		machine fleet.MachineName
		tag     string
		damage  func(tags map[string]string, tag string)
	}{
		{"cp-0", fleet.TagMachine, lost},
		{"cp-0", fleet.TagRole, lost},
		{"cp-0", fleet.TagPool, lost},
		{"cp-0", fleet.TagTemplate, garbled},
		{"m-0", fleet.TagMachine, lost},
		{"m-0", fleet.TagRole, garbled},
		{"m-0", fleet.TagVersion, lost},
	} {
		was := b.machine(d.machine)
		var whole map[string]string
		o.Retag(t, b.p, was.ProviderID, func(tags map[string]string) {
			whole = maps.Clone(tags)
			d.damage(tags, d.tag)
		})
		b.settle()
		b.wantDamaged(was, d.tag)
		if err := b.p.EnsureInfrastructure(t.Context(), "op-infra", b.c); err != nil {
			wantKind(t, "EnsureInfrastructure with a machine whose tags are damaged", err, fleet.Conflict)
		}
		b.settle()
		b.wantDamaged(was, d.tag)
		o.Retag(t, b.p, was.ProviderID, func(tags map[string]string) {
			clear(tags)
			maps.Copy(tags, whole)
		})
		b.settle()
		if got := b.machine(d.machine); got.ProviderID != was.ProviderID || got.Damaged != "" {
			t.Errorf("with its tags put back machine %s is %+v, want %+v", d.machine, got, was)
		}
	}
	after := o.Contents(t, b.p)
	for _, thing := range before {
		if !slices.Contains(after, thing) {
			t.Errorf("%s is gone, of machines whose tags were damaged for a while", thing)
		}
	}
}

// wantDamaged fails unless the machine is there and said to have a damaged tag, or
// nothing is said of the cluster at all.
func (b *bench) wantDamaged(was fleet.Machine, tag string) {
	b.t.Helper()
	seen, err := b.p.Observe(b.t.Context(), b.c)
	if err != nil {
		wantKind(b.t, "Observe with a machine without its tag "+tag, err, fleet.Conflict)
		return
	}
	i := slices.IndexFunc(seen.Machines, func(m fleet.Machine) bool { return m.ProviderID == was.ProviderID })
	switch {
	case i < 0:
		b.t.Errorf("%s, whose tag %s is damaged, is not shown: %+v", was.Name, tag, seen.Machines)
	case !strings.Contains(seen.Machines[i].Damaged, tag):
		b.t.Errorf("%s, whose tag %s is damaged, has Damaged %q", was.Name, tag, seen.Machines[i].Damaged)
	case seen.Machines[i].State == fleet.MachineDeleting:
		b.t.Errorf("%s, whose tag %s is damaged, is being deleted", was.Name, tag)
	}
}
