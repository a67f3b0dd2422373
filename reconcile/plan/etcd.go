package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/health"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
)

// etcdKnown reports whether the members of etcd can be judged, and asks for
// them where they were not looked at. An external etcd has none here.
func (d *draft) etcdKnown() bool {
	if d.Observed.Workload.Etcd != nil || d.Observed.Distribution.Traits.External() {
		return true
	}
	d.out.NeedEtcd = true
	d.wait("the members of etcd have to be looked at first")
	return false
}

// removeMember takes the etcd member e out, which leaves with m.
func (d *draft) removeMember(m *machine, e *fleet.Member, reason string) {
	d.request(fleet.Action{
		Kind: fleet.RemoveMember, Pool: m.poolName(), Machine: m.Name, ProviderID: m.ProviderID, Node: e.Node, Member: e.ID, Reason: reason,
		Spared: d.Observed.Workload.Etcd.Spares(e.ID),
	})
}

// leaves returns the etcd member that leaves with m: its own, or a member of another name
// that may be its own. It is nil if m has none. why says why etcd cannot spare it, or why
// it is not known which member it is; then m stays.
func (f *facts) leaves(m *machine) (e *fleet.Member, why string) {
	etcd := f.Observed.Workload.Etcd
	if etcd == nil { // it is external
		return nil, ""
	}
	if e, why = m.member, f.doubled(m); e == nil {
		e, why = f.strayOf(m)
	}
	if e != nil && why == "" {
		why = etcd.QuorumWithout(e.ID)
	}
	return e, why
}

// strayOf returns the etcd member that may be of m, which has none of its name. Machines
// and Nodes can have other names than the members that run on them. Learners without a
// name never started and do not vote: neverStarted removes them.
func (f *facts) strayOf(m *machine) (e *fleet.Member, why string) {
	var strays []*fleet.Member
	for i := range f.Observed.Workload.Etcd.Members {
		if e := &f.Observed.Workload.Etcd.Members[i]; f.unclaimed(e) && !(e.Name == "" && e.Learner) {
			strays = append(strays, e)
		}
	}
	if len(strays) == 0 {
		return nil, ""
	}
	e = strays[0]
	for _, o := range f.machines {
		switch {
		case o == m || o.Role != fleet.RoleControlPlane || o.member != nil || o.unhealthy != nil || o.leaving || o.duplicate:
		case o.node == nil:
			return e, fmt.Sprintf("%s may be its own, or the one of machine %s, which has not joined yet", describeMember(e), o.Name)
		case e.Healthy:
			return e, fmt.Sprintf("%s may be its own, or the one of machine %s: find out which, and remove machine %s and its member yourself", describeMember(e), o.Name, m.Name)
		}
	}
	if m.node == nil && len(strays) > 1 {
		return e, fmt.Sprintf("%s and %s may both be its own: remove the unused one yourself, with etcdctl", describeMember(e), describeMember(strays[1]))
	}
	return e, ""
}

// mayJoin returns how long m, which has no Node and no etcd member, may still become a
// member. A machine that failed or is off does not join, nor does one that left etcd. A
// machine that is deleted runs on for a while, so that it may become a member until it ends.
func (f *facts) mayJoin(m *machine) time.Duration {
	left := slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
		return a.Answered && removesMemberOf(a.Action, m) && !f.madeSince(a)
	})
	if m.node != nil || m.State == fleet.MachineFailed || m.State == fleet.MachineDeleting || m.Power == fleet.HostOff || left {
		return 0
	}
	s := cmp.Or(m.startup, health.Startup{Timeout: defaultStartup, For: f.Now.Sub(f.madeAt(m))})
	return s.Timeout - s.For
}

// removesMemberOf reports whether a takes the member of m out of etcd. The id tells m from
// another machine of its name, and the name from another machine of its host.
func removesMemberOf(a fleet.Action, m *machine) bool {
	return a.Kind == fleet.RemoveMember && m.ProviderID != "" && a.ProviderID == m.ProviderID && a.Machine == m.Name
}

// unclaimed reports whether no machine and no Node has the name of e.
func (f *facts) unclaimed(e *fleet.Member) bool {
	return !slices.ContainsFunc(f.machines, func(m *machine) bool { return m.member == e || nodeName(m) == e.Node }) &&
		!slices.ContainsFunc(f.Observed.Workload.Nodes, func(n fleet.Node) bool { return n.Name == e.Node })
}

