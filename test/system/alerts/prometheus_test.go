package alerts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryAlertHasAScenario keeps TestOnPrometheus complete.
func TestEveryAlertHasAScenario(t *testing.T) {
	tried := []string{
		"FairleadAbsent", // which TestOnPrometheus begins with
		// Stages take days: their series are tried by promtool alone.
		"FairleadRolloutHalted", "FairleadRolloutLate",
		// It takes more than 500 clusters: promtool tries the rule, the tests of agent/observability/metrics the series.
		"FairleadClustersNotShown",
	}
	for _, s := range scenarios() {
		tried = append(tried, s.alert)
	}
	for _, a := range readAlerts(t) {
		if !slices.Contains(tried, a.Alert) {
			t.Errorf("%s has no scenario", a.Alert)
		}
	}
}

// TestOnPrometheus lets a real Prometheus and Alertmanager watch agents. Each
// alert is to wake somebody when it should, to be over when what was wrong is,
// and nothing else is to wake anybody.
func TestOnPrometheus(t *testing.T) {
	if os.Getenv("FAIRLEAD_TEST_ALERTS") == "" {
		t.Skip("it takes minutes: run `make test-alerts`")
	}
	watch := newWatch(t)
	eventually(t, "somebody is woken because there is no agent", func() error { return watch.woken("FairleadAbsent", "") })
	well := newWorld(t, "well")
	well.push()
	p := well.start("one", "--metrics-clusters", "all") // the dashboard of one cluster shows it while it is well
	well.settled(p, 1)
	watch.scrape("well", "one", p)
	eventually(t, "there is an agent", func() error { return watch.calm("FairleadAbsent", "") })
	panels := newPanels(t)
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios() {
			t.Run(s.alert, func(t *testing.T) {
				t.Parallel()
				s.play(t, watch, panels)
			})
		}
	})
	t.Run("dashboards", func(t *testing.T) {
		grows(t, watch)
		panels.show(t, watch)
	})
	if fired := watch.all("well"); len(fired) > 0 {
		t.Errorf("somebody was woken by a fleet that was well: %v", fired)
	}
}

// grows has a fleet that is scraped get another cluster: panels tell of what is counted
// between two scrapes.
func grows(t *testing.T, watch *watch) {
	t.Helper()
	w := newWorld(t, "grows")
	w.push()
	p := w.start("one")
	w.settled(p, 1)
	watch.scrape("grows", "one", p)
	eventually(t, "its first cluster is counted", func() error {
		if found, err := watch.query(`fairlead_cluster_phase_seconds_count{namespace="grows"}`); err != nil || len(found) > 0 {
			return err
		}
		return errors.New("nothing is counted")
	})
	another := filepath.Join(w.clone(), "clusters/staging/eu-3")
	if err := os.CopyFS(another, os.DirFS(filepath.Join(w.clone(), folder))); err != nil {
		t.Fatal(err)
	}
	w.replace("clusters/staging/eu-3/values.yaml", "eu-2", "eu-3")
	w.push()
	w.settled(p, 2)
}

func (s scenario) play(t *testing.T, watch *watch, panels *panels) {
	w := newWorld(t, strings.ToLower(s.alert))
	if s.before != nil {
		s.before(w)
	}
	w.push()
	p := w.start("one")
	if !s.early {
		w.settled(p, max(1, s.clusters))
	}
	watch.scrape(w.name, "one", p)
	defer func() {
		for _, p := range w.agents {
			watch.leave(p)
		}
	}()
	if !s.early {
		eventually(t, "Prometheus sees it", func() error {
			found, err := watch.query(`count_over_time(fairlead_leader{namespace="` + w.name + `"}[10s]) > 3`)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("it does not")
			}
			return err
		})
	}
	s.break_(w, watch)
	eventually(t, s.alert+" fires", func() error {
		if s.again != nil {
			s.again(w)
		}
		return watch.woken(s.alert, w.name)
	})
	panels.look(t, watch, w.name)
	if s.mend != nil {
		s.mend(w, watch)
		eventually(t, s.alert+" is over", func() error { return watch.calm(s.alert, w.name) })
	}
	for _, other := range watch.all(w.name) {
		if other != s.alert && !slices.Contains(s.also, other) {
			t.Errorf("%s fired as well", other)
		}
	}
}
