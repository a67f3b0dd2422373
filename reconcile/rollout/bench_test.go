package rollout

import (
	"fmt"
	"strconv"
	"testing"

	"fairlead.dev/fleet"
)

// BenchmarkDecide measures the news of fleets of 1,000 and 10,000 clusters: what a pass and an
// arrival cost does not grow with the fleet.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchmarkDecide(b, n) })
	}
}

func benchmarkDecide(b *testing.B, n int) {
	var clusters []fleet.Cluster
	for i := range n {
		clusters = append(clusters, clusterOf(fleet.Key{Namespace: "prod", Name: fmt.Sprintf("c%05d", i)}, "1", "x"))
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
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			s.Status()
		}
	})
}
