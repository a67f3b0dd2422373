package metal3_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// How much there is in one Ironic: 1,000 hosts, which 50 clusters of a namespace see.
const thousand, fifty = 1000, 50

// enrolled returns a world whose Ironic knows 1,000 hosts of Git, and clusters there.
func enrolled(t testing.TB) (*world, []*fleet.Cluster) {
	t.Helper()
	var names []string
	for n := range thousand {
		names = append(names, fmt.Sprintf("h%03d", n))
	}
	w := doubled(t, names...)
	if err := w.p.EnsureInfrastructure(t.Context(), "op", &w.c); err != nil {
		t.Fatal(err)
	}
	var out []*fleet.Cluster
	for n := range fifty {
		c := w.c
		c.Key.Name = fmt.Sprintf("c%d", n)
		out = append(out, &c)
	}
	return w, out
}

// TestThousandHosts: however many clusters and hosts there are, a look is one listing.
func TestThousandHosts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("1,000 hosts are enrolled")
	}
	w, clusters := enrolled(t)
	p := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: time.Hour})
	t.Cleanup(p.Close)
	w.ResetCalls()
	var all sync.WaitGroup
	for _, c := range clusters {
		all.Go(func() {
			if got, err := p.Observe(t.Context(), c); err != nil || len(got.Hosts) != thousand {
				t.Errorf("%d hosts, %v", len(got.Hosts), err)
			}
		})
	}
	all.Wait()
	if calls := w.Calls(); len(calls) != 1 || calls[0].Method != "GET /v1/nodes" {
		t.Errorf("%d clusters that look at %d hosts ask %d times", fifty, thousand, len(calls))
	}
}

// BenchmarkThousand reports what a look at 1,000 hosts brings and costs: the listing, and what
// a cluster makes of it. docs/operations/performance.md has the figures.
//
//	go test ./providers/infrastructure/metal3 -run '^$' -bench Thousand -benchtime 20x
func BenchmarkThousand(b *testing.B) {
	w, clusters := enrolled(b)
	look := func(b *testing.B, tick time.Duration) {
		p := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: tick})
		b.Cleanup(p.Close)
		if _, err := p.Observe(b.Context(), clusters[0]); err != nil {
			b.Fatal(err)
		}
		w.ResetCalls()
		for b.Loop() {
			if _, err := p.Observe(b.Context(), clusters[0]); err != nil {
				b.Fatal(err)
			}
		}
		size := 0
		calls := w.Calls()
		for _, c := range calls {
			size += c.Bytes
		}
		b.ReportMetric(float64(len(calls))/float64(b.N), "calls/look")
		b.ReportMetric(float64(size)/float64(b.N), "B/look")
	}
	b.Run("listing", func(b *testing.B) { look(b, time.Nanosecond) })
	b.Run("shared", func(b *testing.B) { look(b, time.Hour) })
}
