package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// planControlPlane plans the one change of the control plane that may be made
// now. The order of the cases is the order of urgency; each waits for those
// before it, so that there are never two changes in flight.
func (d *draft) planControlPlane() {
	g := d.withoutDeparted()
	d.tellHeldVersion()
	switch {
	case g.pool.Paused:
		d.note("control plane %s is paused", g.name)
	case d.frozen(g):
		d.finishRemoval(g)
	case len(g.held) > 0: // any change may be one too many; tellHeld says what it waits for
	case d.removeDuplicates(g):
	case len(g.pending) > 0:
		d.wait("machine %s was asked for and is not there yet", g.pending[0])
	case len(g.all) == 0:
		d.initialize(g)
	case d.remediateFirst(g):
	case d.replaceFirst(g):
	case d.unreachable && d.leftEtcd(g):
	case d.unreachable:
		d.wait("the API server does not answer%s", because(d.Observed.Workload.Message))
		d.noteDeletionBegan()
		d.noteUnknownFirst(g)
	case d.etcdMoved():
	case d.neverStarted(g):
	case len(g.leaving) > 0 && !d.stuck(g):
		d.continueRemoval(g)
	case d.orphanControlPlaneNode() != "":
		d.wait("node %s has no machine", d.orphanControlPlaneNode())
	case d.controlPlaneAtRest(g):
	case !d.etcdKnown():
	case d.orphan(g) != nil:
		d.removeOrphan(d.orphan(g))
	case d.remediate(g):
	default:
		d.changeControlPlane(g)
	}
}

// tellHeldVersion says why the control plane does not go to the version that Git asks for.
func (d *draft) tellHeldVersion() {
	if why := d.staging.Blocked(); why != "" {
		d.refuse("%s", why)
	}
	if why := d.staging.Waits(); why != "" {
		d.note("%s", why)
	}
}

// finishRemoval goes on with a removal that has begun in a control plane whose machines
// otherwise stay unchanged.
func (d *draft) finishRemoval(g *group) {
	if d.away(g) == "" && len(g.held) == 0 && len(g.leaving) > 0 && !d.unreachable && !d.stuck(g) {
		d.continueRemoval(g)
	}
}

// initialized reports whether the control plane answers and has a Node: workers
// and further control-plane machines can join.
func (f *facts) initialized() bool {
	if f.Desired.Hosted != nil {
		return f.hostedServes()
	}
	joined := func(m *machine) bool { return m.node != nil }
	return slices.ContainsFunc(f.controlPlane().all, joined) || slices.ContainsFunc(f.controlPlane().held, joined) || f.knownInitialized()
}

// everInitialized is initialized for a cluster whose API server may be out of
// reach: what is remembered proves that there was one, and so do workers and further
// control-plane machines. A first machine that a lost answer made twice does not.
func (f *facts) everInitialized() bool {
	if f.Desired.Hosted != nil {
		return f.residence.ControlPlane == fleet.InitializedOnce || len(f.machines) > 0 // which it let in
	}
	return f.residence.ControlPlane == fleet.InitializedOnce || f.initialized() || !f.oneName()
}

func (f *facts) controlPlaneDone() bool {
	if f.Desired.Hosted != nil {
		return f.hostedDone()
	}
	g := f.controlPlane()
	return g.settled() && f.orphanControlPlaneNode() == "" &&
		!slices.ContainsFunc(g.all, func(m *machine) bool { return f.ailing(m) != "" })
}

// noteDeletionBegan says why a control plane may never answer again, and what to do.
// Nothing is deleted unless people ask for it: the data of etcd may be worth something.
func (d *draft) noteDeletionBegan() {
	if d.residence.ControlPlane == fleet.DeletionBegan {
		d.note("the deletion of the cluster had begun with its control plane, so that what is left of it may lack the majority of etcd: request the deletion again (%s) and let it end, or restore etcd", fleet.DeleteAnnotation)
	}
}

