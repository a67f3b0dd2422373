package passes

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// abandon forgets a cluster that is to be abandoned, and of which nothing is deleted. While
// Git has it, its status says what is left of it.
func (m *Maker) abandon(ctx context.Context, t rollout.Target) {
	c := t.Cluster
	if !t.InGit {
		m.p.Log.Info("abandoning cluster without deleting it", "cluster", c.Key)
		m.p.Fleet.Decide(rollout.Input{Gone: []fleet.Key{c.Key}})
		return
	}
	m.p.Reconciler.Forget(c.Key)
	there, err := m.p.Recorded(ctx, c.Key)
	if err != nil {
		there = fleet.Report{}
	}
	t.Requests = nil // there was no pass that went by them
	m.p.Fleet.Passed(rollout.Pass{Target: t, Report: fleet.Report{
		Cluster: c.Key, Revision: c.Revision, Overlay: c.Overlay, Labels: c.Labels, Digest: c.Digest, Provider: c.Provider,
		Phase: fleet.PhaseAbandoned, Waiting: []string{"the cluster to be removed from Git; " + rollout.LeftBehind(there)},
	}}, nil, func(fleet.Report) bool { return true })
}
