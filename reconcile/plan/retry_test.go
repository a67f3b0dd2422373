package plan_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// TestTriesGrow takes all capacity away from the cloud of a pool for a day, in which the agent
// is replaced each hour. One machine at a time is tried, less often as time goes by. Once there
// is capacity, all machines of the pool join.
func TestTriesGrow(t *testing.T) {
	const size = 20
	w, err := rested(cluster(1))
	if err != nil {
		t.Fatal(err)
	}
	w.full = true
	w.desired = change(w.desired, func(c *fleet.Cluster) { c.Workers = cluster(1, size).Workers })
	made, hours := 0, make([]int, 24)
	pass := func() (created int) {
		for _, a := range w.pass().Actions {
			if a.Kind == fleet.CreateMachine {
				created++
			}
		}
		w.advance(10 * time.Second)
		return created
	}
	for i := range 24 * 360 {
		if i%360 == 359 {
			w.attempts, w.since = nil, w.now
		}
		n := pass()
		if hours[i/360] += n; made >= size && n > 1 {
			t.Fatalf("%d machines are made at once in hour %d", n, i/360)
		}
		made += n
	}
	if hours[0] < size+2 || hours[0] > size+5 {
		t.Errorf("%d machines are made in the first hour, want %d to %d", hours[0], size+2, size+5)
	}
	for hour, n := range hours[2:] {
		if n > 1 {
			t.Errorf("%d machines are made in hour %d, want one", n, hour+2)
		}
	}
	w.full = false
	for range 2 * 360 {
		pass()
	}
	if err := w.rest(1); err != nil {
		t.Errorf("two hours after there is capacity: %v", err)
	}
	if len(w.memory.Retries) != 0 {
		t.Errorf("tries are remembered: %+v", w.memory.Retries)
	}
}
