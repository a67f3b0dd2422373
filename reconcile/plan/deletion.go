package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// deleting reports whether the cluster is to go.
func (v *view) deleting() bool { return v.Desired.Delete && !v.Desired.Protect }

// delete plans the next step of removing the whole cluster: what its controllers
// keep outside of it, workers, control plane, infrastructure, secrets. Nothing is drained: there is nowhere to go.
func (v *view) delete() {
	v.out.Phase = fleet.PhaseDeleting
	switch {
	case v.deleteExternal():
	case v.deleteGroups(v.groups[1:]):
	case v.deleteGroups(v.groups[:1]):
		v.forgetControlPlane()
	case len(v.held) > 0: // nothing goes below them, and tellHeld says so
	case v.surfacing():
	case v.Observed.Infrastructure.Exists:
		v.do(fleet.Action{Kind: fleet.DeleteInfrastructure, Reason: "the cluster is to be deleted, and its machines are gone"})
	case v.hasSecrets():
		v.do(fleet.Action{Kind: fleet.DeleteSecrets, Reason: "the cluster is deleted"})
	default:
		v.out.Phase = fleet.PhaseDeleted
	}
}

// forgetControlPlane forgets that there was a control plane once its machines go, and
// the data with them: where people wish for the cluster again before all of it is
// gone, it is made anew. Once it answers after that, it is remembered again.
func (v *view) forgetControlPlane() {
	if v.controlPlaneGoes() || slices.ContainsFunc(v.out.Actions, deletesMachine) {
		v.residence.ControlPlane = fleet.DeletionBegan
	}
}

func deletesMachine(a fleet.Action) bool { return a.Kind == fleet.DeleteMachine }

// controlPlaneGoes reports whether machines of the control plane are being deleted, or
// may be.
func (v *view) controlPlaneGoes() bool {
	g := v.groups[0]
	return slices.ContainsFunc(g.all, func(m *machine) bool { return m.State == fleet.MachineDeleting }) ||
		slices.ContainsFunc(v.Attempts, func(a fleet.Attempt) bool {
			return deletesMachine(a.Action) && a.Action.Pool == g.name && v.recent(a, v.hold(a))
		})
}

// deleteGroups deletes the machines of groups, and reports whether any are there
// or may still appear.
func (v *view) deleteGroups(groups []*group) bool {
	found := false
	for _, g := range groups {
		for _, m := range g.all {
			found = true
			if !v.keptByHooks(g, m) {
				v.deleteMachine(m, "the cluster is to be deleted")
			}
		}
		for _, name := range g.pending {
			found = true
			v.wait("machine %s was asked for and may still appear", name)
		}
	}
	return found
}

// keeps returns what keeps m from being deleted, or nil. Where the whole cluster
// goes, only hooks do.
func (v *view) keeps(m *machine) *obstacle {
	if !v.deleting() {
		return v.obstacle(m)
	}
	if o := hooked(m, clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.MachineDeletingWaitingForPreDrainHookReason); o != nil {
		return o
	}
	return hooked(m, clusterv1.PreTerminateDeleteHookAnnotationPrefix, clusterv1.MachineDeletingWaitingForPreTerminateHookReason)
}

// keptByHooks reports whether m of g must wait for hooks, and says so on its
// Node. A control plane waits as a whole: without it nobody could take a hook
// away. What cannot be seen may still be there.
func (v *view) keptByHooks(g *group, m *machine) bool {
	if m.State == fleet.MachineDeleting {
		return false
	}
	if v.blind && g.pool != nil && len(fleet.DeclaredHooks(g.pool)) > 0 && v.mayAnswer() {
		v.wait("machine %s may have hooks, which cannot be seen while the API server does not answer: take them out of pool %s to go on without", m.Name, g.name)
		return true
	}
	kept := false
	for _, o := range g.all {
		if o.node == nil || o != m && g != v.groups[0] {
			continue
		}
		if k := v.keeps(o); k != nil {
			kept = true
			v.wait("%s", k.message)
			if o == m && !m.node.Draining {
				v.do(v.draining(m, "the cluster is to be deleted"))
			}
		}
	}
	return kept
}

// mayAnswer reports whether the control plane is as it was before the deletion.
func (v *view) mayAnswer() bool {
	cp := v.groups[0].all
	return len(cp) > 0 && !slices.ContainsFunc(cp, func(m *machine) bool { return m.State != fleet.MachineRunning })
}

// surfacing reports whether something that was begun may still appear, so that
// removing the infrastructure under it, or the knowledge of it, would leak it.
func (v *view) surfacing() bool {
	if v.unsettled() {
		return true
	}
	found := false
	for _, a := range v.Attempts {
		if !v.recent(a, v.Settle) {
			continue
		}
		if a.Action.Kind == fleet.EnsureInfrastructure && (!a.Answered || !v.Observed.Infrastructure.Exists) {
			found = true
			v.wait("%s: it may still happen", a.Action)
			v.wake(v.Settle - v.Now.Sub(a.At))
		}
	}
	return found
}

// hasSecrets reports whether any secret of the cluster is left that goes with it.
func (v *view) hasSecrets() bool {
	s := v.Observed.Secrets
	if s.Kubeconfig.Exists && !slices.Contains(s.Kept, fleet.Kubeconfig) {
		return true
	}
	return slices.ContainsFunc(v.Desired.Authorities(), func(name fleet.SecretName) bool {
		return !slices.Contains(s.Missing, name) && !slices.Contains(s.Kept, name)
	})
}

// deletion describes how far the deletion is: its reason, in Cluster API's
// words, and a message.
func (v *view) deletion() (reason, message string) {
	left := func(groups []*group) bool {
		for _, g := range groups {
			if len(g.all)+len(g.pending) > 0 {
				return true
			}
		}
		return false
	}
	switch {
	case v.displaced != "":
		return "WaitingForInfrastructureDeletion", "Nothing is deleted: " + v.displaced
	case v.out.Phase == fleet.PhaseDeleted:
		return "DeletionCompleted", "Deletion completed"
	case v.external:
		return "WaitingForExternalResourcesDeletion", "Load balancers and volumes that Kubernetes made are being deleted"
	case left(v.groups[1:]):
		return "WaitingForWorkersDeletion", "Workers are being deleted"
	case left(v.groups[:1]):
		return "WaitingForControlPlaneDeletion", "Control plane is being deleted"
	case len(v.held) > 0:
		return "WaitingForHeldMachines", heldNames(v.held)
	}
	return "WaitingForInfrastructureDeletion", fmt.Sprintf("Infrastructure of %s is being deleted%s", v.Desired.Key, because(v.Observed.Infrastructure.Message))
}
