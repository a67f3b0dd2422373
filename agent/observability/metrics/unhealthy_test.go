package metrics

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

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
