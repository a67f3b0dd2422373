package metrics

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// well is a pass over a cluster of which all is as it should be.
func well(name string) passing {
	p := passed()
	p.Cluster.Key.Name, p.Report.Cluster.Name, p.Cluster.Paused, p.Drift, p.NotAfter = name, name, false, 0, map[string]time.Time{"ca": noon.Add(365 * 24 * time.Hour)}
	for i := range p.Report.Conditions {
		p.Report.Conditions[i].Status = fleet.True
	}
	for i := range p.Report.Pools {
		r := &p.Report.Pools[i]
		r.Current, r.UpToDate, r.Ready, r.Available = r.Desired, r.Desired, r.Desired, r.Desired
	}
	for i := range p.Report.Machines {
		p.Report.Machines[i].Version = "v1.33.5"
	}
	return p
}

// at returns metrics of a process in which it is noon, that show unhealthy clusters alone.
func at(clock *time.Time) *Metrics {
	m := New("v0")
	m.now = func() time.Time { return *clock }
	return m
}

// TestUnhealthyAreShown: a cluster has series of its own if something of it is not as it should
// be, whatever an alert or a page of a dashboard asks for, and totals count it either way.
func TestUnhealthyAreShown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *passing)
		later  time.Duration
		want   bool
	}{
		"all is well":                 {func(*passing) {}, 0, false},
		"paused, and well":            {func(p *passing) { p.Cluster.Paused = true }, 0, false},
		"being made":                  {func(p *passing) { p.Report.Phase = fleet.PhaseWorkers }, 0, true},
		"being deleted":               {func(p *passing) { p.Report.Phase = fleet.PhaseDeleting }, 0, true},
		"a pass failed":               {func(p *passing) { p.Err = errors.New("no") }, 0, true},
		"no pass succeeded for long":  {func(*passing) {}, 61 * time.Minute, true},
		"the newest is not applied":   {func(p *passing) { p.Report.Problems = []fleet.Problem{{}} }, 0, true},
		"its infrastructure drifted":  {func(p *passing) { p.Drift = 1 }, 0, true},
		"a certificate ends":          {func(p *passing) { p.NotAfter["ca"] = noon.Add(29 * 24 * time.Hour) }, 0, true},
		"kubelets are far behind":     {func(p *passing) { p.Report.Machines[1].Version = "v1.30.1" }, 0, true},
		"it is not available":         {func(p *passing) { p.Report.Conditions[0].Status = fleet.False }, 0, true},
		"nobody knows of its workers": {func(p *passing) { p.Report.Conditions[2].Status = fleet.StatusUnknown }, 0, true},
		"a pool lacks machines":       {func(p *passing) { p.Report.Pools[1].Available-- }, 0, true},
		"a pool has one too many":     {func(p *passing) { p.Report.Pools[1].Current++ }, 0, true},
		"a machine failed":            {func(p *passing) { p.Report.Machines[1].Phase = fleet.MachinePhaseFailed }, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			m := at(&now)
			p := well("a")
			c.change(&p)
			m.pass(t.Context(), p)
			now = now.Add(c.later)
			text := scrape(m)
			if got := ofObjects.MatchString(text); got != c.want {
				t.Errorf("has the cluster series of its own: %v, want %v", got, c.want)
			}
			unhealthy := map[bool]int{true: 1}[c.want]
			for _, want := range []string{
				fmt.Sprintf("fairlead_clusters_unhealthy %d\n", unhealthy), fmt.Sprintf("fairlead_clusters_shown %d\n", unhealthy),
				fmt.Sprintf("fairlead_clusters{namespace=\"prod\",phase=%q} 1\n", p.Report.Phase),
			} {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			m.ShowAll(true)
			if !ofObjects.MatchString(scrape(m)) {
				t.Error("asked for all clusters, there is none")
			}
		})
	}
}

// TestSuccessIsOld: a cluster whose turn comes rarely is well between two turns.
func TestSuccessIsOld(t *testing.T) {
	for name, c := range map[string]struct {
		resync, later time.Duration
		want          bool
	}{
		"often, within the hour":        {10 * time.Minute, 59 * time.Minute, false},
		"often, after the hour":         {10 * time.Minute, 61 * time.Minute, true},
		"rarely, within three turns":    {2 * time.Hour, 359 * time.Minute, false},
		"rarely, after three turns":     {2 * time.Hour, 361 * time.Minute, true},
		"nobody said how often it is":   {0, 61 * time.Minute, true},
		"not known, and within an hour": {0, 59 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			m := at(&now)
			m.ResyncEvery(c.resync)
			m.pass(t.Context(), well("a"))
			now = now.Add(c.later)
			if got := ofObjects.MatchString(scrape(m)); got != c.want {
				t.Errorf("has the cluster series of its own: %v, want %v", got, c.want)
			}
		})
	}
}

