package plan

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
)

// report adds the report of the cluster, its pools and its machines.
func (d *draft) report() {
	for _, g := range d.groups {
		if d.away(g) != "" { // nothing can be told of it
			continue
		}
		d.out.Pools = append(d.out.Pools, g.report())
	}
	for _, k := range d.kept {
		if d.sites[0].away == "" {
			d.out.Pools = append(d.out.Pools, k.report(d.unreachable))
		}
	}
	d.out.Machines = make([]fleet.MachineReport, 0, len(d.machines))
	for _, m := range d.machines {
		d.out.Machines = append(d.out.Machines, d.machineReport(m))
	}
	d.out.Addons = d.addons()
	d.out.Conditions = d.conditions()
}

// report counts the machines of g.
func (g *group) report() fleet.PoolReport {
	r := fleet.PoolReport{Name: g.name, Role: fleet.RoleWorker, Current: len(g.all) + len(g.held)}
	if g.pool != nil {
		r.Role, r.Kind, r.Version, r.Desired = g.pool.Role, g.pool.Kind, g.pool.Version, g.pool.Replicas
	}
	for _, m := range g.all {
		if m.current {
			r.UpToDate++
		}
		if m.ready {
			r.Ready++
		}
		if m.available {
			r.Available++
		}
	}
	return r
}

// machineReport tells what is known of m.
func (d *draft) machineReport(m *machine) fleet.MachineReport {
	r := fleet.MachineReport{Machine: *m.Machine, UpToDate: m.current, Conditions: d.machineConditions(m)}
	if m.node != nil {
		r.Node, r.Version, r.Joined = m.node.Name, m.node.KubeletVersion, m.node.Created.UTC()
		if m.node.ProviderID != m.ProviderID {
			r.NodeID = m.node.ProviderID
		}
	}
	switch {
	case m.leaving || m.duplicate:
		r.Phase = fleet.MachinePhaseDeleting
	case m.State == fleet.MachineFailed:
		r.Phase = fleet.MachinePhaseFailed
	case m.State == fleet.MachinePending:
		r.Phase = fleet.MachinePhaseProvisioning
	case m.node == nil && (!d.unreachable || !d.everInitialized()):
		r.Phase = fleet.MachinePhaseProvisioned
	default:
		r.Phase = fleet.MachinePhaseRunning
	}
	return r
}

// named lists the names of those of ms that are f.
func named(ms []*machine, f func(*machine) bool) string {
	var names []string
	for _, m := range ms {
		if f(m) {
			names = append(names, string(m.Name))
		}
	}
	slices.Sort(names)
	return text.Some(names)
}
