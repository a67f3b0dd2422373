package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// deleting reports whether the cluster is to go.
func (f *facts) deleting() bool { return f.Desired.Delete && !f.Desired.Protect }

// delete plans the next step of removing the whole cluster: what its controllers
// keep outside of it, workers, control plane, infrastructure, secrets. Nothing is drained: there is nowhere to go.
func (d *draft) delete() {
	d.out.Phase = fleet.PhaseDeleting
	d.noteUnlisted()
	switch {
	case d.deleteExternal():
	case d.deleteWorkers():
	case d.awaitSites():
	case len(d.unlisted) > 0: // the API server is the only one that knows of them; noteHeld says so
	case d.deleteGroups(d.ownControlPlane()):
		d.forgetControlPlane()
	case len(d.held) > 0: // nothing goes below them, and tellHeld says so
	case d.maySurface():
	case d.deleteNodes():
	case d.deleteGuests():
	case d.Observed.Infrastructure.Exists:
		d.request(fleet.Action{Kind: fleet.DeleteInfrastructure, Reason: "the cluster is to be deleted, and its machines are gone"})
	case d.deleteHosted():
	case d.hasSecrets():
		d.request(fleet.Action{Kind: fleet.DeleteSecrets, Reason: "the cluster is deleted"})
	default:
		d.out.Phase = fleet.PhaseDeleted
	}
}

// noteUnlisted says that machines may be left behind: Nodes tell of those that the provider does not list, and the API
// server is silent though no machine of the control plane was deleted yet.
func (d *draft) noteUnlisted() {
	if d.unreachable && d.Desired.Hosted == nil && d.residence.ControlPlane == fleet.InitializedOnce {
		d.note("only the machines that the provider lists are deleted: the API server does not answer, and its nodes cannot tell of others. If the credentials show less than they did, pause the cluster and correct them first")
	}
}

// deleteWorkers deletes all workers, and the pools that the cloud keeps. It reports whether any are there, or
// may still appear.
func (d *draft) deleteWorkers() bool {
	machines := d.deleteGroups(d.workers())
	return d.deleteAllKept() || machines
}

// forgetControlPlane forgets that there was a control plane once its machines go, and
// the data with them: where people ask for the cluster again before all of it is
// gone, it is created again. Once it answers after that, it is remembered again.
func (d *draft) forgetControlPlane() {
	if d.controlPlaneGoes() || slices.ContainsFunc(d.out.Actions, deletesMachine) {
		d.out.Residence.ControlPlane = fleet.DeletionBegan
	}
}

func deletesMachine(a fleet.Action) bool { return a.Kind == fleet.DeleteMachine }

// controlPlaneGoes reports whether machines of the control plane are being deleted, or
// may be.
func (f *facts) controlPlaneGoes() bool {
	g := f.controlPlane()
	if g == nil {
		return false
	}
	return slices.ContainsFunc(g.all, func(m *machine) bool { return m.State == fleet.MachineDeleting }) ||
		slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
			return deletesMachine(a.Action) && a.Action.Pool == g.name && f.recent(a, f.repeatAfter(a))
		})
}

// deleteGroups deletes the machines of groups, and reports whether any are there
// or may still appear.
func (d *draft) deleteGroups(groups []*group) bool {
	found := false
	for _, g := range groups {
		for _, m := range g.all {
			found = true
			if !d.keptByHooks(g, m) {
				d.deleteMachine(m, "the cluster is to be deleted")
			}
		}
		for _, name := range g.pending {
			found = true
			d.wait("machine %s was asked for and may still appear", name)
		}
	}
	return found
}

// keeps returns what keeps m from being deleted, or nil. Where the whole cluster
// goes, only hooks do.
func (f *facts) keeps(m *machine) *obstacle {
	if !f.deleting() {
		return f.obstacle(m)
	}
	if o := hooked(m, clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.MachineDeletingWaitingForPreDrainHookReason); o != nil {
		return o
	}
	return hooked(m, clusterv1.PreTerminateDeleteHookAnnotationPrefix, clusterv1.MachineDeletingWaitingForPreTerminateHookReason)
}

