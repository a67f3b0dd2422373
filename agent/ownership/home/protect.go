package home

import (
	"context"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// Protect returns c for a pass. Where the agent lives in c, or cannot find that out, the
// returned cluster is not deleted, and a problem says what to do first.
func (h *Home) Protect(ctx context.Context, c *fleet.Cluster) (*fleet.Cluster, []fleet.Problem) {
	if !c.Delete {
		return c, nil
	}
	inside, err := ownership.AgentOf(c.Key) == h.o.Self, error(nil)
	if !inside && h.p.LivesIn != nil {
		inside, err = h.p.LivesIn(ctx, c.Key)
	}
	if err == nil && !inside {
		return c, nil
	}
	c, p := rollout.ProtectHome(c)
	if err != nil {
		p.Message = "it is not deleted while it is unknown whether the agent of the fleet runs in it: " + fleet.OneLine(err)
	}
	return c, []fleet.Problem{p}
}
