package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Used returns metrics with at least one series of each name, for tests outside
// of the package.
func Used() *Metrics { return used() }

// Gather returns all families of m, as a scrape shows them.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(strings.NewReader(scrape(m)))
	return slices.SortedFunc(maps.Values(byName), func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) }), err
}

// used returns metrics with at least one series of each name.
func used() *Metrics {
	m := New("v0")
	m.ShowAll(true)
	m.SetQueue(func() int { return 3 })
	ctx := context.Background()
	m.now = func() time.Time { return noon }
	m.SetSource("https://robot:secret@git.example.com/fleet.git?token=secret")
	m.SetWorkers(16)
	m.SetOwner(fleet.Owner{Agent: "me", Epoch: 2})
	m.Fetched(ctx, "fetch", nil, time.Second)
	m.Fetched(ctx, "resolve", fleet.Errorf(fleet.Unavailable, "resolve", "down"), time.Second)
	m.Pushed(time.Second, 2*time.Second)
	m.SetPushError(errors.New("no"))
	m.PushRace()
	m.StatusBranch(14<<20, 128<<20, 1600)
	m.SetStatusHistory(1000)
	m.Rendered(ctx, nil, time.Second)
	m.Overlays(1, 2)
	m.SetFleet(sources.FleetStatus{
		Fleet: "demo", Revision: revision("1"), Problems: []fleet.Problem{{}}, Orphans: []fleet.Key{{}, {}},
		Rollout: fleet.RolloutStatus{Stages: []fleet.StageStatus{{Name: "prod", State: fleet.StageHalted, Since: noon, Clusters: 9, Changing: 2, Waiting: 4}}},
	}, 7, 1)
	m.SetRefused(true)
	m.passes.phases.WithLabelValues(string(fleet.PhaseWorkers)).Observe(60)
	m.passes.joins.WithLabelValues(string(fleet.RoleWorker)).Observe(60)
	m.Called(ctx, "inmemory", "Observe", "", time.Millisecond)
	m.Requested("openstack", "compute", "POST", 429, time.Millisecond)
	m.Requested("openstack", "compute", "POST", 0, time.Millisecond)
	m.EscrowKept(1, nil)
	m.Notified("ops", 2, nil)
	m.ForgePolled(nil)
	m.Planned("success", time.Second)
	m.Webhooks()("github", "accepted")
	m.pass(ctx, passed())
	return m
}

