package metrics

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/sources/status"
)

// TestTimes tries since when things are said to be so.
func TestTimes(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	type times struct{ phase, progress, condition, success time.Time }
	of := func(m *Metrics) times {
		s := m.clusters.clusters[keyA]
		return times{s.phase, s.progress, s.conditions[subject{"", "Available"}].at, s.success}
	}
	m := everything()
	pass := func(minute int, change func(p *passing)) {
		p := passed()
		change(&p)
		m.now = func() time.Time { return at(minute) }
		m.pass(t.Context(), p)
	}
	steps := []struct {
		reason string
		do     func()
		want   times
	}{
		{"the status branch tells of the time before", func() {
			m.Restore([]status.Cluster{{
				Report: passed().Report,
				Cluster: clusterv1.Cluster{Status: clusterv1.ClusterStatus{Conditions: []metav1.Condition{
					{Type: "Available", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(0))},
				}}},
			}})
		}, times{phase: at(0), progress: at(0), condition: at(0)}},
		{"nothing changed", func() { pass(1, func(*passing) {}) }, times{at(0), at(0), at(0), at(1)}},
		{"a failure is no success", func() { pass(2, func(p *passing) { p.Err = fmt.Errorf("no") }) }, times{at(0), at(0), at(0), at(1)}},
		{"a machine got on", func() {
			pass(3, func(p *passing) { p.Report.Machines[0].Phase = fleet.MachinePhaseDeleting })
		}, times{at(0), at(3), at(0), at(3)}},
		{"a condition turned", func() {
			pass(4, func(p *passing) {
				p.Report.Machines[0].Phase = fleet.MachinePhaseDeleting
				p.Report.Conditions[0].Status = fleet.False
			})
		}, times{at(0), at(3), at(4), at(4)}},
		{"the phase changed", func() { pass(5, func(p *passing) { p.Report.Phase = fleet.PhaseWorkers }) }, times{at(5), at(5), at(5), at(5)}},
	}
	for _, s := range steps {
		if s.do(); of(m) != s.want {
			t.Errorf("%s: got %+v, want %+v", s.reason, of(m), s.want)
		}
	}
	if text := scrape(m); !strings.Contains(text, `fairlead_cluster_phase_timestamp_seconds{name="a",namespace="prod"} 1.7673555e+09`) {
		t.Error("the time of the phase is not shown")
	}
}

// TestRestoreShowsNothing keeps what another agent saw from being shown as seen
// by this one.
func TestRestoreShowsNothing(t *testing.T) {
	m := everything()
	m.Restore([]status.Cluster{{Report: passed().Report}})
	if strings.Contains(scrape(m), `namespace="prod"`) {
		t.Error("a cluster is shown that was not looked at")
	}
	if _, err := m.Gather(); err != nil {
		t.Errorf("a cluster that was not looked at hinders the others: %v", err)
	}
}

