package plan_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// TestMilestones: how long each part of making a cluster took is noted once, and
// stays whatever becomes of the cluster; of one that was there before nothing is.
func TestMilestones(t *testing.T) {
	d := cluster(1, 1)
	w, err := rested(d)
	if err != nil {
		t.Fatal(err)
	}
	made := w.memory.Milestones
	legs := made.PhaseDurations()
	if len(legs) != 4 {
		t.Fatalf("legs %v of %+v", legs, made)
	}
	var sum time.Duration
	for i, phase := range []fleet.Phase{fleet.PhaseInfrastructure, fleet.PhaseControlPlane, fleet.PhaseWorkers} {
		if legs[i].Phase != phase || legs[i].Took <= 0 {
			t.Errorf("leg %d is %v", i, legs[i])
		}
		sum += legs[i].Took
	}
	if legs[3].Phase != fleet.PhaseProvisioned || legs[3].Took != sum {
		t.Errorf("the whole way is %v, its parts are %s", legs[3], sum)
	}
	if !made.Began.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("it began at %s", made.Began)
	}
	d.Workers[0].Replicas++
	if err := w.rest(500); err != nil {
		t.Fatal(err)
	}
	if w.memory.Milestones != made {
		t.Errorf("growing it gives %+v, want %+v", w.memory.Milestones, made)
	}
	w.memory.Milestones = fleet.Milestones{}
	if w.pass(); w.memory.Milestones != (fleet.Milestones{}) {
		t.Errorf("one that was there has %+v", w.memory.Milestones)
	}
	empty := newWorld(d)
	empty.memory.Milestones = made
	if empty.pass(); empty.memory.Milestones != (fleet.Milestones{Began: empty.now}) {
		t.Errorf("one that is made again has %+v", empty.memory.Milestones)
	}
}