var (
	keyA = fleet.Key{Namespace: "prod", Name: "a"}
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

func revision(hash string) fleet.Revision { return fleet.Revision{Ref: "main", Digest: "sha1:" + hash} }

// passing is all that comes of one.
type passing struct {
	Cluster  *fleet.Cluster
	Report   fleet.Report
	Drift    int
	NotAfter map[string]time.Time
	Actions  []fleet.Action
	Err      error
	Took     time.Duration
}

// everything returns metrics that show all clusters.
func everything() *Metrics {
	m := New("v0")
	m.ShowAll(true)
	return m
}

// pass counts p, and shows it as the store of reports would.
func (m *Metrics) pass(ctx context.Context, p passing) {
	m.Changed(reports.Change{
		Cluster: p.Report.Cluster, Report: p.Report,
		Pass: &reports.Pass{Definition: p.Cluster, Drift: p.Drift, NotAfter: p.NotAfter, Err: p.Err},
	})
	m.Passed(ctx, p.Report.Phase, p.Actions, p.Err, p.Took)
}

// forget forgets k as the store of reports would.
func (m *Metrics) forget(k fleet.Key) { m.Changed(reports.Change{Cluster: k, Gone: true}) }

// passed is a pass that has everything.
func passed() passing {
	md := fleet.Pool{Name: "a-md-0", Role: fleet.RoleWorker, MaxSurge: 1, MaxUnavailable: 1}
	report := fleet.Report{
		Cluster: keyA, Revision: revision("1"), Phase: fleet.PhaseProvisioned, Provider: "inmemory", Version: "v1.33.5",
		Endpoint: fleet.Endpoint{Host: "127.0.0.1", Port: 6443},
		Conditions: []fleet.Condition{
			{Type: "Available", Status: fleet.True}, {Type: "ControlPlaneAvailable", Status: fleet.True}, {Type: "WorkersAvailable", Status: fleet.False},
		},
		Pools: []fleet.PoolReport{
			{Name: "a-cp", Role: fleet.RoleControlPlane, Version: "v1.33.5", Desired: 1, Current: 1, UpToDate: 1, Ready: 1, Available: 1},
			{Name: "a-md-0", Role: fleet.RoleWorker, Version: "v1.33.5", Desired: 3, Current: 2, UpToDate: 2, Ready: 1, Available: 1},
			{Name: "a-mp-0", Role: fleet.RoleWorker, Kind: fleet.MachinePoolKind, Version: "v1.33.5", Desired: 3, Current: 2, UpToDate: 2, Ready: 1, Available: 1, Phase: "ScalingUp"},
		},
		Machines: []fleet.MachineReport{{
			Machine: fleet.Machine{Name: "a-cp-1", Pool: "a-cp", Role: fleet.RoleControlPlane, Created: noon.Add(-time.Hour)},
			Phase:   fleet.MachinePhaseRunning, Node: "a-cp-1", Version: "v1.33.5",
			Conditions: []fleet.Condition{{Type: "Ready", Status: fleet.True}},
		}, {
			Machine: fleet.Machine{Name: "a-md-0-1", Pool: "a-md-0", Role: fleet.RoleWorker},
			Phase:   fleet.MachinePhaseRunning, Node: "a-md-0-1", Version: "v1.30.1",
		}},
	}
	return passing{
		Cluster: &fleet.Cluster{
			Key: keyA, Paused: true, ControlPlane: fleet.Pool{Name: "a-cp", Role: fleet.RoleControlPlane},
			Workers: []fleet.Pool{md}, KeptPools: []fleet.KeptPool{{Name: "a-mp-0", Paused: true}}, Infrastructure: fleet.Object{Name: "a"},
		},
		Report: report, Drift: 2, NotAfter: map[string]time.Time{"ca": noon.Add(time.Hour)},
		Actions: []fleet.Action{{Kind: fleet.CreateMachine}}, Took: time.Second,
	}
}

func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
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
		`capi_machinepool_spec_replicas{cluster_name="a",name="a-mp-0",namespace="prod"} 3`,
		`capi_machinepool_spec_paused{cluster_name="a",name="a-mp-0",namespace="prod"} 1`,
		`capi_machinepool_status_replicas_available{cluster_name="a",name="a-mp-0",namespace="prod"} 1`,
		`capi_machinepool_status_phase{cluster_name="a",name="a-mp-0",namespace="prod",phase="ScalingUp"} 1`,
		`capi_machinepool_status_phase{cluster_name="a",name="a-mp-0",namespace="prod",phase="Running"} 0`,
		`capi_machinepool_status_condition{cluster_name="a",name="a-mp-0",namespace="prod",status="False",type="Available"} 1`,
		`fairlead_cluster_phase{name="a",namespace="prod",phase="Provisioned"} 1`,
		`fairlead_git_fetch_total{operation="resolve",result="Unavailable"} 1`,
		`fairlead_render_overlays_total{how="cached"} 2`,
		`fairlead_plan_actions_total{action="CreateMachine"} 1`,
		`fairlead_reconcile_total{phase="Provisioned",result="ok"} 1`,
		`fairlead_owner_epoch{agent="me"} 2`,
		`fairlead_leader 1`,
		`fairlead_queue_depth 3`,
		`fairlead_workers 16`,
		`fairlead_status_failing 1`,
		`fairlead_fleet_info{fleet="demo",ref="main",revision="sha1:1",source="https://git.example.com/fleet.git"} 1`,
		`fairlead_fleet_clusters 7`,
		`fairlead_fleet_problems 1`,
		`fairlead_fleet_orphans 2`,
		`fairlead_fleet_revision_refused 1`,
		`fairlead_provider_requests_total{code="429",method="POST",provider="openstack",service="compute"} 1`,
		`fairlead_provider_requests_total{code="none",method="POST",provider="openstack",service="compute"} 1`,
		`fairlead_cluster_phase_timestamp_seconds{name="a",namespace="prod"} 1.7673552e+09`,
		`fairlead_cluster_progress_timestamp_seconds{name="a",namespace="prod"} 1.7673552e+09`,
		`fairlead_cluster_last_success_timestamp_seconds{name="a",namespace="prod"} 1.7673552e+09`,
		`fairlead_cluster_failing{name="a",namespace="prod"} 0`,
		`fairlead_cluster_drift{name="a",namespace="prod"} 2`,
		`fairlead_fleet_deletes_blocked 1`,
		`fairlead_cluster_certificate_expiry_timestamp_seconds{certificate="ca",name="a",namespace="prod"} 1.7673588e+09`,
		`fairlead_cluster_version_skew{name="a",namespace="prod"} 3`,
		`capi_cluster_spec_paused{name="a",namespace="prod"} 1`,
		`capi_cluster_annotation_paused{name="a",namespace="prod",paused_value="true"} 1`,
		`capi_cluster_status_condition_last_transition_time{name="a",namespace="prod",status="True",type="Available"} 1.7673552e+09`,
		`capi_machine_created{cluster_name="a",name="a-cp-1",namespace="prod"} 1.7673516e+09`,
		`capi_machine_status_noderef{cluster_name="a",name="a-cp-1",namespace="prod",node_name="a-cp-1"} 1`,
		`capi_kubeadmcontrolplane_status_condition{cluster_name="a",name="a-cp",namespace="prod",status="True",type="Available"} 1`,
		`capi_machinedeployment_status_condition{cluster_name="a",name="a-md-0",namespace="prod",status="False",type="Available"} 1`,
		`capi_machinedeployment_status_condition{cluster_name="a",name="a-md-0",namespace="prod",status="True",type="ScalingUp"} 1`,
		`capi_machinedeployment_status_phase{cluster_name="a",name="a-md-0",namespace="prod",phase="ScalingUp"} 1`,
		`capi_machinedeployment_spec_strategy_rollingupdate_max_unavailable{cluster_name="a",name="a-md-0",namespace="prod"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("the metrics show a credential")
	}
}

// TestSeriesGo tries that a series goes with what it is about: a cluster that
// is forgotten, and all clusters where another agent took over.
func TestSeriesGo(t *testing.T) {
	for reason, do := range map[string]func(m *Metrics){
		"the cluster is gone":    func(m *Metrics) { m.forget(keyA) },
		"the fleet is another's": func(m *Metrics) { m.SetOwner(fleet.Owner{}) },
	} {
		t.Run(reason, func(t *testing.T) {
			m := used()
			if !strings.Contains(scrape(m), `namespace="prod"`) {
				t.Fatal("there is no series of the cluster to begin with")
			}
			do(m)
			for line := range strings.Lines(scrape(m)) {
				if strings.HasPrefix(line, "capi_") || strings.Contains(line, `namespace="prod"`) {
					t.Errorf("a series outlives its object: %s", line)
				}
			}
		})
	}
	m := used()
	m.SetOwner(fleet.Owner{})
	m.SetFleet(sources.FleetStatus{Fleet: "demo", Revision: revision("2")}, 0, 0)
	text := scrape(m)
	if strings.Contains(text, "fairlead_owner_epoch{") || strings.Contains(text, "sha1:1") || !strings.Contains(text, "sha1:2") {
		t.Error("an owner or a revision outlives its time")
	}
}

// TestNothingIsLeft tries that an agent that does not own the fleet any more
// shows of it what one shows that never did: a gauge that stays would wake
// people for as long as the replica lives.
func TestNothingIsLeft(t *testing.T) {
	gauges := func(m *Metrics) map[string]string {
		out := make(map[string]string)
		families, err := m.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetType().String() != "GAUGE" || strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
				continue
			}
			switch f.GetName() {
			case "fairlead_git_fetch_last_success_timestamp_seconds", "fairlead_status_push_last_success_timestamp_seconds", "fairlead_fleet_last_success_timestamp_seconds":
				continue // what happened has happened
			}
			out[f.GetName()] = fmt.Sprint(f.GetMetric())
		}
		return out
	}
	m := used()
	if diff := cmp.Diff(gauges(New("v0")), gauges(m)); diff == "" {
		t.Fatal("there is nothing to lose")
	}
	m.SetOwner(fleet.Owner{})
	if diff := cmp.Diff(gauges(New("v0")), gauges(m)); diff != "" {
		t.Errorf("an agent without a fleet shows (-that never had one +that had):\n%s", diff)
	}
}
