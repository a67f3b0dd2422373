package rollout

import (
	"fmt"
	"testing"

	"fairlead.dev/fleet"
)

// BenchmarkDecide measures the news of a fleet of 2,000 clusters.
func BenchmarkDecide(b *testing.B) {
	var clusters []fleet.Cluster
	for i := range 2000 {
		clusters = append(clusters, clusterOf(fleet.Key{Namespace: "prod", Name: fmt.Sprintf("c%04d", i)}, "1", "x"))
	}
	f := fleetOf("1", fleet.Prune{}, clusters...)
	s := follow(State{}, f).State
	k := clusters[0].Key
	t, _ := s.Target(k)
	for name, in := range map[string]Input{
		"revision": {Before: s, Newest: &Revision{Revision: revision("2"), Fleet: &f}},
		"pass":     {Before: s, Passes: []Pass{{Target: t, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseWorkers}}}},
		"arrival":  {Before: s, Passes: []Pass{{Target: t, Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}, AtRest: true}}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Decide(in)
			}
		})
	}
}
