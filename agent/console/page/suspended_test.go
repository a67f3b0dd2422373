package page

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// A machine of a suspended cluster has no problem, and no replacement is offered for it. One that
// is also unhealthy has.
func TestMachineOfSuspendedCluster(t *testing.T) {
	paused := metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason}
	unhealthy := metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "NotReady"}
	c := &cluster{}
	c.Report.Machines = make([]fleet.MachineReport, 2)
	c.Machines = make([]clusterv1.Machine, 2)
	for i, name := range []string{"a", "b"} {
		c.Report.Machines[i] = fleet.MachineReport{Machine: fleet.Machine{Name: fleet.MachineName(name)}, Phase: fleet.MachinePhaseRunning, UpToDate: true}
		c.Machines[i].Status.Conditions = []metav1.Condition{paused}
	}
	c.Machines[1].Status.Conditions = append(c.Machines[1].Status.Conditions, unhealthy)
	var v Cluster
	v.machines(c)
	if got := v.Pools[0].Zones[0].Machines; got[0].Sign != Suspended || got[1].Sign != Problem {
		t.Errorf("got %s and %s, want suspended and problem", got[0].Sign, got[1].Sign)
	}
	if len(v.Machines) != 1 || v.Machines[0].Name != "b" {
		t.Errorf("listed as unhealthy: %v", v.Machines)
	}
}
