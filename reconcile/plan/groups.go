package plan

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// A group is the machines of one pool, observed and expected.
type group struct {
	pool     *fleet.Pool
	name     fleet.PoolName
	vanished bool
	all      []*machine // every machine that is there
	fresh    []*machine // stays: made from the template that is asked for
	old      []*machine // outdated
	leaving  []*machine // on its way out
	held     []*machine // is, or may be, of this pool
	pending  []fleet.MachineName
	// freshPending is how many of pending are made from the template that is
	// asked for.
	freshPending int
}

// controlPlane returns the group of the control plane; nil where that is hosted.
func (f *facts) controlPlane() *group {
	if f.Desired.Hosted != nil {
		return nil
	}
	return f.groups[0]
}

// ownControlPlane returns the group of the control plane alone, if machines are it.
func (f *facts) ownControlPlane() []*group {
	if f.Desired.Hosted != nil {
		return nil
	}
	return f.groups[:1]
}

// workers returns the groups of all other machines, those of vanished pools last.
func (f *facts) workers() []*group {
	return f.groups[len(f.ownControlPlane()):]
}

// size gives pools that Git leaves to be scaled, and for which nothing was decided
// anything yet, as many machines as they have, if that is more than they begin
// with: a pool that is taken over keeps its size.
// Source: Cluster API, defaulting of replicas of MachineDeployments.
func (f *facts) size() {
	has := map[fleet.PoolName]int{}
	for _, m := range f.machines {
		if m.Role == fleet.RoleWorker && !m.leaving && !m.duplicate && m.held == "" {
			has[m.Pool]++
		}
	}
	for _, p := range f.Desired.Workers {
		has[p.Name] += countNames(f.heldOf(p.Name)) // which are his once they are put right
	}
	d := *f.Desired
	d.Workers = slices.Clone(d.Workers)
	changed := false
	for i, p := range d.Workers {
		if p.Scaling != nil && !p.Scaling.Decided && has[p.Name] > p.Replicas {
			d.Workers[i], changed = p.Sized(has[p.Name]), true
		}
	}
	if changed {
		f.Desired = &d
	}
}

// group sorts the machines, and those that may still appear, by pool. Whatever
// has the control plane's role belongs to the control plane: a renamed one is
// outdated, not gone.
func (f *facts) group() {
	f.size()
	d := f.Desired
	f.groups = make([]*group, 0, len(d.Workers)+1)
	byPool := make(map[fleet.PoolName]*group, len(d.Workers)+1)
	add := func(p *fleet.Pool, name fleet.PoolName) *group {
		g := &group{pool: p, name: name, vanished: p == nil}
		f.groups = append(f.groups, g)
		byPool[name] = g
		return g
	}
	var cp *group
	if d.Hosted == nil {
		cp = add(&d.ControlPlane, d.ControlPlane.Name)
	}
	for i := range d.Workers {
		add(&d.Workers[i], d.Workers[i].Name)
	}
	of := func(role fleet.Role, name fleet.PoolName) *group {
		if role == fleet.RoleControlPlane && cp != nil {
			return cp
		}
		if g := byPool[name]; g != nil && g != cp {
			return g
		}
		return add(nil, name)
	}
	for _, g := range f.groups {
		g.held = f.heldOf(g.name)
	}
	for _, m := range f.machines {
		if m.held != "" {
			continue
		}
		g := of(m.Role, m.Pool)
		m.pool = g.pool
		m.current = g.pool != nil && (upToDate(m, g.pool) || f.staged(m)) && !unwanted(m)
		if m.current {
			m.overdue = f.overdue(m)
			m.current = m.overdue == ""
		}
		g.all = append(g.all, m)
		switch {
		case m.leaving || m.duplicate:
			g.leaving = append(g.leaving, m)
		case m.current:
			g.fresh = append(g.fresh, m)
		default:
			g.old = append(g.old, m)
		}
	}
	slices.SortStableFunc(f.groups[len(d.Pools()):], func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	f.expect(of)
}

// expect counts the machines that were asked for and cannot be seen yet.
func (f *facts) expect(of func(fleet.Role, fleet.PoolName) *group) {
	seen := make(map[fleet.MachineName]bool, len(f.machines))
	deleted := map[fleet.MachineName]time.Time{}
	for _, m := range f.machines {
		seen[m.Name] = true
	}
	for _, a := range f.Attempts {
		if a.Action.Kind == fleet.DeleteMachine {
			deleted[a.Action.Machine] = a.At
		}
	}
	for _, a := range f.Attempts {
		came := a.Answered && deleted[a.Action.Machine].After(a.At) // and went again
		if a.Action.Kind != fleet.CreateMachine || seen[a.Action.Machine] || came || !f.recent(a, f.settleOf(a.Action.Provider)) {
			continue
		}
		role := fleet.RoleControlPlane
		if a.Action.Join == fleet.JoinWorker {
			role = fleet.RoleWorker
		}
		g := of(role, a.Action.Pool)
		g.pending = append(g.pending, a.Action.Machine)
		if g.pool != nil && a.Action.Pool == g.name {
			if same, _ := g.pool.Has(a.Action.Template); same {
				g.freshPending++
			}
		}
		f.wake(f.settleOf(a.Action.Provider) - f.Now.Sub(a.At))
	}
	for _, g := range f.groups {
		slices.Sort(g.pending)
	}
}
