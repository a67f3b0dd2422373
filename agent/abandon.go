package agent

import (
	"context"
	"fmt"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
)

// leftBehind lists what is there of a cluster that is forgotten, as far as the
// status branch knows it.
func (a *Agent) leftBehind(ctx context.Context, k fleet.Key) string {
	s, err := a.ledger.Read(ctx)
	c, ok := s.Cluster(k)
	if err != nil || !ok {
		return "what stays behind is not known: fairlead orphans looks for it"
	}
	var list []string
	for _, m := range c.Report.Machines {
		list = append(list, fmt.Sprintf("machine %s (%s)", m.Machine.Name, m.Machine.ProviderID))
	}
	if e := c.Report.Endpoint; !e.IsZero() {
		list = append(list, fmt.Sprintf("API server at %s:%d", e.Host, e.Port))
	}
	list = append(list, "the infrastructure around them, and the cluster's secrets")
	return "stays behind: " + strings.Join(list, ", ") + "; fairlead orphans finds what carries the fleet's tags"
}

// abandoned reports a cluster that is in Git and is to be forgotten.
func (a *Agent) abandoned(ctx context.Context, c *fleet.Cluster, h held, drift fleet.DriftPolicy) {
	if !h.inGit {
		a.release(c.Key)
		return
	}
	a.reconciler.Forget(c.Key)
	left := a.leftBehind(ctx, c.Key)
	a.reported(h, drift, fleet.Report{
		Cluster: c.Key, Revision: c.Revision, Overlay: c.Overlay, Digest: c.Digest, Provider: c.Provider,
		Phase: fleet.PhaseAbandoned, Waiting: []string{"the cluster to vanish from Git; " + left},
	}, reconcile.Result{Report: fleet.Report{Phase: fleet.PhaseAbandoned}}, nil)
}

// release forgets a cluster and leaves all that it is made of.
func (a *Agent) release(k fleet.Key) {
	a.mu.Lock()
	a.forget(k)
	a.mu.Unlock()
	a.forgotten(k)
	a.p.Log.Info("abandoning the cluster: nothing of it is deleted", "cluster", k)
}
