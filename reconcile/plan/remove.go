package plan

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// drainsAtOnce bounds the Nodes that begin to be drained at a time: each look lists the pods of
// each of them, eight Nodes at a time. Four rounds of that are done in half the time of a look
// if a list takes a second.
const drainsAtOnce = 32

// countDrains counts the Nodes that are being drained. One that takes long has no others wait, nor
// does one whose hooks wait for people, though each look lists their pods as well: both may wait
// forever, and a Node that there is no time for is reported as unseen.
func (f *facts) countDrains() int {
	n := 0
	for _, m := range f.machines {
		if f.busy(m) && !(m.node.Draining && m.node.DrainStarted.IsZero()) {
			n++
		}
	}
	return n
}

// toDrain reports whether the removal of m begins with a drain.
func (f *facts) toDrain(m *machine) bool {
	return m.State != fleet.MachineDeleting && m.node != nil && !m.node.Draining && !f.hasAnnotation(m, clusterv1.ExcludeNodeDrainingAnnotation)
}

// removeWorker plans the next step of removing m: drain, then delete. Its Node
// goes once the machine is gone.
func (d *draft) removeWorker(m *machine, reason string) {
	if d.drainFirst(m, reason) {
		d.deleteMachine(m, reason)
	}
}

// An obstacle is what keeps a machine from being deleted.
type obstacle struct {
	reason  string // of the condition Deleting
	message string
	left    time.Duration // until it is given up; 0: never
	drain   bool          // another step of draining may clear it
}

// drainFirst reports whether m may be deleted: nothing has to be moved away from it, and
// no hook keeps it. Otherwise it plans the next step of that. Every Node
// that may be drained is drained at least once: this marks it as ours, so that it can be
// deleted when the machine is gone.
func (d *draft) drainFirst(m *machine, reason string) bool {
	if m.State == fleet.MachineDeleting || m.node == nil {
		return true
	}
	if d.toDrain(m) {
		d.request(d.draining(m, reason))
		return false
	}
	o := d.obstacle(m)
	if o == nil {
		return true
	}
	if o.drain {
		_ = d.tryRequest(d.draining(m, reason)) // the obstacle says what it waits for
		d.wake(drainPace)
	}
	if o.left > 0 {
		d.wake(o.left)
	}
	d.wait("%s", o.message)
	return false
}

// draining returns a step of draining m. The Node is not brought in line at the
// same time: see leaveDrained.
func (d *draft) draining(m *machine, reason string) fleet.Action {
	d.drained[m.node.Name] = true
	a := fleet.Action{Kind: fleet.DrainNode, Pool: m.poolName(), Machine: m.Name, Node: m.node.Name, Reason: reason}
	if m.duplicate {
		a.ProviderID = m.ProviderID // the machine that has its name stays
	}
	return a
}

// leaveDrained has no Node brought in line that is drained: two writers would be in each other's way, and
// it goes.
func (d *draft) leaveDrained() {
	if len(d.drained) > 0 {
		d.out.Actions = slices.DeleteFunc(d.out.Actions, func(a fleet.Action) bool { return a.Kind == fleet.SyncNode && d.drained[a.Node] })
	}
}

// hasAnnotation reports whether people put an annotation on the machines of m's pool, which may
// have been removed from Git since, or on the Node of m.
func (f *facts) hasAnnotation(m *machine, annotation string) bool {
	return has(f.removedBy(m).Annotations, annotation) || m.node != nil && has(m.node.Annotations, annotation)
}

// obstacle returns what keeps m, which is on its way out and has a Node, from
// being deleted, or nil. The order is Cluster API's: hooks, pods, volumes, hooks.
func (f *facts) obstacle(m *machine) *obstacle {
	if o := hooked(m, clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.MachineDeletingWaitingForPreDrainHookReason); o != nil {
		return o
	}
	pods, over := f.undrained(m)
	if pods != nil {
		return pods
	}
	if o := f.undetached(m, over); o != nil {
		return o
	}
	return hooked(m, clusterv1.PreTerminateDeleteHookAnnotationPrefix, clusterv1.MachineDeletingWaitingForPreTerminateHookReason)
}

// hooked returns the hooks of one kind that are on the Node of m.
func hooked(m *machine, prefix, reason string) *obstacle {
	hooks := fleet.Hooks(prefix, m.node.Annotations)
	if len(hooks) == 0 {
		return nil
	}
	return &obstacle{reason: reason, message: fmt.Sprintf(
		"node %s has hooks, which their owners have to remove: %s", m.node.Name, text.Some(hooks))}
}