// orphan returns the etcd member that no machine of g and no Node is behind. A machine
// without a member of its name may be behind one: behind one without a name, which has not
// started, behind one that answers, behind a learner while it has time to join, and behind
// any as long as it has no Node either, which can have another name. A voter may be that of a machine
// that had the time to join and whose part of the control plane does not work.
// Source: Cluster API, #13221, #13667, #14197.
func (f *facts) orphan(g *group) *fleet.Member {
	e := f.Observed.Workload.Etcd
	if e == nil {
		return nil
	}
	for i := range e.Members {
		if f.outlived(&e.Members[i]) {
			return &e.Members[i]
		}
		name := e.Members[i].Node
		mayOwn := func(m *machine) bool {
			return nodeName(m) == name || m.member == nil && (m.node == nil || name == "" || e.Members[i].Healthy || e.Members[i].Learner && f.joins(m) || !e.Members[i].Learner && !f.joins(m) && !m.serves())
		}
		if slices.ContainsFunc(g.all, mayOwn) || slices.ContainsFunc(g.held, mayOwn) || slices.ContainsFunc(f.Observed.Workload.Nodes, func(n fleet.Node) bool { return n.Name == name }) {
			continue
		}
		return &e.Members[i]
	}
	return nil
}

// perhapsOf says which etcd member of another name may be of m, which had the time to join and does not serve, and what
// to do: orphan keeps that member for it. It is empty if there is none.
func (f *facts) perhapsOf(m *machine) string {
	if f.Observed.Workload.Etcd == nil || m.member != nil || m.node == nil || f.joins(m) || m.serves() {
		return ""
	}
	for i := range f.Observed.Workload.Etcd.Members {
		if e := &f.Observed.Workload.Etcd.Members[i]; f.unclaimed(e) {
			return fmt.Sprintf(", and %s may be its own: if so, request the replacement of %s (fairlead remediate); if not, remove the member with etcdctl", describeMember(e), m.Name)
		}
	}
	return ""
}

// checkExpelled marks the machine as unhealthy that joined the control plane and has had no member in etcd, and has
// not served, for as long as a machine may take to start: it does not come back by itself. An agent may have ended
// after it removed the member and before it deleted the machine, and the Node may be ready since. People who repair a
// member remove it and add it again. A machine stays while a member of another name may be its own, and if several have
// none: agents remove one at a time, so people did that, or restored etcd from a backup, and the disks may have
// what the backup lacks.
func (f *facts) checkExpelled() {
	g, e := f.controlPlane(), f.Observed.Workload.Etcd
	if g == nil || e != nil && slices.ContainsFunc(e.Members, func(e fleet.Member) bool { return f.unclaimed(&e) }) {
		return
	}
	outside := slices.DeleteFunc(slices.Clone(g.all), func(m *machine) bool { return m.member != nil || !f.lacksServer(m) })
	for _, m := range outside {
		if !m.node.Ready || m.unhealthy != nil || m.leaving || skipsRemediation(m) || e == nil && !f.told(m, expelled) {
			continue
		}
		since := f.conditionSince(m, expelled, fleet.False, time.Time{})
		left := defaultStartup - f.Now.Sub(since)
		switch {
		case e == nil: // not known in this look
		case len(outside) > 1:
			f.note("machine %s is not replaced: it has no member in etcd, as others (%s). If etcd was restored and their data is not needed, request their replacement one by one (fairlead remediate)",
				m.Name, named(outside, func(o *machine) bool { return o != m }))
		case left > 0:
			f.wake(left)
		default:
			m.unhealthy = &defect{
				controlplanev1.KubeadmControlPlaneMachineEtcdMemberNotHealthyReason,
				fmt.Sprintf("its control plane does not work, and etcd has no member of node %s any longer", m.node.Name),
			}
			m.condemned = true
		}
	}
}

// expelled is the condition that is False of a machine that has no member in etcd any longer.
const expelled = controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition

// lacksServer reports whether m joined the control plane, had time to start, and does not serve.
func (f *facts) lacksServer(m *machine) bool {
	return m.node != nil && m.node.ControlPlane && !f.joins(m) && !m.serves()
}

// stalls reports whether m joined the control plane, had time to start, and does not serve though its Node is ready.
func (f *facts) stalls(m *machine) bool {
	return f.lacksServer(m) && m.node.Ready
}

// joins reports whether m, which has a Node, has time yet to join etcd: the Node comes first.
func (f *facts) joins(m *machine) bool {
	return f.Now.Sub(latest(f.madeAt(m), m.node.Created)) < defaultStartup
}

// outlived reports whether o is a member that does not answer, while another one of
// its name is that of a machine and does: the machine has left o behind.
func (f *facts) outlived(o *fleet.Member) bool {
	if o.Name == "" || o.Healthy || o.Learner || len(f.held) > 0 {
		return false
	}
	return slices.ContainsFunc(f.machines, func(m *machine) bool {
		return m.member != nil && m.member.Node == o.Node && m.member.ID != o.ID && m.member.Healthy
	})
}

