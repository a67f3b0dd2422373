package agent

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"fairlead.dev/fleet"
)

// used returns metrics with at least one series of each name.
func used() *Metrics {
	m := NewMetrics("v0")
	m.QueueDepth(func() int { return 3 })
	m.Owner(fleet.Owner{Agent: "me", Epoch: 2})
	m.Fetched("fetch", nil, time.Second)
	m.Fetched("resolve", fleet.Errorf(fleet.Unavailable, "resolve", "down"), time.Second)
	m.Pushed(nil, time.Second, 2*time.Second)
	m.Pushed(errors.New("no"), 0, 0)
	m.Raced()
	m.Rendered(nil, time.Second)
	m.Overlays(1, 2)
	m.Problems(1)
	m.Called("inmemory", "Observe", "", time.Millisecond)
	m.Passed(fleet.Report{
		Cluster: keyA, Revision: revision("1"), Phase: fleet.PhaseProvisioned, Provider: "inmemory", Version: "v1.33.5",
		Endpoint:   fleet.Endpoint{Host: "127.0.0.1", Port: 6443},
		Conditions: []fleet.Condition{{Type: "Available", Status: fleet.True}},
		Pools: []fleet.PoolReport{
			{Name: "a-cp", Role: fleet.RoleControlPlane, Version: "v1.33.5", Desired: 1, Current: 1, UpToDate: 1, Ready: 1, Available: 1},
			{Name: "a-md-0", Role: fleet.RoleWorker, Version: "v1.33.5", Desired: 3, Current: 2, UpToDate: 2, Ready: 1, Available: 1},
		},
		Machines: []fleet.MachineReport{{
			Machine: fleet.Machine{Name: "a-cp-1", Pool: "a-cp"}, Phase: fleet.MachinePhaseRunning,
			Conditions: []fleet.Condition{{Type: "Ready", Status: fleet.True}},
		}},
	}, []fleet.Action{{Kind: fleet.CreateMachine}}, nil, time.Second)
	return m
}

func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler(discard()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetricsLint(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(scrape(used()))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	// Names of Cluster API that dashboards use are not ours to better.
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { return strings.HasPrefix(p.Metric, "capi_") })
	if len(problems) > 0 {
		t.Errorf("promlint: %v", problems)
	}
}

func TestMetricsScrape(t *testing.T) {
	m := used()
	text := scrape(m)
	for _, want := range []string{
		`capi_cluster_status_phase{name="a",namespace="prod",phase="Provisioned"} 1`,
		`capi_cluster_status_phase{name="a",namespace="prod",phase="Deleting"} 0`,
		`capi_cluster_status_condition{name="a",namespace="prod",status="True",type="Available"} 1`,
		`capi_machine_status_phase{cluster_name="a",name="a-cp-1",namespace="prod",phase="Running"} 1`,
		`capi_machinedeployment_spec_replicas{cluster_name="a",name="a-md-0",namespace="prod"} 3`,
		`capi_machinedeployment_status_replicas_unavailable{cluster_name="a",name="a-md-0",namespace="prod"} 2`,
		`capi_kubeadmcontrolplane_status_replicas_ready{cluster_name="a",name="a-cp",namespace="prod"} 1`,
		`fairlead_cluster_phase{name="a",namespace="prod",phase="Provisioned"} 1`,
		`fairlead_git_fetch_total{operation="resolve",result="Unavailable"} 1`,
		`fairlead_render_overlays_total{how="cached"} 2`,
		`fairlead_plan_actions_total{action="CreateMachine"} 1`,
		`fairlead_reconcile_total{phase="Provisioned",result="ok"} 1`,
		`fairlead_owner_epoch{agent="me"} 2`,
		`fairlead_leader 1`,
		`fairlead_queue_depth 3`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	m.Forget(keyA)
	m.Owner(fleet.Owner{})
	text = scrape(m)
	for _, gone := range []string{"capi_", "fairlead_cluster_phase{", "fairlead_owner_epoch{"} {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, gone) {
				t.Errorf("a series outlives its object: %s", line)
			}
		}
	}
}

// TestGeneratedMetrics holds docs/metrics.md against the registry. UPDATE=1
// writes it.
func TestGeneratedMetrics(t *testing.T) {
	families, err := used().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Metrics\n\nWritten by `make generate` from the registry. The agent serves them at /metrics.\n" +
		"Beside these there are those of the Go runtime (`go_`) and of the process (`process_`).\n\n" +
		"The names that begin with `capi_` are those of Cluster API's own kube-state-metrics configuration,\n" +
		"so that dashboards and alerts for it work. A series goes when its object goes.\n\n" +
		"| name | type | labels | |\n|---|---|---|---|\n")
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
	}
	const file = "../docs/metrics.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("docs/metrics.md is not what the code says: run `make generate` (-file +code):\n%s", diff)
	}
}
