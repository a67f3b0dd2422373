package hosts_test

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// TestPoolLeavesGit: a pool that leaves Git with machines on its hosts is told of, and
// nothing is done. One that has another name is the same pool.
func TestPoolLeavesGit(t *testing.T) {
	b := newBench(t, 2)
	c := b.cluster()
	spec, err := api.ReadPool(c.Companions[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := func(name string, hosts ...api.PoolHost) fleet.Object {
		one := *spec
		one.Hosts = hosts
		o := object(t, "HostPool", name, &one)
		o.Secrets = c.Companions[0].Secrets
		return o
	}
	first, second := pool("first", spec.Hosts[0]), pool("second", spec.Hosts[1])
	c.Companions = []fleet.Object{first}
	b.ensure(c)
	b.create(c, "m-0", userData())
	places := b.observe(c).Places
	if len(places) != 2 || places[0].ID != "hosts of namespace prod" || places[1].ID != "HostPool prod/first" || !places[1].Used {
		t.Fatalf("places %+v, want the hosts, and the pool with the machine", places)
	}
	c.Residence = fleet.Residence{Provider: "hosts", Places: []fleet.Place{places[0].Place, places[1].Place}}
	c.Companions = []fleet.Object{second}
	words := []string{"HostPool prod/first", "Git no longer has it", "bring it back", "fairlead.dev/forget-place: HostPool prod/first"}
	_, err = b.p.Observe(t.Context(), c)
	wantKind(t, err, fleet.Invalid, words...)
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", c), fleet.Invalid, words...)
	wantKind(t, b.p.DeleteInfrastructure(t.Context(), "op", c), fleet.Invalid, words...)
	c.ForgetPlaces = []string{"HostPool prod/first"}
	if got := b.observe(c); len(got.Machines) != 0 || len(got.Places) != 1 {
		t.Errorf("given up: machines %+v, places %+v", got.Machines, got.Places)
	}
	c.ForgetPlaces = nil
	for reason, companions := range map[string][]fleet.Object{
		"it is back":         {first, second},
		"it is called other": {pool("one", spec.Hosts[0]), second},
	} {
		c.Companions = companions
		if got := b.observe(c); !slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == "m-0" }) {
			t.Errorf("%s: machines %+v, want m-0", reason, got.Machines)
		}
	}
	c.Companions = []fleet.Object{first, second}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	if got := b.observe(c); len(got.Places) != 1 {
		t.Errorf("places %+v of a cluster without machines, want the hosts alone", got.Places)
	}
}
