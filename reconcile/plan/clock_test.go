package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// TestClocksRollNothingTwice: a rollout by the clock happens once, though the
// agent's clock jumps ahead of that of the infrastructure and back, and the
// agent forgets everything in between.
func TestClocksRollNothingTwice(t *testing.T) {
	w, err := rested(cluster(3, 2))
	if err != nil {
		t.Fatal(err)
	}
	machines := func() []fleet.ProviderID {
		var ids []fleet.ProviderID
		for _, m := range w.machines {
			ids = append(ids, m.ProviderID)
		}
		return slices.Sorted(slices.Values(ids))
	}
	restart := func(ahead time.Duration) {
		t.Helper()
		w.attempts, w.ahead = nil, ahead
		w.since = w.clock().Add(-time.Hour)
		if err := w.rest(2000); err != nil {
			t.Fatal(err)
		}
	}
	before := machines()
	w.desired = change(w.desired, func(c *fleet.Cluster) {
		c.ControlPlane.RolloutAfter = w.now.Add(24 * time.Hour)
		c.Workers[0].RolloutAfter = w.now.Add(24 * time.Hour)
	})
	restart(0)
	if got := machines(); !slices.Equal(got, before) {
		t.Fatalf("machines %v, were %v: the time has not come", got, before)
	}
	restart(48 * time.Hour)
	rolled := machines()
	for _, id := range rolled {
		if slices.Contains(before, id) {
			t.Errorf("machine %s is still there", id)
		}
	}
	for _, ahead := range []time.Duration{0, 48 * time.Hour, 24*time.Hour + time.Minute, 0} {
		restart(ahead)
		if got := machines(); !slices.Equal(got, rolled) {
			t.Fatalf("machines %v, were %v: rolled again with the clock %s ahead", got, rolled, ahead)
		}
	}
	if len(w.violations) > 0 {
		t.Fatal(w.violations[0])
	}
}

// TestAttemptsAreCounted: machines that never come up are replaced as often as
// remediation.maxRetry says, though the agent forgets all but its last report
// before each look.
func TestAttemptsAreCounted(t *testing.T) {
	w, err := rested(cluster(3))
	if err != nil {
		t.Fatal(err)
	}
	two, none, day := int32(2), int32(0), int32(86400)
	w.desired = change(w.desired, func(c *fleet.Cluster) {
		c.ControlPlane.Remediation.MaxRetry, c.ControlPlane.Remediation.RetryPeriodSeconds = &two, &none
		c.ControlPlane.Remediation.MinHealthyPeriodSeconds = &day
		c.HealthChecks = checkAll(60)
	})
	w.kill(w.machines[0])
	for range 400 {
		w.attempts, w.since = nil, w.clock().Add(-w.settle)
		for _, m := range w.machines {
			if !m.joined {
				m.dead = true
			}
		}
		w.pass()
		w.advance(30 * time.Second)
	}
	_, p := w.plan()
	if len(p.Actions) > 0 || len(w.machines) != 3 || w.ids != 3+3 {
		t.Fatalf("%d machines were made, want 3 and 3 attempts; the plan is %v, waiting %q\n%s", w.ids, p.Actions, p.Waiting, strings.Join(w.log, "\n"))
	}
	w.desired = change(w.desired, upgrade("v1.34.3")) // the push that mends it
	if err := w.rest(2000); err != nil {
		t.Fatal(err)
	}
	if len(w.violations) > 0 {
		t.Fatal(w.violations[0])
	}
}

// TestClockIsPutBack: an agent takes over that of another one which had begun to
// replace a machine by a clock far ahead. What comes of it never boots, and nothing
// says how long to wait before the next attempt.
func TestClockIsPutBack(t *testing.T) {
	w, err := rested(change(cluster(3), func(c *fleet.Cluster) { c.HealthChecks = checkAll(60) }))
	if err != nil {
		t.Fatal(err)
	}
	w.ahead = time.Hour
	w.kill(w.machines[0])
	for range 100 {
		if w.pass(); len(w.machines) == 2 {
			w.attempts, w.ahead = nil, 0
			w.since = w.clock().Add(-w.settle)
		}
		if m := w.machines[len(w.machines)-1]; w.ids == 4 && !m.joined {
			m.dead = true
		}
		w.advance(30 * time.Second)
	}
	if _, p := w.plan(); len(p.Actions) > 0 || len(w.machines) != 3 || w.ids != 3+2 {
		t.Fatalf("%d machines were made, want 3 and 2 attempts; the plan is %v, waiting %q\n%s", w.ids, p.Actions, p.Waiting, strings.Join(tail(w.log, 20), "\n"))
	}
	if len(w.violations) > 0 {
		t.Fatal(w.violations[0])
	}
}