// TestUnseen keeps drift and expiry where a cluster cannot be looked at.
func TestUnseen(t *testing.T) {
	m := used()
	p := passed()
	p.Drift, p.NotAfter, p.Err = 0, nil, fmt.Errorf("no answer")
	m.pass(t.Context(), p)
	text := scrape(m)
	for _, want := range []string{`fairlead_cluster_drift{name="a",namespace="prod"} 2`, `{certificate="ca",name="a",namespace="prod"}`, `fairlead_cluster_failing{name="a",namespace="prod"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestExpiry follows the certificates of a cluster through the days: what is
// renewed is shown as renewed, what is gone goes, and while nothing can be seen
// the last that was seen stands.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := everything()
		day := 24 * time.Hour
		pass := func(seen bool, days map[string]int) {
			o := fleet.Observed{}
			if seen {
				o.At = time.Now()
				o.Secrets.NotAfter = make(map[fleet.SecretName]time.Time)
			}
			for name, n := range days {
				at := time.Now().Add(time.Duration(n) * day)
				switch name {
				case "apiserver":
					o.Workload.NotAfter = at
				case string(fleet.Kubeconfig):
					o.Secrets.Kubeconfig.NotAfter = at
				default:
					o.Secrets.NotAfter[fleet.SecretName(name)] = at
				}
			}
			p := passed()
			p.NotAfter = reconcile.Result{Observed: o}.NotAfter()
			m.pass(t.Context(), p)
		}
		left := func() map[string]int {
			out := make(map[string]int)
			families, err := m.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				if f.GetName() == "fairlead_cluster_certificate_expiry_timestamp_seconds" {
					for _, s := range f.GetMetric() {
						at := time.UnixMilli(int64(1000 * s.GetGauge().GetValue()))
						out[s.GetLabel()[0].GetValue()] = int(time.Until(at).Round(time.Second) / day)
					}
				}
			}
			return out
		}
		for _, step := range []struct {
			reason string
			seen   bool
			days   map[string]int
			wait   time.Duration
			want   map[string]int
		}{
			{"nothing was issued yet", true, nil, 0, map[string]int{}},
			{"authorities are there", true, map[string]int{"ca": 3650}, 0, map[string]int{"ca": 3650}},
			{"all is there", true, map[string]int{"ca": 3649, "kubeconfig": 365, "apiserver": 365}, 0, map[string]int{"ca": 3649, "kubeconfig": 365, "apiserver": 365}},
			{"time passes", true, map[string]int{"ca": 3649, "kubeconfig": 365, "apiserver": 365}, 351 * day, map[string]int{"ca": 3298, "kubeconfig": 14, "apiserver": 14}},
			{"it cannot be looked at", false, nil, day, map[string]int{"ca": 3297, "kubeconfig": 13, "apiserver": 13}},
			{"the kubeconfig was renewed", true, map[string]int{"ca": 3297, "kubeconfig": 365, "apiserver": 13}, 0, map[string]int{"ca": 3297, "kubeconfig": 365, "apiserver": 13}},
			{"it is over", true, map[string]int{"ca": 3297, "kubeconfig": 365, "apiserver": 13}, 15 * day, map[string]int{"ca": 3282, "kubeconfig": 350, "apiserver": -2}},
			{"the API server answers no more", true, map[string]int{"ca": 3282, "kubeconfig": 350}, 0, map[string]int{"ca": 3282, "kubeconfig": 350}},
		} {
			pass(step.seen, step.days)
			time.Sleep(step.wait)
			if diff := cmp.Diff(step.want, left()); diff != "" {
				t.Errorf("%s: days that are left (-want +got):\n%s", step.reason, diff)
			}
		}
		m.forget(keyA)
		if got := left(); len(got) != 0 {
			t.Errorf("certificates of a cluster that is gone: %v", got)
		}
	})
}

// TestPausedSeries shows whether a cluster is left alone, for whatever reason:
// alerts and dashboards ask for these series.
func TestPausedSeries(t *testing.T) {
	for name, c := range map[string]struct {
		reason     string
		inGit      bool
		conditions []fleet.Condition
		want       bool
	}{
		"paused":          {"Git says so, and the look found it", true, []fleet.Condition{{Type: "Paused", Status: fleet.True}}, true},
		"suspended":       {"Git says nothing of what people asked for", false, []fleet.Condition{{Type: "Paused", Status: fleet.True}}, true},
		"goes on":         {"nothing is done to it or asked for", false, []fleet.Condition{{Type: "Paused", Status: fleet.False}}, false},
		"not looked at":   {"Git alone is known", true, nil, true},
		"others in sight": {"another condition is true", false, []fleet.Condition{{Type: "Available", Status: fleet.True}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := everything(), passed()
			p.Cluster.Paused, p.Report.Conditions = c.inGit, c.conditions
			m.pass(t.Context(), p)
			text := scrape(m)
			spec := fmt.Sprintf(`capi_cluster_spec_paused{name="a",namespace="prod"} %d`, map[bool]int{true: 1}[c.want])
			if !strings.Contains(text, spec+"\n") {
				t.Errorf("%s: there is no %s", c.reason, spec)
			}
			const annotation = `capi_cluster_annotation_paused{name="a",namespace="prod",paused_value="true"} 1`
			if strings.Contains(text, annotation) != c.want {
				t.Errorf("%s: %s is there: %v", c.reason, annotation, !c.want)
			}
		})
	}
}

// TestPhaseSeries shows the phase that Cluster API would, which is that on the
// status branch: it knows nothing of machines.
func TestPhaseSeries(t *testing.T) {
	endpoint := fleet.Endpoint{Host: "127.0.0.1", Port: 6443}
	for name, c := range map[string]struct {
		phase    fleet.Phase
		endpoint fleet.Endpoint
		want     string
	}{
		"nothing seen":           {"", endpoint, "Pending"},
		"infrastructure":         {fleet.PhaseInfrastructure, endpoint, "Provisioning"},
		"no endpoint":            {fleet.PhaseControlPlane, fleet.Endpoint{}, "Provisioning"},
		"first machines":         {fleet.PhaseControlPlane, endpoint, "Provisioned"},
		"workers":                {fleet.PhaseWorkers, endpoint, "Provisioned"},
		"all is there":           {fleet.PhaseProvisioned, endpoint, "Provisioned"},
		"about to be no more":    {fleet.PhaseDeleting, endpoint, "Deleting"},
		"let go, and left alone": {fleet.PhaseAbandoned, endpoint, "Deleting"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := everything(), passed()
			p.Report.Phase, p.Report.Endpoint = c.phase, c.endpoint
			m.pass(t.Context(), p)
			text := scrape(m)
			for _, phase := range []string{"Pending", "Provisioning", "Provisioned", "Deleting"} {
				want := fmt.Sprintf("capi_cluster_status_phase{name=\"a\",namespace=\"prod\",phase=%q} %d\n", phase, map[bool]int{true: 1}[phase == c.want])
				if !strings.Contains(text, want) {
					t.Errorf("there is no %s", want)
				}
			}
		})
	}
}