// noteUnknownFirst says why a first machine that does not come up is not replaced, and what to
// do: the agent that made it ended before it could write down that there was no control plane
// yet, so this one cannot tell it from a control plane that stopped answering.
func (d *draft) noteUnknownFirst(g *group) {
	if d.residence.ControlPlane != "" || !d.NeverAnswered || d.failedFirst(g.all[0]) {
		return
	}
	m := g.all[0]
	if left := defaultStartup - d.Now.Sub(d.silentSince(m)); left > 0 {
		d.wake(left)
		return
	}
	d.note("machine %s is not replaced: it may have been a control plane before this agent began. If the cluster never worked, request its deletion (%s), and create it again", m.Name, fleet.DeleteAnnotation)
}

// controlPlaneAtRest reports whether nothing is to be changed, and says what is
// not well despite that.
func (d *draft) controlPlaneAtRest(g *group) bool {
	d.out.NeedEtcd = d.out.NeedEtcd || (d.lately(g) || slices.ContainsFunc(g.all, d.stalls)) && !d.Observed.Distribution.Traits.External() && d.Observed.Workload.Etcd == nil
	if !g.settled() || d.orphan(g) != nil {
		return false
	}
	well := true
	for _, m := range g.all {
		if m.condemned {
			return false
		}
		if why := d.ailing(m); why != "" {
			d.wait("%s%s", why, d.perhapsOf(m))
			well = false
		}
	}
	if well { // kubeadm init has written what it writes
		d.stepBeforeJoin(g)
	}
	return true
}

// lately reports whether a machine of g was deleted a short time ago. It may have
// left a member in etcd that nothing else would have looked for.
func (f *facts) lately(g *group) bool {
	return slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
		return a.Action.Kind == fleet.DeleteMachine && a.Action.Pool == g.name
	})
}

// initialize creates the first machine, alone.
func (d *draft) initialize(g *group) {
	if why := d.lostControlPlane(); why != "" {
		d.note("%s", why)
		return
	}
	d.create(g, fleet.JoinInit, d.nextDomain(g), "first machine of the control plane")
}

// replaceFirst deletes the first machine where it is outdated, and known never to
// have become a control plane: the next push fixes what one before got wrong.
func (d *draft) replaceFirst(g *group) bool {
	m := g.all[0]
	if !d.unreachable || m.current || !d.failedFirst(m) {
		return false
	}
	if left := defaultStartup - d.Now.Sub(d.silentSince(m)); left > 0 {
		d.wake(left)
		return false
	}
	d.deleteMachine(m, "outdated, and the API server never answered: "+differs(m, g.pool))
	return true
}

// lostControlPlane says that a cluster without a control-plane machine had one
// before; empty when it is new. Its data went with its machines, and an empty
// cluster in its place would hide that.
func (f *facts) lostControlPlane() string {
	if len(f.held) > 0 {
		return "no control-plane machine is there that is known as one: " + f.held[0].held
	}
	for _, w := range f.workers() {
		if len(w.all) > 0 {
			return fmt.Sprintf("all control-plane machines are gone while workers are there: a new control plane would be empty. Restore the cluster, or delete it (%s) and create it again", fleet.DeleteAnnotation)
		}
	}
	if s := f.unseen(); s != nil {
		return fmt.Sprintf("no control-plane machine is there, and whether the cluster has workers is not known as long as %s is away", f.title(s))
	}
	if len(f.Observed.Workload.Nodes) > 0 {
		return "no control-plane machine is there, but the API server answers and has nodes"
	}
	if f.residence.ControlPlane == fleet.InitializedOnce {
		return "all control-plane machines are gone, and the cluster had a control plane: a new one would be empty. Restore or delete the cluster, or " + recreateAdvice
	}
	return ""
}

// orphanControlPlaneNode names a Node of a control-plane machine that is gone.
func (f *facts) orphanControlPlaneNode() string {
	for _, n := range f.orphanNodes {
		if n.ControlPlane {
			return n.Name
		}
	}
	return ""
}
