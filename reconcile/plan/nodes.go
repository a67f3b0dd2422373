package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// keepNodes has the Nodes of machines brought in line with their pools, those
// of machines that are gone removed, and the tokens of machines that still have
// to join renewed.
func (d *draft) keepNodes() {
	if d.unreachable {
		return
	}
	for _, m := range d.machines {
		switch {
		case m.pool == nil || m.pool.Paused || m.duplicate || m.held != "" || m.State == fleet.MachineDeleting:
		case m.node == nil:
			d.keepToken(m)
		case m.back:
			d.keepTakenBack(m)
		case !m.node.Draining && !fleet.NodeInSync(d.Desired, m.poolOfNode(), m.Name, *m.node):
			d.sync(m)
		}
	}
	for _, n := range d.orphanNodes {
		d.deleteNode(n)
	}
	for _, n := range d.duplicateNodes {
		d.note("node %s has the provider id of a machine that has another node: delete the one that is not in use", n.Name)
	}
}

// keepToken renews the token of a machine that has not joined. A token lives 15
// minutes from the machine's creation and from each renewal, and is renewed
// every 5: two renewals may fail before it is lost. Which of the observed
// tokens belongs to the machine is not known here, so it is renewed by time.
func (d *draft) keepToken(m *machine) {
	if m.leaving || m.unhealthy != nil || (m.State != fleet.MachineRunning && m.State != fleet.MachinePending) {
		return
	}
	if age := d.Now.Sub(m.MadeAt()); age >= 0 && age < AttemptsLast {
		d.wake(AttemptsLast - age)
		return
	}
	d.request(fleet.Action{Kind: fleet.RefreshToken, Pool: m.Pool, Machine: m.Name, Reason: "the machine has not joined yet"})
	d.wake(AttemptsLast)
}

// sync brings the Node of m in line with its pool, and marks it as ours.
func (d *draft) sync(m *machine) {
	reason := "labels, annotations or taints differ from pool " + string(m.pool.Name)
	if !m.current && m.Role == fleet.RoleWorker {
		reason = "the machine is outdated: pods should rather go elsewhere"
	}
	if !d.wasOurs(m.node) {
		reason = "the machine joined"
	}
	d.request(fleet.Action{Kind: fleet.SyncNode, Pool: m.pool.Name, Machine: m.Name, ProviderID: m.ProviderID, Node: m.node.Name, Outdated: !m.current, Reason: reason})
}

// poolOfNode returns the pool that the Node of m is to be in line with.
func (m *machine) poolOfNode() fleet.Pool {
	if m.current {
		return *m.pool
	}
	return m.pool.OfOutdated()
}

// deleteNode removes the Node object of a machine that is gone. A machine of
// that name which was asked for may have joined before it shows at the provider,
// and one that still works and that no one removed is not gone: it lost its tags.
func (d *draft) deleteNode(n *fleet.Node) {
	if d.unseen() != nil || d.unsettled() { // its machine may be on a site that cannot be observed
		return
	}
	if n.Ready && (!n.Draining || !d.deleted(n)) {
		d.note("node %s stays: it is ready, though no machine with this cluster's tags is behind it", n.Name)
		return
	}
	if m := d.mayHide(); m != "" {
		d.note("node %s stays: machine %s, which is held, may be behind it", n.Name, m)
		return
	}
	for _, g := range d.groups {
		for _, name := range g.pending {
			if string(name) == n.Name {
				return
			}
		}
	}
	if !d.mayLeave(n) {
		return
	}
	d.request(fleet.Action{
		Kind: fleet.DeleteNode, Node: n.Name, Machine: fleet.MachineName(n.Name),
		Reason: "its machine is gone",
	})
}

// mayLeave reports whether etcd can spare the member that goes with n, where one does.
func (d *draft) mayLeave(n *fleet.Node) bool {
	if !d.Observed.Distribution.Traits.NodeIsMember || !n.ControlPlane {
		return true
	}
	if !d.etcdKnown() {
		return false
	}
	for _, m := range d.Observed.Workload.Etcd.Members {
		if m.Node != n.Name {
			continue
		}
		if why := d.Observed.Workload.Etcd.QuorumWithout(m.ID); why != "" {
			d.wait("node %s stays: %s", n.Name, why)
			return false
		}
	}
	return true
}

// deleted reports whether this agent deleted the machine of n: one that joined
// after the look that found it without a Node was never marked as ours.
func (f *facts) deleted(n *fleet.Node) bool {
	return slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
		id := a.Action.ProviderID
		return a.Action.Kind == fleet.DeleteMachine && (id != "" || string(a.Action.Machine) == n.Name) && sameServer(id, n.ProviderID) && !f.joinsSince(a)
	})
}

// joinsSince reports whether a machine that was asked for after a, of which no provider id is known, has no Node yet: it may
// be the next one of the host, with the provider id of the machine of a.
func (f *facts) joinsSince(a fleet.Attempt) bool {
	return slices.ContainsFunc(f.Attempts, func(b fleet.Attempt) bool {
		if b.Action.Kind != fleet.CreateMachine || b.Action.Provider != a.Action.Provider || !b.At.After(a.At) {
			return false
		}
		listed := f.named[b.Action.Machine]
		return len(listed) == 0 && f.recent(b, f.settleOf(b.Action.Provider)) || slices.ContainsFunc(listed, func(m *machine) bool { return m.node == nil && m.ProviderID == "" })
	})
}

// wasOurs reports whether n says that a machine of this cluster is or was behind
// it: by Cluster API's annotations, or because its removal has begun.
func (f *facts) wasOurs(n *fleet.Node) bool {
	return n.Draining || n.IsOf(f.Desired.Key)
}
