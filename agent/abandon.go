package agent

import (
	"context"
	"fmt"
	"strings"

	"fairlead.dev/fleet"
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
func (a *Agent) abandoned(ctx context.Context, c *fleet.Cluster, inGit bool) {
	if !inGit {
		a.release(c.Key)
		return
	}
	a.reconciler.Forget(c.Key)
	a.unremind(c.Key)
	a.status.Put(fleet.Report{
		Cluster: c.Key, Revision: c.Revision, Overlay: c.Overlay, Digest: c.Digest, Provider: c.Provider,
		Phase: fleet.PhaseAbandoned, Waiting: []string{"the cluster to vanish from Git; " + a.leftBehind(ctx, c.Key)},
	})
}

// release forgets a cluster and leaves all that it is made of.
func (a *Agent) release(k fleet.Key) {
	a.mu.Lock()
	delete(a.desired.clusters, k)
	a.mu.Unlock()
	a.unremind(k)
	a.reconciler.Forget(k)
	a.p.Metrics.Forget(k)
	a.status.Forget(k)
	a.p.Log.Info("abandoning the cluster: nothing of it is deleted", "cluster", k)
}
