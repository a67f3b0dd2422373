package workload_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
)

// BenchmarkIdleClusters connects to clusters of one node, observes and watches
// them, and measures what both sides keep for each then.
func BenchmarkIdleClusters(b *testing.B) {
	const count = 500
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	for b.Loop() {
		clusters := make([]*cluster, count)
		for i := range clusters {
			clusters[i] = start(b)
			clusters[i].put(b, node("n", corev1.ConditionTrue, nil))
		}
		before := heap()
		first := clusters[0].Client // one client for all, as in the agent
		var calls atomic.Int64
		for i, c := range clusters {
			a := c.access
			a.Cluster = fleet.Key{Namespace: "bench", Name: string(rune('a' + i))}
			if _, err := first.Observe(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			first.Watch(b.Context(), a, func() { calls.Add(1) })
		}
		eventually(b, "all watches", func() bool { return calls.Load() >= count })
		b.ReportMetric(float64(heap()-before)/count, "B/cluster")
		runtime.KeepAlive(clusters)
	}
}
