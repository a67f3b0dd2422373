package vsphere_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// How much there is in one vCenter: 1,000 machines.
const (
	fifty  = 50 // clusters
	twenty = 20 // machines of each: 3 servers and 17 workers
)

// BenchmarkThousand makes 1,000 machines of 50 clusters in one vCenter and reports the calls for
// a machine, what a look brings and costs, and what is asked in a minute in which nothing
// happens. docs/operations/performance.md has the figures.
//
//	go test ./providers/infrastructure/vsphere -run '^$' -bench Thousand -benchtime 20x -timeout 30m
func BenchmarkThousand(b *testing.B) {
	w := newWorld(b, vspheretest.Options{Datacenters: 1, Guest: func(m vspheretest.Machine) []string {
		var n int
		_, _ = fmt.Sscanf(m.Ref.Value, "vm-%d", &n)
		return []string{fmt.Sprintf("10.1.%d.%d", n/250, n%250+1)}
	}})
	clusters := w.many(b, fifty)
	create(b, w, clusters)
	b.Run("create", func(b *testing.B) { benchmarkCreate(b, w) })
	b.Run("look", func(b *testing.B) { benchmarkLook(b, w, clusters[0]) })
	b.Run("idle", func(b *testing.B) { benchmarkIdle(b, w, clusters) })
}

// create makes all machines, ten clusters at a time.
func create(b *testing.B, w *world, clusters []*fleet.Cluster) {
	p := newProvider(b, func(o *vsphere.Options) { o.VCenter.Tick, o.Settle = time.Second, time.Second })
	w.ResetCalls()
	for chunk := range slices.Chunk(clusters, 10) {
		var all sync.WaitGroup
		for _, c := range chunk {
			all.Go(func() { fill(b, p, c) })
		}
		all.Wait()
	}
	if n := len(w.Machines()); n != fifty*twenty {
		b.Fatalf("%d machines", n)
	}
}

// benchmarkCreate tells what the creation of all machines took.
func benchmarkCreate(b *testing.B, w *world) {
	for b.Loop() { //nolint:revive // it is done: calls are reported, and no time
	}
	changes := report(b, w, fmt.Sprintf("%d machines", fifty*twenty))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(w.Calls()))/fifty/twenty, "calls/machine")
	b.ReportMetric(float64(changes)/fifty/twenty, "changes/machine")
}

// many are clusters with machines to be, 20 of each.
func (w *world) many(b *testing.B, n int) []*fleet.Cluster {
	var out []*fleet.Cluster
	for i := range n {
		c := w.cluster(b, nil)
		c.Key.Name = fmt.Sprintf("c%d", i)
		c.ControlPlane.Replicas, c.Workers[0].Replicas = 3, twenty-3
		out = append(out, &c)
	}
	return out
}

// fill makes the machines of a cluster, as an agent does: servers one after the other, then
// all workers at once.
func fill(b *testing.B, p *vsphere.Provider, c *fleet.Cluster) {
	ctx := b.Context()
	if err := p.EnsureInfrastructure(ctx, "op", c); err != nil {
		b.Error(err)
		return
	}
	ask := func(pool fleet.Pool, i int) {
		err := p.CreateMachine(ctx, "op", providers.MachineRequest{
			Cluster: c, Pool: pool, Name: c.MachineName(&pool, i), Origin: fleet.Origin{Made: time.Now()},
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret(userData())},
		})
		if err != nil {
			b.Error(err)
		}
	}
	settled := func(n int) {
		for range 600 {
			i, err := p.Observe(ctx, c)
			running := 0
			for _, m := range i.Machines {
				if m.State == fleet.MachineRunning && len(m.Addresses) > 0 {
					running++
				}
			}
			if err == nil && running == n && len(i.Upkeep) == 0 {
				return
			}
			if len(i.Upkeep) > 0 {
				err = p.EnsureInfrastructure(ctx, "op", c)
			}
			if err != nil && fleet.KindOf(err) != fleet.Unavailable {
				b.Error(err)
			}
			time.Sleep(time.Second)
		}
		b.Errorf("%s does not settle", c.Key)
	}
	for i := range c.ControlPlane.Replicas {
		ask(c.ControlPlane, i)
		settled(i + 1)
	}
	for i := range c.Workers[0].Replicas {
		ask(c.Workers[0], i)
	}
	settled(twenty)
}

