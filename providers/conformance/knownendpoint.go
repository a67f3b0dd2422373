package conformance

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// knownEndpointServes: machines know the API server by one endpoint. Git names another one, and the control
// plane is replaced. The known endpoint leads to each machine that stays, and Git can be put back. A provider
// may refuse the change, and an observation shows that.
func knownEndpointServes(t testing.TB, o Options) {
	b := newBench(t, o)
	if !b.has("Renamed", o.Renamed != nil) || !b.has("Served", o.Served != nil) {
		return
	}
	b.ensure(b.c)
	b.createOf(b.c, b.c.ControlPlane, "cp-0", "")
	b.settle()
	b.wantServed(b.c, "before Git names another endpoint", "cp-0")
	b.remember()
	known := b.c.Residence.Endpoint
	renamed := o.Renamed(t, b.p, b.c)
	if len(renamed) == 0 {
		t.Error("the hook Renamed gave no cluster")
	}
	for i, c := range renamed {
		c = c.WithResidence(b.c.Residence)
		old, next := fleet.MachineName(fmt.Sprintf("cp-%d", i)), fleet.MachineName(fmt.Sprintf("cp-%d", i+1))
		shown := b.shown(fmt.Sprintf("change %d of the endpoint", i), c)
		if got := b.observe(c); got.Endpoint == known && !shown {
			t.Errorf("change %d of the endpoint is not followed, and nothing says so: %+v", i, got)
		}
		b.wantServed(c, "where Git names another endpoint", old)
		b.createOf(c, c.ControlPlane, next, "")
		b.settle()
		b.wantServed(c, "with a machine that was made since", old, next)
		b.replaceServer(c, old)
		b.wantServed(c, "without the machine that was replaced", next)
		if back := b.ensure(b.c); back.Endpoint != known {
			t.Errorf("endpoint once Git is put back = %v, want %v", back.Endpoint, known)
		}
	}
}

// replaceServer removes a server as the planner does, which asks again while the endpoint is busy.
func (b *bench) replaceServer(c *fleet.Cluster, name fleet.MachineName) {
	b.t.Helper()
	id, keeper := b.machine(name).ProviderID, providers.AbilitiesOf(b.p).EndpointKeeper
	var err error
	for range rounds {
		if err = nil; keeper != nil {
			err = keeper.LeaveEndpoint(b.t.Context(), c, name, id)
		}
		if err == nil {
			err = b.p.DeleteMachine(b.t.Context(), "op-delete", c, name, id)
		}
		b.settle()
		if err == nil {
			return
		}
	}
	b.t.Errorf("removal of %s = %v, want no error", name, err)
}

// wantServed fails unless the endpoint that machines know leads to those called names, after some rounds of
// what the planner does for c.
func (b *bench) wantServed(c *fleet.Cluster, when string, names ...fleet.MachineName) {
	b.t.Helper()
	var got []fleet.MachineName
	for range rounds {
		got = b.serving()
		slices.Sort(got)
		if got = slices.Compact(got); equal(got, names) {
			return
		}
		_ = b.p.EnsureInfrastructure(b.t.Context(), "op-infra", c) // it may refuse the change
		b.settle()
	}
	b.t.Fatalf("the endpoint that machines know leads to %q %s, want %q", got, when, names)
}
