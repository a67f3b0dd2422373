package metrics

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"fairlead.dev/fleet"
)

// ofObjects finds the series of clusters, pools and machines.
var ofObjects = regexp.MustCompile(`[{,]name="`)

// TestSeriesBounded holds the number of series that each thing costs to what
// docs/operations/monitoring.md promises: a fleet of thousands must not surprise whoever
// pays for Prometheus.
func TestSeriesBounded(t *testing.T) {
	conditions := func(n int) []fleet.Condition {
		out := []fleet.Condition{{Type: "ControlPlaneAvailable", Status: fleet.True}}
		for i := len(out); i < n; i++ {
			out = append(out, fleet.Condition{Type: fmt.Sprint("C", i), Status: fleet.True})
		}
		return out
	}
	series := func(pools, machines int) int {
		m := everything()
		p := passed()
		p.Report.Conditions = conditions(20)
		p.Report.Pools = p.Report.Pools[:1]
		for i := range pools {
			p.Report.Pools = append(p.Report.Pools, fleet.PoolReport{Name: fleet.PoolName(fmt.Sprint("md-", i)), Role: fleet.RoleWorker, Desired: 1})
		}
		p.Report.Machines = nil
		for i := range machines {
			p.Report.Machines = append(p.Report.Machines, fleet.MachineReport{
				Machine: fleet.Machine{Name: fleet.MachineName(fmt.Sprint("m-", i)), Created: noon}, Node: fmt.Sprint("m-", i),
				Conditions: append(conditions(7), fleet.Condition{Type: "NodeHealthy"}, fleet.Condition{Type: "Paused"}, fleet.Condition{Type: "BootstrapConfigReady"}),
			})
		}
		before := len(ofObjects.FindAllString(scrape(m), -1))
		m.pass(t.Context(), p)
		return len(ofObjects.FindAllString(scrape(m), -1)) - before
	}
	base := series(0, 0)
	if base > 120 {
		t.Errorf("a cluster has %d series, 120 are promised", base)
	}
	if n := series(1, 0) - base; n > 40 {
		t.Errorf("a MachineDeployment has %d series, 40 are promised", n)
	}
	if n := series(0, 1) - base; n > 40 {
		t.Errorf("a machine has %d series, 40 are promised", n)
	}
	if one, ten := series(0, 1)-base, series(0, 10)-base; ten != 10*one {
		t.Errorf("ten machines have %d series, one has %d", ten, one)
	}
}

// TestUnboundedLabels keeps what changes without end to series of which there
// is one for each object.
func TestUnboundedLabels(t *testing.T) {
	families, err := used().Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				unbounded := strings.Contains(l.GetValue(), "sha1:") || strings.Contains(l.GetValue(), "://")
				if !unbounded {
					continue
				}
				found++
				if !strings.HasSuffix(f.GetName(), "_info") {
					t.Errorf("%s has the label %s=%q", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
	if found == 0 {
		t.Error("no series has a revision or a URL: this test sees nothing")
	}
}

// fleetOfSize returns metrics of so many clusters with three machines each.
func fleetOfSize(ctx context.Context, clusters int) *Metrics {
	m := everything()
	for i := range clusters {
		p := passed()
		p.Report.Cluster.Name = fmt.Sprint("c", i)
		m.pass(ctx, p)
	}
	return m
}

// TestScrapeIsLinear holds what a scrape allocates to the number of clusters:
// ten times as many cost ten times as much, within a fifth.
func TestScrapeIsLinear(t *testing.T) {
	cost := func(clusters int) float64 {
		m := fleetOfSize(t.Context(), clusters)
		return testing.AllocsPerRun(1, func() { scrape(m) })
	}
	none, some, many := cost(0), cost(30), cost(300)
	if ratio := (many - none) / (some - none); ratio > 12 {
		t.Errorf("a scrape of 300 clusters costs %.1f times what one of 30 does", ratio)
	}
}

// BenchmarkScrape scrapes fleets with all series, and large ones with those of unhealthy clusters, of
// which there is none and of which there are only such.
func BenchmarkScrape(b *testing.B) {
	ill := func(p *passing) { p.Report.Phase = fleet.PhaseWorkers }
	for name, c := range map[string]struct {
		clusters   int
		everything bool
		change     func(p *passing)
	}{
		"100": {100, true, ill}, "1000": {1000, true, ill}, "10000": {10000, true, ill},
		"10000-well": {10000, false, func(*passing) {}}, "10000-unhealthy": {10000, false, ill},
	} {
		b.Run(name, func(b *testing.B) {
			m := New("v0")
			m.now = func() time.Time { return noon }
			m.ShowAll(c.everything)
			for i := range c.clusters {
				p := well(fmt.Sprint("c", i))
				c.change(&p)
				m.pass(b.Context(), p)
			}
			series := strings.Count(scrape(m), "\n")
			b.ReportAllocs()
			for b.Loop() {
				if err := m.write(io.Discard, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.clusters), "ns/cluster")
			b.ReportMetric(float64(series)/float64(c.clusters), "lines/cluster")
		})
	}
}
