package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// departed reports whether the control-plane machine m is no part of the cluster
// any more, though its infrastructure is still to be deleted: it cannot be reached,
// its Node is not ready, and etcd has no member of it. The deletion goes on when
// it is back, which may be never.
func (d *draft) departed(m *machine) bool {
	if m.State != fleet.MachineDeleting || !m.Silent || m.node != nil && m.node.Ready || d.unreachable {
		return false
	}
	return d.etcdKnown() && m.member == nil
}

// withoutDeparted returns the control plane as the cluster has it. A machine that is
// departed is not waited for: with one member fewer, etcd may bear no other loss,
// and another may take its place.
func (d *draft) withoutDeparted() *group {
	g := d.controlPlane()
	all := slices.DeleteFunc(slices.Clone(g.all), d.departed)
	if len(all) == len(g.all) || len(all) == 0 {
		return g
	}
	out := *g
	out.all = all
	out.leaving = slices.DeleteFunc(slices.Clone(g.leaving), d.departed)
	for _, m := range g.all {
		if d.departed(m) {
			d.deleteMachine(m, "") // which says what it waits for
		}
	}
	return &out
}
