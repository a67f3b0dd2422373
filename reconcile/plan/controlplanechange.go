package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// ailing says why m cannot be counted on; empty when it can. An infrastructure may
// call a machine failed, for a migration that was given up for one, that works: where
// it has a Node, that and its member tell.
func (f *facts) ailing(m *machine) string {
	switch {
	case m.State != fleet.MachineRunning && (m.State != fleet.MachineFailed || m.node == nil):
		return fmt.Sprintf("machine %s is %s%s", m.Name, m.State, because(m.Message))
	case m.node == nil:
		return fmt.Sprintf("machine %s has not joined yet", m.Name)
	case !m.node.Ready:
		return fmt.Sprintf("node %s is not ready", m.node.Name)
	case !m.serves():
		return fmt.Sprintf("the control plane on node %s is not ready", m.node.Name)
	case f.Observed.Workload.Etcd == nil:
		return ""
	case m.member == nil:
		return fmt.Sprintf("machine %s is not a member of etcd", m.Name)
	case f.doubled(m) != "":
		return f.doubled(m)
	case m.member.Learner:
		return fmt.Sprintf("etcd member %s is still joining", m.member.Name)
	case !m.member.Healthy:
		return fmt.Sprintf("etcd member %s is not healthy", m.member.Name)
	}
	return ""
}

// removeControlPlane plans the next step of removing m: drain, leave etcd,
// delete. It takes care of etcd only; others judge whether m may go.
func (d *draft) removeControlPlane(m *machine, reason string) {
	if !d.etcdKnown() {
		return
	}
	member, why := d.leaves(m)
	switch {
	case why != "":
		d.wait("machine %s stays: %s", m.Name, why)
	case member == nil && d.joinsFirst(m):
		d.wait("machine %s has not joined yet", m.Name)
	case !d.drainFirst(m, reason):
	case member != nil:
		d.removeMember(m, member, reason)
	default:
		d.deleteMachine(m, reason)
	}
}

// joinsFirst reports whether m may still become a member of etcd that etcd cannot bear to
// lose: once m has joined, it leaves etcd before it goes.
// Source: Cluster API, #11772.
func (d *draft) joinsFirst(m *machine) bool {
	e := d.Observed.Workload.Etcd
	if e == nil || e.BearsLostJoin() {
		return false
	}
	left := d.mayJoin(m)
	if left > 0 {
		d.wake(left)
	}
	return left > 0
}

// continueRemoval goes on with the removal that has begun. Where several have,
// which only others can bring about, they go one by one.
func (d *draft) continueRemoval(g *group) {
	first := g.leaving[0]
	for _, m := range g.leaving {
		if m.State == fleet.MachineDeleting {
			first = m
			break
		}
	}
	if first.State == fleet.MachineDeleting {
		d.deleteMachine(first, "")
		return
	}
	remove := func() { d.removeControlPlane(first, g.whyLeaving(first)) }
	if first.unhealthy == nil {
		remove()
		return
	}
	d.asAttempt(first, remove)
}

// stuck reports whether the removal that has begun would cost etcd its quorum,
// while a health check wants another machine gone: that one goes first.
func (f *facts) stuck(g *group) bool {
	if !slices.ContainsFunc(g.all, func(m *machine) bool { return m.condemned }) || f.Observed.Workload.Etcd == nil {
		return false
	}
	return !slices.ContainsFunc(g.leaving, func(m *machine) bool {
		_, why := f.leaves(m)
		return m.State == fleet.MachineDeleting || why == ""
	})
}
