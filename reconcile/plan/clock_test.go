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
