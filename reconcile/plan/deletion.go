package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// deleting reports whether the cluster is to go.
func (v *view) deleting() bool { return v.Desired.Delete && !v.Desired.Protect }

// delete plans the next step of removing the whole cluster: workers, control
// plane, infrastructure, secrets. Nothing is drained: there is nowhere to go.
func (v *view) delete() {
	v.out.Phase = fleet.PhaseDeleting
	switch {
	case v.deleteGroups(v.groups[1:]):
	case v.deleteGroups(v.groups[:1]):
	case v.surfacing():
	case v.Observed.Infrastructure.Exists:
		v.do(fleet.Action{Kind: fleet.DeleteInfrastructure, Reason: "the cluster is to be deleted, and its machines are gone"})
	case v.hasSecrets():
		v.do(fleet.Action{Kind: fleet.DeleteSecrets, Reason: "the cluster is deleted"})
	default:
		v.out.Phase = fleet.PhaseDeleted
	}
}

// deleteGroups deletes the machines of groups, and reports whether any are there
// or may still appear.
func (v *view) deleteGroups(groups []*group) bool {
	found := false
	for _, g := range groups {
		for _, m := range g.all {
			found = true
			v.deleteMachine(m, "the cluster is to be deleted")
		}
		for _, name := range g.pending {
			found = true
			v.wait("machine %s was asked for and may still appear", name)
		}
	}
	return found
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
	return slices.ContainsFunc(fleet.Authorities(), func(name fleet.SecretName) bool {
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
	case v.out.Phase == fleet.PhaseDeleted:
		return "DeletionCompleted", "Deletion completed"
	case left(v.groups[1:]):
		return "WaitingForWorkersDeletion", "Workers are being deleted"
	case left(v.groups[:1]):
		return "WaitingForControlPlaneDeletion", "Control plane is being deleted"
	}
	return "WaitingForInfrastructureDeletion", fmt.Sprintf("Infrastructure of %s is being deleted", v.Desired.Key)
}
