package plan_test

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/test/run/short"
)

// A replay is one way of a pool from one state at rest to another.
type replay struct {
	replicas, surge, unavailable int
	order                        fleet.DeletionOrder
	strategy                     fleet.Strategy
	then                         int // replicas that are asked for in the middle of the rollout
}

func (r replay) String() string {
	return fmt.Sprintf("%s %d→%d surge %d unavailable %d %s", r.strategy, r.replicas, r.then, r.surge, r.unavailable, r.order)
}

// TestRolloutArithmetic replays replicas × maxSurge × maxUnavailable × a change
// of the template, with and without a scale in the middle, × order of deletion.
// At every step, Cluster API's bounds hold: total ≤ replicas + maxSurge, and
// available ≥ replicas − maxUnavailable as far as removals go.
func TestRolloutArithmetic(t *testing.T) {
	n, every := 0, short.Number(t, 11, 1)
	for replicas := range 6 {
		for surge := range 4 {
			for unavailable := range 4 {
				for _, then := range []int{replicas, 0, replicas + 2, replicas / 2} {
					for _, order := range []fleet.DeletionOrder{fleet.DeleteRandom, fleet.DeleteNewest, fleet.DeleteOldest} {
						if surge+unavailable == 0 {
							continue // refused when it is decoded
						}
						r := replay{replicas, surge, unavailable, order, fleet.RollingUpdate, then}
						if n++; n%7 == 0 {
							r.strategy = fleet.OnDelete
						}
						if n%every == 0 {
							r.run(t)
						}
					}
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d rollouts were replayed", n)
	}
}

// run rolls a pool and judges each plan.
func (r replay) run(t *testing.T) {
	t.Helper()
	c := cluster(1, r.replicas)
	p := &c.Workers[0]
	p.MaxSurge, p.MaxUnavailable, p.DeletionOrder, p.Strategy = r.surge, r.unavailable, r.order, r.strategy
	w, err := rested(c)
	if err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	w.lag = 0
	w.desired = change(w.desired, func(c *fleet.Cluster) { c.Workers[0].Template = template("v1.34.2", "b") })
	scaled := false
	for step := range 500 {
		if step == 3 && r.then != r.replicas {
			scaled = true
			w.desired = change(w.desired, func(c *fleet.Cluster) { c.Workers[0].Replicas = r.then })
		}
		_, p := w.plan()
		if problem := r.judge(w, p); problem != "" {
			t.Fatalf("%s, step %d: %s\n%q\n%s", r, step, problem, reasons(p), tail(w.log, 30))
		}
		if p = w.pass(); w.done(p) && (scaled || r.then == r.replicas) {
			r.arrived(t, w)
			return
		}
		w.advance(10 * time.Second)
	}
	t.Fatalf("%s: does not end\n%s", r, tail(w.log, 30))
}

// judge says how p breaks the bounds of the pool as it is asked for now.
func (r replay) judge(w *world, p plan.Plan) string {
	pool := w.desired.Workers[0]
	total, available := 0, 0
	for _, m := range w.machines {
		if m.Role != fleet.RoleWorker {
			continue
		}
		total++
		if n := w.nodes[w.nodeName(m)]; n != nil && n.Ready && !n.Draining && m.goneAt.IsZero() {
			available++
		}
	}
	created, taken := 0, 0
	for _, a := range p.Actions {
		m := w.subject(a)
		switch {
		case a.Kind == fleet.CreateMachine:
			created++
		case m == nil:
		case a.Kind == fleet.DrainNode, a.Kind == fleet.DeleteMachine:
			if n := w.nodes[w.nodeName(m)]; n != nil && n.Ready && !n.Draining && m.goneAt.IsZero() {
				taken++
			}
		}
	}
	if created > 0 && total+created > pool.Replicas+pool.MaxSurge {
		return fmt.Sprintf("%d are there and %d are made, at most %d may be", total, created, pool.Replicas+pool.MaxSurge)
	}
	if taken > 0 && available-taken < pool.Replicas-pool.MaxUnavailable {
		return fmt.Sprintf("%d are available and %d go, %d must stay", available, taken, pool.Replicas-pool.MaxUnavailable)
	}
	if pool.Strategy == fleet.OnDelete && taken > max(available-pool.Replicas, 0) {
		return fmt.Sprintf("%d are available and %d go, though nobody deleted any", available, taken)
	}
	return ""
}

// arrived checks that the pool has what was asked for, and that old machines
// stay only where nobody deletes them.
func (r replay) arrived(t *testing.T, w *world) {
	t.Helper()
	total, old := 0, 0
	for _, m := range w.machines {
		if m.Role != fleet.RoleWorker {
			continue
		}
		total++
		if m.Template != w.desired.Workers[0].Template {
			old++
		}
	}
	if total != r.then || r.strategy == fleet.RollingUpdate && old > 0 {
		t.Errorf("%s: ends with %d machines, %d of them outdated", r, total, old)
	}
	if kept := min(r.replicas, r.then); r.strategy == fleet.OnDelete && old != kept {
		t.Errorf("%s: %d machines of the old template are left, want %d", r, old, kept)
	}
}
