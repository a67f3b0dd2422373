package statusview

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestFailedPool: a pool that its cloud gave up is something that somebody has to look at.
func TestFailedPool(t *testing.T) {
	for phase, want := range map[fleet.KeptPhase]string{fleet.KeptPhaseFailed: "pool np: no quota", fleet.KeptPhaseRunning: "", "": ""} {
		r := fleet.Report{Phase: fleet.PhaseWorkers, Pools: []fleet.PoolReport{{Name: "np", Phase: phase, Message: "no quota"}}}
		if got := MessageOf(r, false); got != want || Troubled(r, false) != (want != "") {
			t.Errorf("%q: the message is %q, Troubled is %t, want %q", phase, got, Troubled(r, false), want)
		}
	}
}

// TestHeadline: what Git asks for and is not done is in the message of a cluster that is well
// else, and it is one of those that somebody has to look at.
func TestHeadline(t *testing.T) {
	topology := func(reason string) fleet.Condition {
		return fleet.Condition{Type: "TopologyReconciled", Status: fleet.False, Reason: reason, Message: "m"}
	}
	for name, c := range map[string]struct {
		condition fleet.Condition
		phase     fleet.Phase
		message   string
		troubled  bool
	}{
		"good":                   {condition: fleet.Condition{Type: "TopologyReconciled", Status: fleet.True}, phase: fleet.PhaseProvisioned},
		"refused":                {condition: fleet.Condition{Type: "Accepted", Status: fleet.False, Message: "m"}, phase: fleet.PhaseControlPlane, message: "refused: m", troubled: true},
		"stopped":                {condition: fleet.Condition{Type: "InfrastructureReady", Status: fleet.False, Reason: "Stopped", Message: "m"}, phase: fleet.PhaseInfrastructure, message: "stopped: m", troubled: true},
		"goes on by itself":      {condition: fleet.Condition{Type: "InfrastructureReady", Status: fleet.False, Reason: "NotReady", Message: "m"}, phase: fleet.PhaseInfrastructure},
		"no way":                 {condition: topology("ReconcileFailed"), phase: fleet.PhaseControlPlane, message: "m", troubled: true},
		"deferred":               {condition: topology("MachineDeploymentsUpgradeDeferred"), phase: fleet.PhaseProvisioned, message: "m", troubled: true},
		"deferred, others go on": {condition: topology("MachineDeploymentsUpgradeDeferred"), phase: fleet.PhaseWorkers, message: "m", troubled: true},
		"waits for a pool":       {condition: topology("ClusterUpgrading"), phase: fleet.PhaseProvisioned, message: "m", troubled: true},
		"goes on":                {condition: topology("ClusterUpgrading"), phase: fleet.PhaseWorkers},
		"unavailable":            {condition: fleet.Condition{Type: "Available", Status: fleet.False}, phase: fleet.PhaseProvisioned, troubled: true},
		"not available yet":      {condition: fleet.Condition{Type: "Available", Status: fleet.False}, phase: fleet.PhaseWorkers},
		"paused":                 {condition: topology("Paused"), phase: fleet.PhaseProvisioned},
		"deleting":               {condition: topology("Deleting"), phase: fleet.PhaseDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			r := fleet.Report{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Phase: c.phase, Conditions: []fleet.Condition{c.condition}}
			v := Of(status.Status{Clusters: []status.Cluster{{Report: r}}})
			if got := v.Clusters[0].Message(); got != c.message {
				t.Errorf("the message is %q, want %q", got, c.message)
			}
			if got := Troubled(r, false); got != c.troubled {
				t.Errorf("Troubled is %t, want %t", got, c.troubled)
			}
		})
	}
}
