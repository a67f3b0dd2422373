package passes

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/agent/decisions"
	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// TestNeighbors: a cluster that draws addresses is told of the endpoints of all others, by Git and
// as remembered, and of the machines of those that have a pool in common with it.
func TestNeighbors(t *testing.T) {
	pool := func(namespace, name string) fleet.Object {
		return fleet.Object{GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"}, Namespace: namespace, Name: name}
	}
	cluster := func(name, host string, companions ...fleet.Object) fleet.Cluster {
		return fleet.Cluster{Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: name}, Digest: name, Endpoint: fleet.Endpoint{Host: host}, Companions: companions}
	}
	report := func(name, host, address string) fleet.Report {
		return fleet.Report{
			Cluster: fleet.Key{Namespace: "prod", Name: name}, Memory: fleet.Memory{Residence: fleet.Residence{Endpoint: fleet.Endpoint{Host: host}}},
			Machines: []fleet.MachineReport{{Machine: fleet.Machine{Name: "m-0", Addresses: []string{address}}}},
		}
	}
	w, store := &world{}, reports.New()
	w.decisions = decisions.New(w, store)
	store.Restore([]fleet.Report{report("a", "10.0.0.1", "10.0.0.11"), report("b", "10.0.0.2", "10.0.0.12"), report("c", "10.0.0.3", "10.0.0.13")})
	m := w.maker(Options{})
	f := fleet.Fleet{ID: "acme", Clusters: []fleet.Cluster{
		cluster("a", "", pool("prod", "nodes")), cluster("b", "api.b.example.com", pool("prod", "nodes")), cluster("c", "10.0.0.30", pool("prod", "others")), cluster("d", "10.0.0.40"),
	}}
	w.decisions.Decide(rollout.Input{Newest: &rollout.Revision{Fleet: &f}})
	for name, want := range map[string]fleet.Neighbors{
		"a": {Endpoints: []string{"10.0.0.2", "10.0.0.3", "10.0.0.30", "10.0.0.40"}, Machines: []string{"10.0.0.12"}},
		"c": {Endpoints: []string{"10.0.0.1", "10.0.0.2", "10.0.0.40"}},
		"d": {}, // it draws none
	} {
		target, _ := w.decisions.Now().Target(fleet.Key{Namespace: "prod", Name: name})
		m.pass(t.Context(), target.Cluster)
		expect(t, "neighbors of "+name, w.over.Neighbors, want)
	}
}
