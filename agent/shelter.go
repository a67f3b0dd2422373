package agent

import (
	"context"

	"fairlead.dev/agent/pivot"
	"fairlead.dev/fleet"
)

// sheltered returns c as a pass is to see it. Where the agent lives in c, with
// the secrets of all other clusters, it is not to be deleted, whoever wishes so:
// the problem tells the way.
func (a *Agent) sheltered(ctx context.Context, c *fleet.Cluster) (*fleet.Cluster, []fleet.Problem) {
	if !c.Delete {
		return c, nil
	}
	inside, err := pivot.AgentOf(c.Key) == a.o.Name, error(nil)
	if !inside && a.p.Inhabits != nil {
		inside, err = a.p.Inhabits(ctx, c.Key)
	}
	switch {
	case err != nil:
		p := inhabited(c.Key)
		p.Message = "it is not deleted as long as nobody knows whether the agent of the fleet lives in it: " + oneLine(err)
		return kept(c), []fleet.Problem{p}
	case inside:
		return kept(c), []fleet.Problem{inhabited(c.Key)}
	}
	return c, nil
}

// inhabited says why the cluster k is not deleted.
func inhabited(k fleet.Key) fleet.Problem {
	return fleet.Problem{
		Cluster: k, Message: "the agent of the fleet lives in this cluster, with the secrets of all others: it is not deleted",
		Hint: "move the fleet first, with fairlead pivot --here, or to another cluster that spec.home in fleet.yaml names",
	}
}

// kept returns c without the wish to delete it.
func kept(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Delete = false
	return &out
}
