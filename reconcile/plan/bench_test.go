package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// BenchmarkCompute plans clusters at rest and in the middle of a rollout.
func BenchmarkCompute(b *testing.B) {
	for _, workers := range []int{10, 500} {
		w, err := rested(cluster(3, workers))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("3+%d/rest", workers), func(b *testing.B) { compute(b, w.input(false)) })
		w.desired = change(w.desired, upgrade("v1.35.0"))
		b.Run(fmt.Sprintf("3+%d/upgrade", workers), func(b *testing.B) { compute(b, w.input(true)) })
		for !slices.ContainsFunc(w.machines, func(m *simMachine) bool { return m.Role == fleet.RoleWorker && m.Version == "v1.35.0" }) {
			w.pass()
			w.advance(10 * time.Second)
		}
		b.Run(fmt.Sprintf("3+%d/rollout", workers), func(b *testing.B) { compute(b, w.input(true)) })
		b.Run(fmt.Sprintf("3+%d/preview", workers), func(b *testing.B) {
			in := w.input(true)
			b.ReportAllocs()
			for b.Loop() {
				forecast.Of(in)
			}
		})
	}
}

func compute(b *testing.B, in plan.Input) {
	b.ReportAllocs()
	for b.Loop() {
		plan.Compute(in)
	}
}