// doubled says that etcd has another member with the name of m's, and that nothing
// tells which of them is in use; empty when it has not.
func (f *facts) doubled(m *machine) string {
	if m.member == nil || f.Observed.Workload.Etcd == nil {
		return ""
	}
	for _, o := range f.Observed.Workload.Etcd.Members {
		if o.Node == m.member.Node && o.ID != m.member.ID && o.Healthy == m.member.Healthy {
			return fmt.Sprintf("etcd has two members called %s (%x and %x), and which of them is in use is not known: remove the other yourself, with etcdctl",
				o.Name, min(o.ID, m.member.ID), max(o.ID, m.member.ID))
		}
	}
	return ""
}

// leftEtcd deletes the machine whose member this agent took out of etcd, though the
// API server does not answer: behind a load balancer it may be that machine's own
// which is asked, and that has no etcd any more. It reports whether there is one.
// The id, and when they were made, tell it from a machine that has its name since.
// Without an answer to the removal, the machine goes if etcd keeps its quorum even if
// the member stayed.
func (d *draft) leftEtcd(g *group) bool {
	if d.Observed.Distribution.Traits.LeaveIsAsked { // the answer is no proof
		return false
	}
	for _, m := range g.all {
		for _, a := range d.Attempts {
			if (a.Answered || a.Action.Spared) && removesMemberOf(a.Action, m) && !d.madeSince(a) {
				d.deleteMachine(m, a.Action.Reason)
				return true
			}
		}
	}
	return false
}

// neverStarted takes out the member of a machine that went before its etcd came
// up, and reports whether there is one. It goes before all else: no member may leave
// etcd, and none joins it, while a member is still joining, and this one never
// does. While unknown machines may surface, it may be of one of these.
func (d *draft) neverStarted(g *group) bool {
	o := d.orphan(g)
	if o == nil || o.Name != "" {
		return false
	}
	switch {
	case d.Observed.Distribution.Traits.LeaveIsAsked: // by its name, and it has none
		d.wait("%s has no machine: the others take it out themselves", describeMember(o))
	case !d.unsettled():
		d.removeOrphan(o)
	}
	return true
}

// describeMember names the member o, which has no machine.
func describeMember(o *fleet.Member) string {
	if o.Name == "" {
		return "an etcd member that never started"
	}
	return "etcd member " + o.Name
}

// removeOrphan takes the member o out of etcd.
func (d *draft) removeOrphan(o *fleet.Member) {
	if why := d.Observed.Workload.Etcd.QuorumWithout(o.ID); why != "" {
		d.wait("%s has no machine and stays: %s", describeMember(o), why)
		return
	}
	d.request(fleet.Action{
		Kind: fleet.RemoveMember, Pool: d.controlPlane().name, Machine: fleet.MachineName(o.Node), Node: o.Node, Member: o.ID,
		Reason: describeMember(o) + " has no machine",
	})
}

// keepNetworking tells where Git has other ranges for Services or Pods, or another
// domain, than the cluster was made with, and whatever else its distribution keeps: these stay.
func (d *draft) keepNetworking() {
	for _, s := range d.Observed.Distribution.Steps[d.Desired.Version()] {
		if s.When == fleet.Never {
			d.refuse("%s", s.Reason)
		}
	}
	made := d.Observed.Workload.Made
	if made == nil || made.Flags != nil { // the distribution says where Git differs
		return
	}
	n := d.Desired.Network
	for _, f := range []struct{ field, made, wanted string }{
		{"services.cidrBlocks", made.Networking.ServiceSubnet, strings.Join(n.Services.CIDRBlocks, ",")},
		{"pods.cidrBlocks", made.Networking.PodSubnet, strings.Join(n.Pods.CIDRBlocks, ",")},
		{"serviceDomain", made.Networking.DNSDomain, n.ServiceDomain},
	} {
		if f.made != "" && f.wanted != "" && f.made != f.wanted {
			d.refuse("clusterNetwork.%s is %s in Git, and the cluster was made with %s, which stays: put it back, or make a new cluster", f.field, f.wanted, f.made)
		}
	}
}

// etcdMoved reports whether Git has etcd elsewhere than the running cluster: on
// the control plane, or outside. Rolling that out would leave the data behind.
// Source: Cluster API, webhook of KubeadmControlPlane: neither may become the other.
func (d *draft) etcdMoved() bool {
	made := d.Observed.Workload.Made
	if made == nil || made.Membership == "" || (made.Membership == fleet.MembershipElsewhere) == d.Observed.Distribution.Traits.External() {
		return false
	}
	if made.Membership == fleet.MembershipElsewhere {
		d.refuse("etcd of the cluster is external, and Git has it on the control plane: its data would stay behind, put clusterConfiguration.etcd.external back")
	} else {
		d.refuse("etcd of the cluster is on the control plane, and Git has it outside: its data would stay behind, take clusterConfiguration.etcd.external back")
	}
	return true
}
