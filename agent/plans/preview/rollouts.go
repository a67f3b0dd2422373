package preview

import (
	"fmt"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/render/decode"
)

// A Rollout is a pool whose machines a revision replaces that another one leaves.
type Rollout struct {
	Cluster  string   `json:"cluster"`
	Pool     string   `json:"pool"`
	Machines int      `json:"machines"`
	Class    string   `json:"class,omitempty"` // that the cluster is made from
	Because  []string `json:"because"`         // fields that differ
}

// Compare adds what ends or changes with the plan's revision and not with before, the fleet at the
// revision to compare with, and the pools that are made of something else than there. It follows Look:
// what the plan has already is not added.
// The plan without is that of before, or nil.
func (p *Plan) Compare(before fleet.Fleet, without *Plan) {
	p.CompareTerms(before, without)
	was := make(map[fleet.Key]*fleet.Cluster, len(before.Clusters))
	for i := range before.Clusters {
		was[before.Clusters[i].Key] = &before.Clusters[i]
	}
	for _, c := range p.o.Fleet.Clusters {
		old := was[c.Key]
		if old == nil {
			continue // it is new
		}
		for _, pool := range c.Pools() {
			then, ok := old.Pool(pool.Name)
			because := decode.Differences(&then, &pool)
			if !ok || len(because) == 0 {
				continue
			}
			r := Rollout{Cluster: c.Key.String(), Pool: string(pool.Name), Machines: pool.Replicas, Because: because}
			if c.Topology != nil {
				r.Class = c.Topology.Class.String()
			}
			p.Rollouts = append(p.Rollouts, r)
		}
	}
}

// String returns the rollout as a line.
func (r Rollout) String() string {
	const most = 5
	because := r.Because
	if len(because) > most {
		because = append(because[:most:most], fmt.Sprintf("%d more", len(because)-most))
	}
	of := ""
	if r.Class != "" {
		of = " of ClusterClass " + r.Class
	}
	return fmt.Sprintf("%s pool %s, %s%s: %s", r.Cluster, r.Pool, output.Count(r.Machines, "machine"), of, strings.Join(because, ", "))
}