// checkAll returns a health check that finds a machine sick when its Node is not
// there, or not ready, for so many seconds.
func checkAll(timeout int32) []clusterv1.MachineHealthCheck {
	return []clusterv1.MachineHealthCheck{{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: clusterv1.MachineHealthCheckSpec{Checks: clusterv1.MachineHealthCheckChecks{
			NodeStartupTimeoutSeconds: &timeout,
			UnhealthyNodeConditions:   []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}},
		}},
	}}
}

// TestClocksThatDifferReplaceNothing: whichever clock is wrong, and by however
// much, machines that come up as they should are not replaced: not while they are
// made, and not when their Nodes are not ready for a moment.
func TestClocksThatDifferReplaceNothing(t *testing.T) {
	for name, skew := range map[string]func(*world){
		"infrastructure behind":            func(w *world) { w.infraAhead = -15 * time.Minute },
		"infrastructure ahead":             func(w *world) { w.infraAhead = 15 * time.Minute },
		"workload cluster behind":          func(w *world) { w.nodesAhead = -15 * time.Minute },
		"workload cluster ahead":           func(w *world) { w.nodesAhead = 15 * time.Minute },
		"agent ahead":                      func(w *world) { w.ahead = 9 * time.Hour },
		"agent behind":                     func(w *world) { w.ahead = -9 * time.Hour },
		"all behind the agent, by a day":   func(w *world) { w.infraAhead, w.nodesAhead = -24*time.Hour, -24*time.Hour },
		"all ahead of the agent, by a day": func(w *world) { w.infraAhead, w.nodesAhead = 24*time.Hour, 24*time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(change(cluster(3, 2), func(c *fleet.Cluster) { c.HealthChecks = checkAll(300) }))
			skew(w)
			w.since = w.clock()
			hour(w)
			for _, n := range w.nodes {
				w.setReady(n, false) // for as long as it takes to be seen
			}
			hour(w)
			if w.ids != 5 {
				t.Errorf("%d machines were made, want 5\n%s", w.ids, strings.Join(tail(w.log, 20), "\n"))
			}
			if _, p := w.plan(); p.Phase != fleet.PhaseProvisioned || len(p.Actions) > 0 {
				t.Errorf("phase %s, actions %v", p.Phase, p.Actions)
			}
			if len(w.violations) > 0 {
				t.Fatal(w.violations[0])
			}
		})
	}
}

// TestMinReadySecondsByOneClock: a machine is available once its Node was ready for as
// long as its pool says, whichever clock is wrong.
func TestMinReadySecondsByOneClock(t *testing.T) {
	for name, skew := range map[string]func(*world){
		"agree":                   func(*world) {},
		"workload cluster behind": func(w *world) { w.nodesAhead = -15 * time.Minute },
		"workload cluster ahead":  func(w *world) { w.nodesAhead = 15 * time.Minute },
		"agent behind":            func(w *world) { w.ahead = -time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(change(cluster(1, 1), func(c *fleet.Cluster) { c.Workers[0].MinReadySeconds = 100 }))
			skew(w)
			w.since = w.clock()
			var ready time.Time
			for range 360 {
				p := w.pass()
				if len(w.machines) == 2 && ready.IsZero() {
					if n := w.nodes[w.nodeName(w.machines[1])]; n != nil && n.Ready {
						ready = w.now
					}
				}
				if p.Phase == fleet.PhaseProvisioned {
					if took := w.now.Sub(ready); took < 100*time.Second || took > 120*time.Second {
						t.Errorf("available %s after it was ready, want 100s", took)
					}
					return
				}
				w.advance(10 * time.Second)
			}
			t.Error("never available")
		})
	}
}
