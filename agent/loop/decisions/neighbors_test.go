package decisions_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/agent/loop/decisions"
	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// addressPool returns a pool of the namespace prod.
func addressPool(name string, networks ...string) fleet.Object {
	return fleet.Object{GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"}, Namespace: "prod", Name: name, Networks: networks}
}

func clusterWith(name, host string, companions ...fleet.Object) fleet.Cluster {
	return fleet.Cluster{Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: name}, Digest: name, Endpoint: fleet.Endpoint{Host: host}, Companions: companions}
}

func reportWith(name, host, address string) fleet.Report {
	return fleet.Report{
		Cluster: fleet.Key{Namespace: "prod", Name: name}, Phase: fleet.PhaseProvisioned, Memory: fleet.Memory{Residence: fleet.Residence{Endpoint: fleet.Endpoint{Host: host}}},
		Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: "m-0", Addresses: []string{address}}}},
	}
}

func follow(d *decisions.Decisions, clusters ...fleet.Cluster) {
	d.Decide(rollout.Input{Newest: &rollout.Revision{Fleet: &fleet.Fleet{ID: "acme", Clusters: clusters}}})
}

func neighborsOf(d *decisions.Decisions, name string) fleet.Neighbors {
	target, _ := d.Now().Target(fleet.Key{Namespace: "prod", Name: name})
	return d.Neighbors(target.Cluster)
}

// TestNeighbors: a cluster that draws addresses is told of the endpoints of all others that its
// pools could give, by Git and as remembered, and of the machines of those that have a pool in
// common with it.
func TestNeighbors(t *testing.T) {
	store := reports.New()
	d := decisions.New(&queue{}, store)
	store.Restore([]fleet.Report{reportWith("a", "10.0.0.1", "10.0.0.11"), reportWith("b", "10.0.0.2", "10.0.0.12"), reportWith("c", "10.0.0.3", "10.0.0.13")})
	few := addressPool("few", "10.0.0.2-10.0.0.3", "10.0.0.40", "fd00::1-fd00::5")
	follow(d,
		clusterWith("a", "", addressPool("nodes")), clusterWith("b", "api.b.example.com", addressPool("nodes")), clusterWith("c", "10.0.0.30", addressPool("others")),
		clusterWith("d", "10.0.0.40"), clusterWith("e", "10.0.0.2", few), clusterWith("f", "fd00::5", few, addressPool("nodes", "10.0.0.1-10.0.0.2")))
	for name, want := range map[string]fleet.Neighbors{
		"a": {Endpoints: []string{"10.0.0.2", "10.0.0.3", "10.0.0.30", "10.0.0.40", "fd00::5"}, Machines: []string{"10.0.0.12"}},
		"c": {Endpoints: []string{"10.0.0.1", "10.0.0.2", "10.0.0.40", "fd00::5"}},
		"d": {},                                                                    // it draws none
		"e": {Endpoints: []string{"10.0.0.2", "10.0.0.3", "10.0.0.40", "fd00::5"}}, // b has its address as well
		"f": {Endpoints: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.40"}, Machines: []string{"10.0.0.11", "10.0.0.12"}},
	} {
		expect(t, "neighbors of "+name, neighborsOf(d, name), want)
	}
}

// TestNeighborsChange: what is known of neighbors follows Git, passes and what is forgotten.
func TestNeighborsChange(t *testing.T) {
	d := decisions.New(&queue{}, reports.New())
	all := addressPool("all", "10.0.0.0-10.0.0.255")
	a, b := clusterWith("a", "", all), clusterWith("b", "")
	check := func(reason string, want fleet.Neighbors) {
		t.Helper()
		expect(t, reason, neighborsOf(d, "a"), want)
	}
	pass := func(name, host, address string) {
		t.Helper()
		target, _ := d.Now().Target(fleet.Key{Namespace: "prod", Name: name})
		if _, known := d.Passed(rollout.Pass{Target: target, Report: reportWith(name, host, address)}, nil, always); !known {
			t.Fatalf("cluster %s is not known", name)
		}
	}
	follow(d, a, b)
	check("nothing is known of b", fleet.Neighbors{})
	pass("b", "10.0.0.2", "10.0.0.12")
	check("b has an endpoint", fleet.Neighbors{Endpoints: []string{"10.0.0.2"}})
	pass("b", "10.0.0.3", "10.0.0.12")
	check("b has another endpoint", fleet.Neighbors{Endpoints: []string{"10.0.0.3"}})
	b.Companions, b.Digest = []fleet.Object{all}, "b2"
	follow(d, a, b)
	check("b has the pool", fleet.Neighbors{Endpoints: []string{"10.0.0.3"}, Machines: []string{"10.0.0.12"}})
	pass("b", "10.0.0.3", "10.0.0.13")
	check("b has another machine", fleet.Neighbors{Endpoints: []string{"10.0.0.3"}, Machines: []string{"10.0.0.13"}})
	d.Restore(d.Now(), []fleet.Report{reportWith("b", "10.0.0.4", "10.0.0.14")})
	restored := fleet.Neighbors{Endpoints: []string{"10.0.0.4"}, Machines: []string{"10.0.0.14"}}
	check("b is as the status branch has it", restored)
	follow(d, a)
	check("b was removed from Git and is there still", restored)
	d.Decide(rollout.Input{Gone: []fleet.Key{b.Key}})
	check("b is gone", fleet.Neighbors{})
}

// fleetOf returns what is decided of a fleet of n clusters, each with a pool of its own.
func fleetOf(n int) *decisions.Decisions {
	d := decisions.New(&queue{}, reports.New())
	clusters := make([]fleet.Cluster, n)
	for i := range clusters {
		network := fmt.Sprintf("10.%d.%d", i/256, i%256)
		clusters[i] = clusterWith(fmt.Sprintf("c%d", i), network+".1", addressPool(fmt.Sprintf("p%d", i), network+".10-"+network+".200"))
	}
	follow(d, clusters...)
	return d
}

// TestNeighborsCostTheirPools: what a pass has to know of neighbors costs as much in a fleet of
// 500 clusters as in one of 5.
func TestNeighborsCostTheirPools(t *testing.T) {
	cost := func(n int) float64 {
		d := fleetOf(n)
		target, _ := d.Now().Target(fleet.Key{Namespace: "prod", Name: "c1"})
		return testing.AllocsPerRun(10, func() { d.Neighbors(target.Cluster) })
	}
	if few, many := cost(5), cost(500); many > few {
		t.Errorf("%v allocations in a fleet of 500 clusters, %v in one of 5", many, few)
	}
}

// BenchmarkNeighbors tells how much more neighbors cost in a fleet of 2,000 clusters than in one
// of 20.
func BenchmarkNeighbors(b *testing.B) {
	took := map[int]time.Duration{}
	small, large := fleetOf(20), fleetOf(2000)
	target, _ := small.Now().Target(fleet.Key{Namespace: "prod", Name: "c1"})
	for _, d := range []*decisions.Decisions{small, large} {
		d.Neighbors(target.Cluster)
	}
	for b.Loop() {
		for n, d := range map[int]*decisions.Decisions{20: small, 2000: large} {
			start := time.Now()
			d.Neighbors(target.Cluster)
			took[n] += time.Since(start)
		}
	}
	b.ReportMetric(float64(took[2000])/float64(took[20]), "ratio")
}
