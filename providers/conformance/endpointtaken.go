package conformance

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// endpointIsFree: Git names an address for the endpoint of a new cluster that a machine of another cluster has.
// The new cluster does not get ready, an observation says which address that is, and the machine keeps it.
func endpointIsFree(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("EndpointAt", o.EndpointAt != nil) {
		return
	}
	other := b.cluster(testFleet, fleet.Key{Namespace: testKey().Namespace, Name: "eu-2"})
	if o.Pooled != nil { // else the infrastructure gives addresses itself
		b.c = o.Pooled(t, b.c, "one", "10.9.0.10")
	}
	b.ensure(b.c)
	b.create(b.c, "m-0")
	b.settle()
	b.awaitRunning("m-0")
	address := "10.9.0.10"
	if o.Pooled == nil {
		if m := b.machine("m-0"); len(m.Addresses) > 0 {
			address = m.Addresses[0]
		} else {
			t.Fatalf("machine %+v has no address", m)
		}
	}
	other = o.EndpointAt(t, b.p, other, address)
	for range 5 {
		_ = b.p.EnsureInfrastructure(t.Context(), "op-infra", other) // what follows tells
		b.settle()
	}
	seen, err := b.p.Observe(t.Context(), other)
	said := strings.Join(seen.Drift, "; ") + seen.Message
	if err != nil {
		said = err.Error()
	}
	if seen.Ready || !strings.Contains(said, address) {
		t.Errorf("a cluster whose endpoint would be at %s, which a machine has, is %+v, %v: want it not ready, with that address as the reason", address, seen, err)
	}
	if m := b.machine("m-0"); m.Damaged != "" || m.State == fleet.MachineDeleting {
		t.Errorf("machine that has %s is %+v", address, m)
	}
}
