package plan

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
)

// removeWorker plans the next step of removing m: drain, then delete. Its Node
// goes once the machine is gone.
func (v *view) removeWorker(m *machine, reason string) {
	if v.drained(m, reason) {
		v.deleteMachine(m, reason)
	}
}

// drained reports whether nothing has to be moved away from m any more, and
// plans the next step of that otherwise. Every Node is drained once at least:
// that marks it as ours, so that it can be removed when the machine is gone.
func (v *view) drained(m *machine, reason string) bool {
	n := m.node
	switch {
	case m.State == fleet.MachineDeleting || n == nil:
		return true
	case !n.Draining:
		v.drain(m, reason)
		return false
	case len(n.Pods) == 0:
		return true
	}
	if t := drainTimeout(m); t > 0 {
		left := t - v.Now.Sub(n.DrainStarted)
		if left <= 0 {
			return true
		}
		v.wake(left)
	}
	v.drain(m, reason)
	v.wake(drainPace)
	v.wait("node %s is draining: %s", n.Name, some(n.Pods))
	return false
}

func (v *view) drain(m *machine, reason string) {
	v.do(fleet.Action{Kind: fleet.DrainNode, Pool: m.Pool, Machine: m.Name, Node: m.node.Name, Reason: reason})
}

// drainTimeout bounds the draining of m, 0 for no bound.
func drainTimeout(m *machine) time.Duration {
	if m.pool == nil {
		return 0
	}
	return time.Duration(m.pool.NodeDrainTimeoutSeconds) * time.Second
}

// deleteMachine deletes the infrastructure of m.
func (v *view) deleteMachine(m *machine, reason string) {
	if m.State == fleet.MachineDeleting {
		v.wait("machine %s is being deleted%s", m.Name, because(m.Message))
		return
	}
	a := deleteOf(m)
	a.Reason = reason
	v.do(a)
}

// removeExtras deletes the machines that share their name with another. It
// reports whether there was one. While nobody can tell which of them joined,
// none is deleted.
func (v *view) removeExtras(g *group) bool {
	found := false
	for _, m := range g.all {
		if !m.extra {
			continue
		}
		found = true
		if v.blind && !v.knownSilent(m) {
			v.wait("two machines are called %s: which of them joined is not known while the API server does not answer", m.Name)
			continue
		}
		v.deleteMachine(m, fmt.Sprintf("another machine is called %s as well, and stays", m.Name))
	}
	return found
}
