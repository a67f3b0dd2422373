package rollout

import "fairlead.dev/fleet"

// ProtectHome returns c, in which the agent of the fleet lives, with the secrets of all
// other clusters, without the request to delete it. The problem says why, and the way.
func ProtectHome(c *fleet.Cluster) (*fleet.Cluster, fleet.Problem) {
	out := *c
	out.Delete = false
	return &out, fleet.Problem{
		Cluster: c.Key, Message: "the agent of the fleet lives in this cluster, with the secrets of all others: it is not deleted",
		Hint: "move the fleet first, with fairlead pivot --here, or to another cluster that spec.home in fleet.yaml names",
	}
}
