package agent

import (
	"context"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// sheltered returns c as a pass is to see it. Where the agent lives in c, with
// the secrets of all other clusters, it is not to be deleted, whoever wishes so:
// the problem tells the way.
func (a *Agent) sheltered(ctx context.Context, c *fleet.Cluster) (*fleet.Cluster, []fleet.Problem) {
	if !c.Delete {
		return c, nil
	}
	inside, err := ownership.AgentOf(c.Key) == a.o.Name, error(nil)
	if !inside && a.p.Inhabits != nil {
		inside, err = a.p.Inhabits(ctx, c.Key)
	}
	if err == nil && !inside {
		return c, nil
	}
	c, p := rollout.KeepHome(c)
	if err != nil {
		p.Message = "it is not deleted as long as nobody knows whether the agent of the fleet lives in it: " + fleet.OneLine(err)
	}
	return c, []fleet.Problem{p}
}
