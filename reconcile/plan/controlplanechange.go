package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// changeControlPlane replaces, adds or removes one machine.
func (d *draft) changeControlPlane(g *group) {
	p, total := g.pool, len(g.all)
	surge := p.MaxSurge
	if p.Replicas < 3 {
		surge = max(surge, 1) // fewer than three cannot spare one
	}
	switch {
	case len(g.old) > 0 && total < p.Replicas+surge:
		old := controlPlaneVictim(g)
		if total < p.Replicas {
			old = nil
		}
		d.join(g, old)
	case len(g.old) > 0:
		d.retire(g, controlPlaneVictim(g))
	case total < p.Replicas:
		d.join(g, nil)
	case total > p.Replicas:
		d.retire(g, controlPlaneVictim(g))
	}
}

// join adds a machine once all others are well; of a replacement, old is the
// machine that goes after it.
func (d *draft) join(g *group, old *machine) {
	if !d.wellBut(g, nil) || d.stepBeforeJoin(g) {
		return
	}
	reason := g.tooFew(len(g.all))
	if old != nil {
		reason = fmt.Sprintf("%s: replaces %s", differs(old, g.pool), old.Name)
		if old.current {
			reason = fmt.Sprintf("marked for deletion: replaces %s", old.Name)
		}
	}
	d.create(g, fleet.JoinControlPlane, d.nextDomain(g), reason)
}

// retire begins the removal of m once all others of g are well.
func (d *draft) retire(g *group, m *machine) {
	if !d.wellBut(g, m) || d.unsettled() {
		return
	}
	reason := g.tooMany()
	if !m.current {
		reason = "outdated: " + differs(m, g.pool)
	} else if len(g.old) > 0 {
		reason = "marked for deletion"
	}
	d.removeControlPlane(m, reason)
}

// wellBut reports whether every machine of g but the victim is well, and says
// what is not.
func (d *draft) wellBut(g *group, victim *machine) bool {
	ok := true
	for _, m := range g.all {
		if m == victim {
			continue
		}
		if why := d.ailing(m); why != "" {
			d.wait("%s", why)
			ok = false
		}
	}
	if d.Observed.Workload.Etcd == nil { // it is external
		return ok
	}
	for _, m := range d.Observed.Workload.Etcd.Members {
		if (m.Learner || m.Name == "") && (victim == nil || victim.member == nil || victim.member.ID != m.ID) {
			d.wait("an etcd member is still joining")
			ok = false
		}
	}
	return ok
}

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
	if why := d.doubled(m); why != "" {
		d.wait("machine %s stays: %s", m.Name, why)
		return
	}
	if m.member != nil {
		if why := d.Observed.Workload.Etcd.QuorumWithout(m.member.ID); why != "" {
			d.wait("machine %s stays: %s", m.Name, why)
			return
		}
	}
	if !d.drained(m, reason) {
		return
	}
	if m.member != nil {
		d.removeMember(m, reason)
		return
	}
	d.deleteMachine(m, reason)
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
		return m.State == fleet.MachineDeleting || m.member == nil || f.Observed.Workload.Etcd.QuorumWithout(m.member.ID) == ""
	})
}
