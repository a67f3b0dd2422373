package conformance

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

// keepsWhatItWasMadeWith is the check of what a cluster keeps for its life: Git has other
// ranges than the first server was made with, and further servers join with those of the
// first. The cluster says what it was made with, so that it can be reported.
func keepsWhatItWasMadeWith(t testing.TB, o DistributionOptions) {
	const made, other = "10.244.0.0/16", "10.200.0.0/16"
	p := newPlane(t, o)
	p.c.Network.Pods.CIDRBlocks = []string{made}
	p.servers(1)
	p.c.Network.Pods.CIDRBlocks = []string{other}
	w, err := p.look()
	if err != nil {
		t.Fatal(err)
	}
	if w.Made == nil || w.Made.Networking.PodSubnet != made {
		t.Errorf("Observe: the cluster was made with %+v, want the range %s of Pods", w.Made, made)
		return
	}
	steps := p.w.Distribution.Steps(p.c, w)
	told := slices.ContainsFunc(steps, func(s fleet.Step) bool { return s.When == fleet.Never })
	if w.Made.Flags != nil && !told {
		t.Errorf("Steps = %v, want one that can never be taken: Git has %s", steps, other)
		return
	}
	p.server("s-1")
}
