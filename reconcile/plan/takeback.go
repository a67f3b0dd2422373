package plan

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// takeBack keeps workers whose removal has begun and that are wanted again: their pool came back,
// or it is to have more machines. A removal that evicted a pod goes on.
func (f *facts) takeBack() {
	if f.deleting() || f.paused() {
		return
	}
	for _, g := range f.workers() {
		if g.vanished || g.pool.Paused {
			continue
		}
		lacks := g.pool.Replicas - len(g.fresh) - countNames(g.held) // what is pending may never come
		if onDelete(g.pool) {
			lacks -= len(g.old)
		}
		var list []*machine
		for _, m := range g.leaving {
			if m.current && m.unhealthy == nil && !m.doubtful && !marked(m) && f.revocable(m) {
				list = append(list, m)
			}
		}
		slices.SortFunc(list, func(a, b *machine) int { // the one that is least far first
			return cmp.Or(compareStart(a.node, b.node), cmp.Compare(a.Name, b.Name))
		})
		for _, m := range list[:min(max(lacks, 0), len(list))] {
			m.leaving, m.back = false, true
			g.fresh = append(g.fresh, m)
			g.leaving = slices.DeleteFunc(g.leaving, func(o *machine) bool { return o == m })
		}
	}
}

// compareStart orders Nodes by the start of their drain, latest first. One that hooks keep from
// being drained comes before all.
func compareStart(a, b *fleet.Node) int {
	switch {
	case a.DrainStarted.IsZero() && b.DrainStarted.IsZero():
		return 0
	case a.DrainStarted.IsZero():
		return -1
	case b.DrainStarted.IsZero():
		return 1
	}
	return b.DrainStarted.Compare(a.DrainStarted)
}

// revocable reports whether the removal of m, which has begun, can be taken back: it is on its
// Node alone, and no pod was evicted.
func (f *facts) revocable(m *machine) bool {
	n := m.node
	if n == nil || !n.Draining || n.Evicted || n.Unseen || m.State == fleet.MachineDeleting || m.duplicate {
		return false
	}
	going := func(p fleet.Pod) bool { return !p.Fixed && !p.Deleted.IsZero() }
	return !f.final[removal{m.Name, ""}] && !f.final[removal{m.Name, m.ProviderID}] && !slices.ContainsFunc(n.Pods, going)
}

// keepTakenBack plans that the Node of m, whose removal is taken back, takes pods again.
func (d *draft) keepTakenBack(m *machine) {
	d.request(fleet.Action{
		Kind: fleet.UncordonNode, Pool: m.pool.Name, Machine: m.Name, Node: m.node.Name,
		Reason: fmt.Sprintf("its removal is taken back: pool %s wants %s", m.pool.Name, machines(m.pool.Replicas)),
	})
}