// keptByHooks reports whether m of g must wait for hooks, and says so on its
// Node. A control plane waits as a whole: without it no controller could take a hook
// away. What cannot be seen may still be there.
func (d *draft) keptByHooks(g *group, m *machine) bool {
	if m.State == fleet.MachineDeleting {
		return false
	}
	if d.unreachable && g.pool != nil && len(fleet.DeclaredHooks(g.pool)) > 0 && d.mayAnswer() {
		d.wait("machine %s may have hooks, which cannot be seen while the API server does not answer: take them out of pool %s to go on without", m.Name, g.name)
		return true
	}
	kept := false
	for _, o := range g.all {
		if o.node == nil || o != m && g != d.controlPlane() {
			continue
		}
		if k := d.keeps(o); k != nil {
			kept = true
			d.wait("%s", k.message)
			if o == m && !m.node.Draining {
				d.request(d.draining(m, "the cluster is to be deleted"))
			}
		}
	}
	return kept
}

// mayAnswer reports whether the control plane is as it was before the deletion.
func (f *facts) mayAnswer() bool {
	if f.Desired.Hosted != nil {
		return f.Observed.ControlPlane.Ready
	}
	cp := f.controlPlane().all
	return len(cp) > 0 && !slices.ContainsFunc(cp, func(m *machine) bool { return m.State != fleet.MachineRunning })
}

// maySurface reports whether something that was begun may still appear, so that
// removing the infrastructure under it, or the knowledge of it, would leak it.
func (d *draft) maySurface() bool {
	if d.unsettled() {
		return true
	}
	found := false
	for _, a := range d.Attempts {
		s := d.site(a.Action.Provider)
		if s == nil || !d.recent(a, s.settle) {
			continue
		}
		made := a.Action.Kind == fleet.EnsureInfrastructure && (!a.Answered || !s.seen.Exists) ||
			a.Action.Kind == fleet.EnsureControlPlane && d.Desired.Hosted != nil && (!a.Answered || !d.Observed.ControlPlane.Exists)
		if made {
			found = true
			d.wait("%s: it may still happen", a.Action)
			d.wake(s.settle - d.Now.Sub(a.At))
		}
	}
	return found
}

// hasSecrets reports whether any secret of the cluster is left that goes with it.
func (f *facts) hasSecrets() bool {
	s := f.Observed.Secrets
	if s.Kubeconfig.Exists && !slices.Contains(s.Kept, fleet.Kubeconfig) {
		return true
	}
	return slices.ContainsFunc(f.Observed.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return !n.Given }), func(name fleet.SecretName) bool {
		return !slices.Contains(s.Missing, name) && !slices.Contains(s.Kept, name)
	})
}

// deletion describes how far the deletion is: its reason, in Cluster API's
// words, and a message.
func (d *draft) deletion() (reason, message string) {
	left := func(groups []*group) bool {
		for _, g := range groups {
			if len(g.all)+len(g.pending) > 0 {
				return true
			}
		}
		return false
	}
	switch {
	case d.contradicted != "":
		return "WaitingForInfrastructureDeletion", "Nothing is deleted: " + d.contradicted
	case d.out.Phase == fleet.PhaseDeleted:
		return "DeletionCompleted", "Deletion completed"
	case d.external:
		return "WaitingForExternalResourcesDeletion", "Load balancers and volumes that Kubernetes made are being deleted"
	case left(d.workers()), slices.ContainsFunc(d.kept, func(k *keptPool) bool { return k.seen != nil && k.held == "" }):
		return "WaitingForWorkersDeletion", "Workers are being deleted"
	case slices.ContainsFunc(d.kept, func(k *keptPool) bool { return k.held != "" }):
		return "WaitingForHeldMachines", d.heldTexts()
	case d.unseen() != nil:
		_, message := d.sitesProblem()
		return "WaitingForSites", message
	case len(d.unlisted) > 0:
		return "WaitingForHeldMachines", d.heldTexts()
	case left(d.ownControlPlane()):
		return "WaitingForControlPlaneDeletion", "Control plane is being deleted"
	case len(d.held) > 0:
		return "WaitingForHeldMachines", d.heldTexts()
	}
	for _, s := range d.guests() {
		if s.seen.Exists {
			return "WaitingForInfrastructureDeletion", fmt.Sprintf("What machines shared on %s is being deleted%s", s.provider, because(s.seen.Message))
		}
	}
	return "WaitingForInfrastructureDeletion", fmt.Sprintf("Infrastructure of %s is being deleted%s", d.Desired.Key, because(d.Observed.Infrastructure.Message))
}
