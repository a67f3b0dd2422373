package agent

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/rollout"
)

// abandoned reports a cluster that is in Git and is to be forgotten.
func (a *session) abandoned(ctx context.Context, t rollout.Target) {
	c := t.Cluster
	if !t.InGit {
		a.p.Log.Info("abandoning the cluster: nothing of it is deleted", "cluster", c.Key)
		a.decide(rollout.Input{Gone: []fleet.Key{c.Key}}, a.queue.Add)
		return
	}
	a.reconciler.Forget(c.Key)
	there, err := a.recordOf(ctx, c.Key)
	if err != nil {
		there = fleet.Report{}
	}
	t.Requests = nil // there was no pass that went by them
	a.report(rollout.Pass{Target: t, Report: fleet.Report{
		Cluster: c.Key, Revision: c.Revision, Overlay: c.Overlay, Digest: c.Digest, Provider: c.Provider,
		Phase: fleet.PhaseAbandoned, Waiting: []string{"the cluster to vanish from Git; " + rollout.LeftBehind(there)},
	}}, nil, reconcile.Result{Report: fleet.Report{Phase: fleet.PhaseAbandoned}})
}
