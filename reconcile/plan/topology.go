package plan

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/staging"
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// topologyCondition tells how far a cluster of a class is on the way to its
// version, and what waits for what.
func (f *facts) topologyCondition(l *ledger) {
	if f.Desired.Topology == nil {
		return
	}
	reason, message := f.topologyState()
	l.set(clusterv1.ClusterTopologyReconciledCondition, reason == "", clusterv1.ClusterTopologyReconcileSucceededReason, reason, message)
}

// topologyState returns no reason where every pool may be as Git asks for it.
func (f *facts) topologyState() (reason, message string) {
	switch {
	case f.deleting():
		return clusterv1.ClusterTopologyReconciledDeletingReason, "Cluster is deleting"
	case f.paused():
		return clusterv1.ClusterTopologyReconcilePausedReason, f.whyPaused()
	}
	if f.Desired.OnlyKeptPools() {
		return f.hostedProgress()
	}
	return f.staging.Progress()
}

// hostedProgress is the Progress of a cluster all of which a cloud keeps.
func (f *facts) hostedProgress() (reason, message string) {
	to := f.Desired.Version()
	if why := f.hostedVersionRefused(); why != "" {
		return clusterv1.ClusterTopologyReconciledFailedReason, why
	}
	var parts, deferred []string
	if order, known := fleet.CompareKubernetes(f.served(), to); known && order < 0 {
		parts = append(parts, f.Desired.ControlPlaneName()+" goes to "+to)
	}
	for _, k := range f.kept {
		switch {
		case k.deferred != "":
			deferred = append(deferred, fmt.Sprintf("%s deferred by %s", k.name, k.deferred))
		case k.behind():
			parts = append(parts, string(k.name)+" to be upgraded")
		}
	}
	switch {
	case len(parts)+len(deferred) == 0:
		return "", ""
	case len(parts) == 0:
		reason = clusterv1.ClusterTopologyReconciledMachinePoolsUpgradeDeferredReason
	default:
		reason = clusterv1.ClusterTopologyReconciledClusterUpgradingReason
	}
	return reason, "Upgrading to " + to + ": " + strings.Join(append(parts, deferred...), "; ")
}

func isVersion(v string) bool {
	_, err := version.ParseSemantic(v)
	return err == nil
}

// stage has Git ask for the pools in their state for now, on the way to what it
// asks for. A cluster without a class is on a way only where its control plane may not go on, and
// one all of which a cloud keeps is on none: keptTurn is for its pools.
func (f *facts) stage() {
	class := f.Desired.Topology != nil
	if f.deleting() || f.Desired.OnlyKeptPools() || !class && (f.Desired.Hosted != nil || !f.everServed()) {
		return
	}
	machines := make([]staging.Machine, 0, len(f.machines))
	stays := slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Role == fleet.RoleControlPlane && !m.leaving })
	for _, m := range f.machines {
		if m.held != "" && !isVersion(m.Version) {
			continue // it is no part of what is staged until it is put right
		}
		if !class && stays && m.Role == fleet.RoleControlPlane && m.leaving {
			continue // nothing joins before it is gone
		}
		pool := m.Pool
		switch hosted := f.Desired.Hosted != nil; {
		case m.Role == fleet.RoleControlPlane && !hosted:
			pool = f.Desired.ControlPlane.Name
		case pool == "" && hosted: // that is what serves
			continue
		}
		machines = append(machines, staging.Machine{Pool: pool, Version: m.Version})
	}
	if f.Desired.Hosted != nil && f.served() != "" {
		machines = append(machines, staging.Machine{Version: f.served()})
	}
	machines = append(machines, f.unseenMachines()...)
	machines = append(machines, f.keptMachines()...)
	if s := staging.New(f.Desired, machines); s != nil && (class || s.Held()) {
		f.staging, f.Desired = s, s.Cluster()
	}
}

// everServed reports whether an API server of the cluster serves, or may have: before that
// a machine of any version may be the first.
func (f *facts) everServed() bool {
	return f.Memory.Residence.ControlPlane == fleet.InitializedOnce ||
		slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Role == fleet.RoleControlPlane && m.node != nil })
}

// unseenMachines stands for the machines of pools on sites that are away: their kubelets are
// as old as the oldest Node that no machine is known for.
func (f *facts) unseenMachines() []staging.Machine {
	var out []staging.Machine
	oldest := f.versionsUnseen()
	for _, p := range f.Desired.Pools() {
		if s := f.site(p.Provider); oldest != "" && (s == nil || s.away != "") {
			out = append(out, staging.Machine{Pool: p.Name, Version: oldest})
		}
	}
	return out
}

// frozen reports whether nothing is done to g, and says why where something is to
// be done.
func (d *draft) frozen(g *group) bool {
	if d.away(g) != "" { // noteAway says so
		return true
	}
	why := d.staging.Frozen(g.name)
	if why != "" && !g.settled() {
		d.note("%s", why)
	}
	return why != ""
}

// staged reports whether m is as its pool is to be as long as that stays at its version.
func (f *facts) staged(m *machine) bool {
	return m.pool != nil && f.staging.Keeps(m.pool.Name) && m.Pool == m.pool.Name && m.Version == m.pool.Version
}
