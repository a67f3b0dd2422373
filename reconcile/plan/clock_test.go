package plan_test

import (
	"slices"
	"testing"
	"time"

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