// undrained returns the pods that m still has to be rid of, and whether the time
// for that is over.
func (f *facts) undrained(m *machine) (o *obstacle, over bool) {
	n := m.node
	if f.hasAnnotation(m, clusterv1.ExcludeNodeDrainingAnnotation) {
		return nil, false
	}
	var texts []string
	var later []string
	for i, t := range f.behaviors(m) {
		switch t {
		case fleet.DrainSkip:
		case fleet.DrainLater:
			later = append(later, podText(&n.Pods[i], t))
		default:
			texts = append(texts, podText(&n.Pods[i], t))
		}
	}
	texts = append(texts, later...)
	if n.Unseen {
		texts = append(texts, "its pods could not be listed in time")
	}
	if len(texts) == 0 && !n.DrainStarted.IsZero() {
		return nil, false
	}
	o = &obstacle{
		reason: clusterv1.MachineDeletingDrainingNodeReason, drain: true,
		message: fmt.Sprintf("node %s is draining%s", n.Name, because(text.Some(texts))),
	}
	if t := f.drainLimit(m, func(p *fleet.Pool) int { return p.NodeDrainTimeoutSeconds }); t > 0 && !n.DrainStarted.IsZero() {
		if o.left = t - f.Now.Sub(f.from(n.DrainStarted)); o.left <= 0 {
			return nil, true
		}
	}
	return o, false
}

func (f *facts) behaviors(m *machine) []fleet.DrainBehavior {
	return f.Desired.DrainRulesOf(m.poolName()).Behaviors(m.node.Pods, m.node.Unreachable(), f.there())
}

// podText says for people why p is still there.
func podText(p *fleet.Pod, t fleet.DrainBehavior) string {
	why := "is to be evicted"
	switch {
	case !p.Deleted.IsZero():
		why = "is terminating"
	case t == fleet.DrainWaitCompleted:
		why = "is to complete first"
	case t == fleet.DrainLater:
		why = "is to be evicted after others"
	case p.Blocked != "":
		why = p.Blocked
	}
	return p.String() + ": " + why
}

// undetached returns the volumes that still have to be detached from m: those
// of pods that stay are not waited for, and an unreachable Node never detaches
// any. over says that draining was given up.
func (f *facts) undetached(m *machine, over bool) *obstacle {
	n := m.node
	if n.Unreachable() || f.hasAnnotation(m, clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation) {
		return nil
	}
	staying := map[string]bool{}
	for i, t := range f.behaviors(m) {
		for _, c := range n.Pods[i].Claims {
			claim := n.Pods[i].Namespace + "/" + c
			staying[claim] = staying[claim] || t == fleet.DrainSkip
		}
	}
	var texts []string
	for _, volume := range n.Volumes {
		if !staying[volume.Claim] {
			text := volume.Name
			if volume.Claim != "" {
				text += " of " + volume.Claim
			}
			texts = append(texts, text)
		}
	}
	if n.Unseen {
		texts = append(texts, "unknown, since they could not be listed in time")
	}
	if len(texts) == 0 {
		return nil
	}
	o := &obstacle{
		reason:  clusterv1.MachineDeletingWaitingForVolumeDetachReason,
		message: fmt.Sprintf("node %s has volumes that are to be detached: %s", n.Name, text.Some(texts)),
	}
	t := f.drainLimit(m, func(p *fleet.Pool) int { return p.NodeVolumeDetachTimeoutSeconds })
	if t == 0 {
		return o
	}
	since := f.from(n.Drained)
	if over {
		since = f.from(n.DrainStarted).Add(f.drainLimit(m, func(p *fleet.Pool) int { return p.NodeDrainTimeoutSeconds }))
	}
	if since.IsZero() {
		o.drain = true // which notes since when there is nothing else to wait for
		return o
	}
	if o.left = t - f.Now.Sub(since); o.left <= 0 {
		return nil
	}
	return o
}

// drainLimit returns the time that the pool of m allows for a step of a removal, 0 for no
// limit.
func (f *facts) drainLimit(m *machine, seconds func(*fleet.Pool) int) time.Duration {
	return time.Duration(seconds(f.removedBy(m))) * time.Second
}

// deleteMachine deletes the infrastructure of m.
func (d *draft) deleteMachine(m *machine, reason string) {
	if m.State == fleet.MachineDeleting {
		d.wait("machine %s is being deleted%s", m.Name, because(m.Message))
		return
	}
	a := deleteOf(m)
	a.Reason = reason
	d.request(a)
}

// interrupted reports whether the removal of m stopped half way and may go on.
func (m *machine) interrupted() bool {
	return m.held == "" && m.State == fleet.MachineDeleting && m.Interrupted && (m.pool == nil || !m.pool.Paused)
}

// whyResumed is said of a removal that is asked for again.
const whyResumed = "its removal was interrupted"

// resumeRemovals asks again for removals that stopped half way: they were decided
// when they began, and an agent that only observes changes nothing.
func (d *draft) resumeRemovals() {
	for _, m := range d.machines {
		if !m.interrupted() {
			continue
		}
		a := deleteOf(m)
		a.Reason = whyResumed
		d.request(a)
	}
}

// removeDuplicates removes the machines that share their name with another, which
// stays. It reports whether there was one.
func (d *draft) removeDuplicates(g *group) bool {
	found := false
	for _, m := range g.all {
		if !m.duplicate {
			continue
		}
		found = true
		reason := fmt.Sprintf("another machine is called %s as well, and stays", m.Name)
		switch {
		case m.State == fleet.MachineDeleting, d.unreachable: // then nothing in this cluster ever joined
			d.deleteMachine(m, reason)
		case g == d.controlPlane():
			d.removeControlPlane(m, reason)
		default:
			d.removeWorker(m, reason)
		}
	}
	return found
}
