package agent

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// reread looks again at the clusters whose file on the status branch could not be read
// when the agent began. What such a cluster went through, and where it lives, nobody
// knows, so no pass is made over it, and its file stays as it is, until people have
// put it right or removed it.
func (a *Agent) reread(ctx context.Context) {
	a.mu.Lock()
	var damaged []fleet.Key
	for k, h := range a.desired.clusters {
		if h.damaged != "" {
			damaged = append(damaged, k)
		}
	}
	a.mu.Unlock()
	told := false
	for _, k := range damaged {
		c, there, err := a.ledger.ReadCluster(ctx, k)
		if err != nil {
			continue // with the next poll
		}
		told = true
		a.p.Log.Info("the cluster's file on the status branch is not damaged any more", "cluster", k, "there", there)
		if there {
			a.reports.Recall([]fleet.Report{c.Report})
			a.p.Metrics.Restore([]status.Cluster{c})
		}
		a.mu.Lock()
		h := a.desired.clusters[k].repaired(c, there)
		if a.desired.clusters[k] = h; !there && !h.inGit {
			delete(a.desired.clusters, k)
		}
		a.mu.Unlock()
		a.queue.AddBulk(k)
	}
	if told {
		a.tell()
	}
}

// repaired returns h as it is held to once its file can be read, or is gone.
func (h held) repaired(c status.Cluster, there bool) held {
	h.damaged = ""
	switch r := c.Report; {
	case !there:
	case h.cluster == nil:
		h.recorded = &r
		h.orphan = !h.inGit && !h.deleting()
	case same(h.cluster, r.Digest, r.Overlay):
		h.cluster = at(h.cluster, r.Revision)
	}
	return h
}

// damaged returns a problem for each cluster that nothing is known of, sorted.
func (d desired) damaged() []fleet.Problem {
	var out []fleet.Problem
	for k, h := range d.clusters {
		if h.damaged != "" {
			out = append(out, fleet.Problem{
				Cluster: k, Message: "nothing is done to the cluster: " + h.damaged,
				Hint: "on the status branch, put the file back as it was; docs/disaster-recovery.md says what is lost where that cannot be",
			})
		}
	}
	slices.SortFunc(out, func(a, b fleet.Problem) int { return a.Cluster.Compare(b.Cluster) })
	return out
}
