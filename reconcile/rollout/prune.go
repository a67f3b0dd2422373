package rollout

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// pruneField is the field of fleet.yaml that says what becomes of clusters that vanish.
const pruneField = "spec.prune"

// unprunedOf returns those of problems that say why clusters that vanished stay.
func unprunedOf(problems []fleet.Problem) []fleet.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p fleet.Problem) bool { return p.Field != pruneField })
}

// prune marks the clusters that vanished with f for deletion, if f says so and it is
// safe to believe.
func (s *State) prune(f fleet.Fleet, vanished []fleet.Key) {
	if len(vanished) == 0 {
		return
	}
	refuse := func(message, hint string) {
		s.problems = append(s.problems, fleet.Problem{File: "fleet.yaml", Field: pruneField, Message: message, Hint: hint})
	}
	names := make([]string, len(vanished))
	for i, k := range vanished {
		names[i] = k.String()
	}
	list := strings.Join(names, ", ")
	switch limit := f.Config.Prune.Limit; {
	case len(f.Clusters) == 0 && len(f.Problems) == 0:
		refuse("the revision has no clusters at all: nothing is deleted, "+list+" stay",
			"put the files back, or delete a cluster with the annotation "+fleet.DeleteAnnotation)
	case !f.Config.Prune.Enabled:
	case len(vanished) > limit:
		refuse(fmt.Sprintf("%d clusters were removed from Git and prune.limit is %d: nothing is deleted, %s stay", len(vanished), limit, list),
			"put the files back, and remove them again with a higher limit or in steps")
	default:
		for _, k := range vanished {
			s.clusters.put(k, s.clusters.of(k).prune())
		}
	}
}

// prune returns c as one that is to be deleted, unless it is protected.
func (c cluster) prune() cluster {
	if c.definition != nil && c.definition.Protect {
		return c
	}
	c.orphan, c.pruned = false, true
	if c.definition != nil {
		c.definition = deleted(c.definition)
	}
	return c
}

// unpruned returns c as one that Git has again: it is not deleted because it vanished.
func (c cluster) unpruned() cluster {
	if c.pruned && c.definition != nil {
		d := *c.definition
		d.Delete, c.definition = false, &d
	}
	c.pruned = false
	return c
}

// deleted returns c with the request to delete it.
func deleted(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Delete = true
	return &out
}

// abandoned returns c with the request to abandon it.
func abandoned(c *fleet.Cluster) *fleet.Cluster {
	out := *c
	out.Abandon = true
	return &out
}

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
