package vsphere_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// BenchmarkFiveThousand has 5,000 machines of 250 clusters in one vCenter and reports what a look
// brings and costs, and what is asked in a minute in which nothing happens. docs/operations/performance.md
// has the figures.
//
//	go test ./providers/infrastructure/vsphere -run '^$' -bench FiveThousand -benchtime 20x -timeout 30m
func BenchmarkFiveThousand(b *testing.B) {
	w := newWorld(b, vspheretest.Options{Datacenters: 1})
	clusters := w.many(b, 5*fifty)
	like := w.AddMachine("/DC0/vm/fleet", "like")
	w.Power(like.Ref, true)
	for i, c := range clusters {
		w.AddMany(like.Ref, twins(b, c, i))
	}
	if n := len(w.Machines()); n != 5*fifty*twenty+1 {
		b.Fatalf("%d machines", n)
	}
	p := newProvider(b, nil)
	for _, c := range clusters[:3] {
		if i, err := p.Observe(b.Context(), c); err != nil || len(i.Machines) != twenty || len(i.Upkeep) > 0 || i.Machines[0].State != fleet.MachineRunning {
			b.Fatalf("%s: %d machines, %q, %v", c.Key, len(i.Machines), i.Upkeep, err)
		}
	}
	b.Run("look", func(b *testing.B) { benchmarkLook(b, w, clusters[0]) })
	b.Run("cluster", func(b *testing.B) { benchmarkCluster(b, w, clusters) })
	b.Run("idle", func(b *testing.B) { benchmarkIdle(b, w, clusters[:fifty]) })
}

// benchmarkCluster observes one cluster after the other by a look that is there.
func benchmarkCluster(b *testing.B, w *world, clusters []*fleet.Cluster) {
	p := newProvider(b, func(o *vsphere.Options) { o.VCenter.Tick = time.Hour })
	n, before := 0, time.Duration(0)
	for b.Loop() {
		if _, err := p.Observe(b.Context(), clusters[n%len(clusters)]); err != nil {
			b.Fatal(err)
		}
		if n++; n == 1 { // the look
			before = processorTime(b)
		}
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(max(1, n-1)), "cpu-ms/cluster")
}

// twins are the machines of c, the nth cluster, as they are an hour after they were made.
func twins(b *testing.B, c *fleet.Cluster, n int) (out []vspheretest.Twin) {
	b.Helper()
	for i := range twenty {
		pool := c.Workers[0]
		if i < 3 {
			pool = c.ControlPlane
		}
		r := providers.MachineRequest{Cluster: c, Pool: pool, Name: c.MachineName(&pool, i), Origin: fleet.Origin{Made: time.Now().Add(-time.Hour)}}
		tags := r.Tags("op")
		tags[machine.TagUserDataCleared] = "true"
		text, err := json.Marshal(tags)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, vspheretest.Twin{
			Name: string(r.Name), UUID: machine.InstanceUUID(tags), Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 1+n/250, n%250, i+1)},
			ExtraConfig: map[string]string{machine.TagsKey: string(text), "guestinfo.metadata": string(userData()[:400]), "guestinfo.metadata.encoding": "base64"},
		})
	}
	return out
}