// userData is of the size that a worker has.
func userData() []byte {
	return append([]byte("#cloud-config\nwrite_files:\n- content: "), bytes.Repeat([]byte("0123456789abcdef"), 1000)...)
}

// report logs how often each method was called, and returns how many of the calls change something.
func report(b *testing.B, w *world, what string) (changes int) {
	calls, in, out := make(map[string]int), 0, 0
	for _, c := range w.Calls() {
		calls[c.Method]++
		if in, out = in+c.In, out+c.Out; c.Changes() {
			changes++
		}
	}
	b.Logf("%s: %d calls, %d of them changes, %d KB sent, %d KB received", what, len(w.Calls()), changes, in/1000, out/1000)
	for _, m := range slices.SortedFunc(maps.Keys(calls), func(x, y string) int { return calls[y] - calls[x] }) {
		b.Logf("%8d %s", calls[m], m)
	}
	return changes
}

// benchmarkLook looks at all, by what vCenter answered once: what is measured is what the agent
// does with it.
func benchmarkLook(b *testing.B, w *world, c *fleet.Cluster) {
	tape := &tape{}
	p := newProvider(b, func(o *vsphere.Options) { o.VCenter.Tick, o.VCenter.Wrap = time.Nanosecond, tape.wrap })
	observe := func() {
		if _, err := p.Observe(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	}
	observe() // it logs in
	w.ResetCalls()
	tape.record()
	observe()
	tape.replay()
	calls, _, bytes := w.Count("*")
	w.ResetCalls()
	before := processorTime(b)
	for b.Loop() {
		observe()
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/look")
	b.ReportMetric(float64(calls), "calls/look")
	b.ReportMetric(float64(bytes)/1e6, "MB/look")
	if n, _, _ := w.Count("*"); n > 0 {
		b.Errorf("%d calls came through", n)
	}
}

// processorTime is what this process took so far, which other processes do not change.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchmarkIdle watches for a minute in which nothing happens, with the defaults.
func benchmarkIdle(b *testing.B, w *world, clusters []*fleet.Cluster) {
	p := newProvider(b, func(o *vsphere.Options) { o.VCenter.Tick, o.VCenter.Rate, o.Settle = 0, 0, 0 })
	for _, c := range clusters {
		if _, err := p.Observe(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		_ = p.Watch(ctx, func(fleet.Key) {})
		close(ended)
	}()
	time.Sleep(15 * time.Second) // the watch begins
	w.ResetCalls()
	time.Sleep(2 * time.Minute)
	report(b, w, "idle for two minutes")
	calls, _, _ := w.Count("*")
	cancel()
	b.ReportMetric(float64(calls)/2, "calls/min")
	<-ended
}

// A tape keeps answers, and gives them again in their order.
type tape struct {
	base http.RoundTripper
	mu   sync.Mutex
	mode string
	kept []kept
	at   int
}

type kept struct {
	header http.Header
	code   int
	body   []byte
}

func (t *tape) wrap(base http.RoundTripper) http.RoundTripper { t.base = base; return t }
func (t *tape) record()                                       { t.mode = "record" }
func (t *tape) replay()                                       { t.mode = "replay" }

// RoundTrip implements http.RoundTripper.
func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mode == "replay" {
		k := t.kept[t.at%len(t.kept)]
		t.at++
		return &http.Response{StatusCode: k.code, Header: k.header.Clone(), Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)), Request: r}, nil
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil || t.mode == "" {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	t.kept = append(t.kept, kept{resp.Header.Clone(), resp.StatusCode, body})
	return resp, err
}
