package conformance

import (
	"testing"

	"fairlead.dev/fleet"
)

// addressIsGivenOnce: what one pool gave no other pool of the same range gives, to no cluster, and no
// pool gives the endpoint of another cluster.
func addressIsGivenOnce(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Pooled", o.Pooled != nil) {
		return
	}
	exhausted := func(what string, c *fleet.Cluster) {
		t.Helper()
		wantKind(t, "CreateMachine "+what, b.p.CreateMachine(t.Context(), "op-m-1", b.request(c, "m-1")), fleet.Exhausted)
	}
	plain, other := b.c, b.cluster(testFleet, fleet.Key{Namespace: "prod", Name: "eu-2"})
	b.c = o.Pooled(t, plain, "one", "10.9.0.10")
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	b.c = o.Pooled(t, plain, "two", "10.9.0.10") // Git has another name for it
	exhausted("of a pool that has a new name", b.c)
	other = o.Pooled(t, other, "two", "10.9.0.10")
	b.ensure(other)
	exhausted("of another cluster", other)
	b.c = o.Pooled(t, plain, "two", "10.9.0.11")
	exhausted("where the only address is an endpoint", b.c.WithNeighbors(fleet.Neighbors{Endpoints: []string{"10.9.0.11"}}))
	b.create(b.c, "m-1")
}
