package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// adrift reports whether the control-plane machine m is no part of the cluster
// any more, though its infrastructure is still to be deleted: nobody reaches it,
// its Node is not ready, and etcd has no member of it. The deletion goes on when
// it is back, which may be never.
func (v *view) adrift(m *machine) bool {
	if m.State != fleet.MachineDeleting || !m.Silent || m.node != nil && m.node.Ready || v.blind {
		return false
	}
	return v.etcdKnown() && m.member == nil
}

// withoutAdrift returns the control plane as the cluster has it. A machine that is
// adrift is not waited for: with one member fewer, etcd may bear no other loss,
// and another may take its place.
func (v *view) withoutAdrift() *group {
	g := v.groups[0]
	all := slices.DeleteFunc(slices.Clone(g.all), v.adrift)
	if len(all) == len(g.all) || len(all) == 0 {
		return g
	}
	out := *g
	out.all = all
	out.leaving = slices.DeleteFunc(slices.Clone(g.leaving), v.adrift)
	for _, m := range g.all {
		if v.adrift(m) {
			v.deleteMachine(m, "") // which says what it waits for
		}
	}
	return &out
}