// TestMostUrgentAreShown: what an alert is about has series however many clusters are without
// progress for longer, and what a critical alert is about before the rest.
func TestMostUrgentAreShown(t *testing.T) {
	initialized := func(p *passing) {
		p.Report.Conditions = append(p.Report.Conditions, fleet.Condition{Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: fleet.True})
	}
	unavailable := func(p *passing) {
		initialized(p)
		for i := range p.Report.Conditions {
			if p.Report.Conditions[i].Type == clusterv1.ClusterControlPlaneAvailableCondition {
				p.Report.Conditions[i].Status = fleet.False
			}
		}
	}
	certificate := func(left time.Duration) func(p *passing) {
		return func(p *passing) { p.NotAfter["ca"] = noon.Add(left) }
	}
	drift := func(p *passing) { p.Drift = 1 }
	for name, c := range map[string]struct {
		others, change func(p *passing)
		old            bool // the others are stuck, by the time that they are without progress
		want           bool
	}{
		"control plane is not available": {drift, unavailable, false, true},
		"its state is not known":         {drift, func(p *passing) { unavailable(p); p.Report.Conditions[0].Status = fleet.StatusUnknown }, false, true},
		"certificate ends soon":          {drift, certificate(13 * 24 * time.Hour), false, true},
		"certificate ends later":         {drift, certificate(15 * 24 * time.Hour), false, false},
		"is being made": {drift, func(p *passing) {
			p.Report.Phase = fleet.PhaseControlPlane
			p.Report.Conditions[0].Status = fleet.False
		}, false, false},
		"is being deleted":                     {drift, func(p *passing) { unavailable(p); p.Report.Phase = fleet.PhaseDeleting }, false, false},
		"a pass failed":                        {certificate(15 * 24 * time.Hour), func(p *passing) { p.Err = errors.New("no") }, false, true},
		"a machine failed":                     {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Machines[1].Phase = fleet.MachinePhaseFailed }, false, true},
		"a pool lacks machines":                {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Pools[1].Available-- }, false, true},
		"its infrastructure drifted":           {certificate(15 * 24 * time.Hour), drift, false, true},
		"kubelets are far behind":              {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Machines[1].Version = "v1.30.1" }, false, true},
		"the newest is not applied":            {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Problems = []fleet.Problem{{}} }, false, false},
		"is stuck":                             {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Phase = fleet.PhaseWorkers }, true, true},
		"is being changed, and not stuck":      {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Phase = fleet.PhaseWorkers }, false, false},
		"is paused while it was being changed": {certificate(15 * 24 * time.Hour), func(p *passing) { p.Report.Phase, p.Cluster.Paused = fleet.PhaseWorkers, true }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			m := at(&now)
			for i := range mostShown {
				p := well(fmt.Sprintf("c%04d", i))
				c.others(&p)
				m.pass(t.Context(), p)
			}
			now = noon.Add(time.Minute) // the last without progress
			p := well("urgent")
			c.change(&p)
			m.pass(t.Context(), p)
			if c.old {
				now = now.Add(31 * time.Minute)
			}
			if got := strings.Contains(scrape(m), `capi_cluster_spec_paused{name="urgent",`); got != c.want {
				t.Errorf("has the cluster series of its own: %v, want %v", got, c.want)
			}
		})
	}
}

// TestScrapeHasABound: of a fleet of which nothing is well so many clusters have series of their
// own, those that have not got on for longest, and totals tell of all.
func TestScrapeHasABound(t *testing.T) {
	now := noon
	m := at(&now)
	const all = mostShown + 20
	for i := range all {
		p := well(fmt.Sprintf("c%04d", i))
		p.Report.Phase = fleet.PhaseControlPlane
		now = noon.Add(time.Duration(all-i) * time.Second) // later ones have not got on for longer
		m.pass(t.Context(), p)
	}
	text := scrape(m)
	if n := len(regexp.MustCompile(`(?m)^capi_cluster_info\{`).FindAllString(text, -1)); n != mostShown {
		t.Errorf("%d clusters have series, want %d", n, mostShown)
	}
	for _, want := range []string{
		`capi_cluster_spec_paused{name="c0519",`, `capi_cluster_spec_paused{name="c0020",`,
		fmt.Sprintf("fairlead_clusters_unhealthy %d\n", all), fmt.Sprintf("fairlead_clusters_shown %d\n", mostShown),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(text, `name="c0019"`) {
		t.Error("a cluster that got on just now is shown in place of one that did not")
	}
}
