package page

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestSign: a cluster that nothing is done for until people act has a problem, and so has one with a pool that its
// cloud gave up, whatever their phase is.
func TestSign(t *testing.T) {
	stopped := fleet.Condition{Type: "InfrastructureReady", Status: fleet.False, Reason: "Stopped", Message: "m"}
	for name, tc := range map[string]struct {
		report fleet.Report
		want   Sign
	}{
		"stopped":       {fleet.Report{Phase: fleet.PhaseInfrastructure, Conditions: []fleet.Condition{stopped}}, Problem},
		"a failed pool": {fleet.Report{Phase: fleet.PhaseWorkers, Pools: []fleet.PoolReport{{Name: "np", Phase: fleet.KeptPhaseFailed}}}, Problem},
		"goes on":       {fleet.Report{Phase: fleet.PhaseInfrastructure}, Changing},
	} {
		c := &cluster{Cluster: status.Cluster{Report: tc.report}}
		if got := signOf(c); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
