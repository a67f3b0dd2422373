package plan

import (
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// Preview returns every change that leads from in.Observed to in.Desired: what
// repeated Compute, carried out, comes to. Attempts, Since and Settle do not
// matter to it, and Now only to health checks and readiness.
func Preview(in Input) []Change {
	in.Attempts, in.Since, in.Settle = nil, time.Time{}, 0
	in.foreseeing = true
	v := look(in)
	switch {
	case v.paused(), v.Desired.Abandon:
		return nil
	case v.displaced != "":
		return nil // people have to act first
	case v.deleting():
		return v.previewDeletion()
	case v.authoritiesLost(), len(v.groups[0].all) == 0 && v.lostControlPlane() != "":
		return nil // people have to act first
	}
	var out []Change
	if !v.Observed.Infrastructure.Exists && len(v.machines) == 0 {
		out = append(out, v.change(CreateCluster, "", "", "the cluster has no infrastructure"))
	}
	for _, g := range v.groups {
		if g == v.groups[0] && (v.etcdMoved() || len(g.held) > 0) {
			continue
		}
		if g.pool == nil || !g.pool.Paused && !v.frozen(g) {
			out = append(out, v.previewGroup(g)...)
		}
	}
	return slices.Concat(out, v.previewUpkeep(), v.previewRemovals(), v.previewResources(), v.previewReleases())
}

// previewUpkeep returns what the machines that are there need of what they share.
func (v *view) previewUpkeep() []Change {
	upkeep := v.Observed.Infrastructure.Upkeep
	if len(upkeep) == 0 {
		return nil
	}
	return []Change{v.change(UpdateShared, "", "", strings.Join(upkeep, "; "))}
}

// previewRemovals returns the removals that stopped half way.
func (v *view) previewRemovals() []Change {
	var out []Change
	for _, m := range v.machines {
		if m.interrupted() {
			out = append(out, v.change(DeleteMachine, m.Pool, m.Name, whyResumed))
		}
	}
	return out
}

func (v *view) change(kind ChangeKind, pool fleet.PoolName, m fleet.MachineName, reason string) Change {
	return Change{Kind: kind, Cluster: v.Desired.Key, Pool: pool, Machine: m, Reason: reason}
}

func (v *view) previewDeletion() []Change {
	var out []Change
	if v.Observed.Infrastructure.Exists || len(v.machines) > 0 || v.hasSecrets() {
		out = append(out, v.change(DeleteCluster, "", "", "the cluster is to be deleted"))
	}
	for _, m := range v.machines {
		if m.State != fleet.MachineDeleting && m.held == "" {
			out = append(out, v.change(DeleteMachine, m.Pool, m.Name, "the cluster is to be deleted"))
		}
	}
	return append(out, v.previewRemovals()...)
}

// A departure is a machine that will go, and why.
type departure struct {
	*machine
	reason string
}

// previewGroup pairs the machines of g that will go with those that will come.
// Where more go than come, the last to go are the ones that are replaced.
func (v *view) previewGroup(g *group) []Change {
	gone, creates := v.foresee(g)
	spare := max(len(gone)-creates, 0)
	if v.nameless(g) != nil {
		gone, creates = gone[:spare], 0 // what replaces the others waits for people
	}
	var out []Change
	for i, d := range gone {
		if i < spare {
			out = append(out, v.change(DeleteMachine, g.name, d.Name, d.reason))
			continue
		}
		c := v.change(ReplaceMachine, g.name, d.Name, d.reason)
		c.By = v.newName(g)
		out = append(out, c)
	}
	for range creates - len(gone) {
		out = append(out, v.change(CreateMachine, g.name, v.newName(g), g.tooFew(len(g.all))))
	}
	for _, m := range g.all {
		leaves := slices.ContainsFunc(gone, func(d departure) bool { return d.machine == m })
		if g.pool == nil || leaves || m.leaving || m.node == nil || !v.wasOurs(m.node) {
			continue
		}
		p := m.poolOfNode()
		if !fleet.NodeInSync(v.Desired, p, m.Name, fleet.SignedNode(v.Desired.Key, p, m.Name, *m.node)) {
			out = append(out, v.change(UpdateNode, g.name, m.Name, "labels, annotations or taints differ"))
		}
	}
	return out
}

// foresee returns the machines of g that will go, those that nothing replaces
// first, and how many will be created.
func (v *view) foresee(g *group) (gone []departure, creates int) {
	left := map[*machine]bool{}
	depart := func(m *machine, reason string) {
		left[m] = true
		if m.State != fleet.MachineDeleting {
			gone = append(gone, departure{m, reason})
		}
	}
	for _, m := range g.leaving {
		switch {
		case m.extra:
			depart(m, "another machine of this name is there")
		case g.vanished:
			depart(m, g.vanishedReason())
		default:
			depart(m, g.whyLeaving(m))
		}
	}
	if g.vanished {
		for _, m := range g.old {
			depart(m, g.vanishedReason())
		}
		return gone, 0
	}
	stays := func() int {
		n := 0
		for _, m := range g.all {
			if !left[m] {
				n++
			}
		}
		return n
	}
	if g.pool.Role == fleet.RoleControlPlane {
		v.foreseeControlPlane(g, depart)
	} else {
		foreseeWorkers(g, v.blocked(g), v.staging.stops(g.pool), left, depart)
		if v.blocked(g) {
			return gone, 0
		}
	}
	return gone, max(g.pool.Replicas-stays()-countNames(g.held), 0)
}

// blocked reports whether g asks for a version that the control plane will not
// have.
func (v *view) blocked(g *group) bool {
	return newerMinor(g.pool.Version, v.Desired.ControlPlane.Version)
}

func foreseeWorkers(g *group, blocked bool, stops string, left map[*machine]bool, depart func(*machine, string)) {
	onDelete := g.pool.Strategy == fleet.OnDelete
	sick := func(m *machine) bool { return m.remedy && (m.current || onDelete) }
	surplus := -g.pool.Replicas
	for _, m := range slices.Concat(g.fresh, g.old) {
		if !sick(m) && (m.current || onDelete) {
			surplus++
		}
	}
	spare := victims(g.pool, g.fresh)
	if onDelete {
		spare = slices.Concat(victims(g.pool, g.old), spare)
	}
	available := 0
	for _, m := range g.all {
		if m.available {
			available++
		}
	}
	var held []*machine // cannot be spared now: they go where nothing else does
	for _, m := range spare {
		switch {
		case surplus <= 0 || sick(m):
		case m.available && available <= max(g.pool.Replicas-g.pool.MaxUnavailable, 0):
			held = append(held, m)
		default:
			surplus--
			if m.available {
				available--
			}
			depart(m, g.tooMany())
		}
	}
	for _, m := range held[:min(max(surplus, 0), len(held))] {
		depart(m, g.tooMany())
	}
	for _, m := range slices.Concat(g.fresh, g.old) {
		if sick(m) {
			depart(m, m.sick.message)
		}
	}
	for _, m := range victims(g.pool, g.old) {
		if !left[m] && !onDelete && !blocked {
			depart(m, "outdated: "+differs(m, g.pool)+stops)
		}
	}
}

func (v *view) foreseeControlPlane(g *group, depart func(*machine, string)) {
	replaces := slices.ContainsFunc(g.old, func(m *machine) bool { return !marked(m) })
	reason := func(m *machine) string {
		switch {
		case m.remedy && (g.pool.Replicas > 1 || len(g.fresh)+len(g.old) > 1):
			return m.sick.message // else it is the last
		case !m.current:
			return "outdated: " + differs(m, g.pool) + v.staging.stops(g.pool)
		case marked(m) && replaces:
			return "marked for deletion"
		}
		return ""
	}
	rest := &group{pool: g.pool, name: g.name}
	for _, m := range g.fresh {
		if reason(m) == "" {
			rest.fresh = append(rest.fresh, m)
			rest.all = append(rest.all, m)
		}
	}
	for len(rest.fresh) > g.pool.Replicas {
		m := controlPlaneVictim(rest)
		depart(m, g.tooMany())
		isM := func(o *machine) bool { return o == m }
		rest.fresh, rest.all = slices.DeleteFunc(rest.fresh, isM), slices.DeleteFunc(rest.all, isM)
	}
	for _, m := range slices.Concat(g.fresh, g.old) {
		if why := reason(m); why != "" {
			depart(m, why)
		}
	}
}
