package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestTreeOfPools: machines are below the object that they come from. A standalone Machine
// is below the cluster, also before it exists.
func TestTreeOfPools(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := fleet.Report{
		Cluster: fleet.Key{Namespace: "prod", Name: "eu"}, Phase: fleet.PhaseWorkers,
		Memory: fleet.Memory{Milestones: fleet.Milestones{Began: began, Infrastructure: began.Add(30 * time.Second), ControlPlane: began.Add(2 * time.Minute)}},
		Pools: []fleet.PoolReport{
			{Name: "cp", Role: fleet.RoleControlPlane, Version: "v1.34.1", Desired: 1, Current: 1},
			{Name: "gpu", Role: fleet.RoleWorker, Kind: "Machine", Version: "v1.34.1", Desired: 1, Current: 1},
			{Name: "late", Role: fleet.RoleWorker, Kind: "Machine", Version: "v1.34.1", Desired: 1},
			{Name: "md", Role: fleet.RoleWorker, Version: "v1.34.1"},
			{Name: "ms", Role: fleet.RoleWorker, Kind: "MachineSet", Version: "v1.34.1"},
		},
		Machines: []fleet.MachineReport{
			{Machine: fleet.Machine{Name: "cp-1", Pool: "cp", Role: fleet.RoleControlPlane, Created: began}, Joined: began.Add(50 * time.Second), UpToDate: true, Phase: fleet.MachinePhaseRunning},
			{Machine: fleet.Machine{Name: "gpu", Pool: "gpu", Role: fleet.RoleWorker}, Phase: fleet.MachinePhaseRunning},
		},
	}
	var out strings.Builder
	if err := showTree(&out, output.FormatTable, []status.Cluster{{Report: r, Machines: make([]clusterv1.Machine, 2)}}, fleet.RolloutStatus{}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Workers (Infrastructure 30s, ControlPlane 1m30s)", "Running, joined after 50s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		name, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		names = append(names, strings.TrimSpace(name))
	}
	want := []string{
		"NAME", "Cluster prod/eu", "├─KubeadmControlPlane cp", "│ └─Machine cp-1",
		"├─Machine late", "├─MachineDeployment md", "├─MachineSet ms", "└─Machine gpu",
	}
	if got := strings.Join(names, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", out.String(), strings.Join(want, "\n"))
	}
}

// TestTreeCountsMachines: many available machines of a pool are one line, unless all are
// shown.
func TestTreeCountsMachines(t *testing.T) {
	r := fleet.Report{
		Cluster: fleet.Key{Namespace: "prod", Name: "eu"}, Phase: fleet.PhaseProvisioned,
		Pools: []fleet.PoolReport{{Name: "md", Role: fleet.RoleWorker, Version: "v1.34.1", Desired: 6, Current: 6}},
	}
	machines := make([]clusterv1.Machine, 6)
	for i := range machines {
		r.Machines = append(r.Machines, fleet.MachineReport{Machine: fleet.Machine{Name: fleet.MachineName("md-" + string(rune('a'+i))), Pool: "md", Role: fleet.RoleWorker}, Phase: fleet.MachinePhaseRunning})
		machines[i].Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue, Reason: "Available"}}
	}
	machines[0].Status.Conditions[0].Status = metav1.ConditionFalse
	for all, want := range map[bool]string{false: "└─5 machines", true: "Machine md-f"} {
		var out strings.Builder
		if err := showTree(&out, output.FormatTable, []status.Cluster{{Report: r, Machines: machines}}, fleet.RolloutStatus{}, all); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "Machine md-a") || all == strings.Contains(out.String(), "5 machines") {
			t.Errorf("with all %v:\n%s", all, out.String())
		}
	}
}
