package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// step returns the step of the distribution that is due at a time, for the version that
// the control plane is to have now.
func (f *facts) step(when fleet.StepTime) (fleet.Step, bool) {
	due := f.Observed.Distribution.Steps[f.controlPlane().pool.Version]
	i := slices.IndexFunc(due, func(s fleet.Step) bool { return s.When == when })
	if i < 0 {
		return fleet.Step{}, false
	}
	return due[i], true
}

// stepBeforeJoin takes the step without which no machine of the control plane joins in its
// desired state, and reports whether that is to be waited for. A control plane at rest takes it
// too, since workers may join by it as well.
func (d *draft) stepBeforeJoin(g *group) bool {
	s, due := d.step(fleet.BeforeJoin)
	if !due || s.Rollout && len(g.old) == 0 {
		return false
	}
	if !d.unsettled() { // an unknown machine would join with it
		d.request(fleet.Action{Kind: fleet.ApplyStep, Step: s.Name, Pool: g.name, Reason: s.Reason})
	}
	return true
}

// stepAfterControlPlane takes the step that comes when the whole control plane is as Git
// says.
func (d *draft) stepAfterControlPlane() {
	g := d.controlPlane()
	if g == nil {
		return
	}
	s, due := d.step(fleet.AfterControlPlane)
	if !due || g.pool.Paused || !g.settled() || slices.ContainsFunc(g.all, func(m *machine) bool { return m.node == nil }) {
		return
	}
	d.request(fleet.Action{Kind: fleet.ApplyStep, Step: s.Name, Pool: g.name, Reason: s.Reason})
}

// withdrawRemovals takes back what servers were asked for and nothing that is planned asks for:
// they would do it later, at a time that no one chose.
func (d *draft) withdrawRemovals() {
	g := d.controlPlane()
	if g == nil || d.deleting() || d.unreachable || d.out.NeedEtcd {
		return
	}
	for _, s := range d.Observed.Distribution.Steps[g.pool.Version] {
		if s.When == fleet.UnlessLeaving && !d.takesOut(s.Node) {
			d.request(fleet.Action{Kind: fleet.ApplyStep, Step: s.Name, Pool: g.name, Node: s.Node, Reason: s.Reason})
		}
	}
}

// takesOut reports whether an action of the plan, or one that was just begun, takes the server
// on node out.
func (d *draft) takesOut(node string) bool {
	of := func(a fleet.Action) bool {
		return (a.Kind == fleet.RemoveMember || a.Kind == fleet.DeleteMachine || a.Kind == fleet.DeleteNode) && (a.Node == node || string(a.Machine) == node)
	}
	return slices.ContainsFunc(d.out.Actions, of) ||
		slices.ContainsFunc(d.Attempts, func(a fleet.Attempt) bool { return of(a.Action) && d.recent(a, d.repeatAfter(a)) })
}
