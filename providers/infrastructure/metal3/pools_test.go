package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// rename has workers of c take addresses of another pool of the same range, which Git has in the
// place of the first.
func (w *world) rename(c *fleet.Cluster, last string) {
	c.Companions[len(c.Companions)-1] = newObject(w, "ipam.metal3.io", "IPPool", w.namespace, "nodes-v2", &api.IPPoolSpec{Pools: []api.Pool{{Start: new("10.0.0.10"), End: new(last)}}, Prefix: 24})
	c.Workers[0].Infrastructure = w.template("md-1", func(s *api.MachineSpec) {
		s.DataTemplate, s.Data = &api.Metal3ObjectRef{Name: "nodes-v2"}, &api.Metal3DataTemplateSpec{MetaData: &api.MetaData{
			IPAddressesFromPool: []api.FromPool{{Key: "address", Name: "nodes-v2", APIGroup: "ipam.metal3.io", Kind: "IPPool"}},
		}}
	})
	c.Workers[0].Template = "2-md"
}

// TestOverlappingPools: what a machine has of one pool another of the same range does not give, and
// no pool gives the endpoint of another cluster.
func TestOverlappingPools(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.pooled(c, "10.0.0.10")
	w.until(c, "available", allFree)
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "claimed", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 })
	other := fleet.MachineName("eu-1-md-0-b2c")
	w.rename(c, "10.0.0.10")
	w.p = w.provider() // what the first asked for shows in tags alone
	w.until(c, "ready", func(i fleet.Infrastructure) bool { return i.Ready })
	wantKind(t, "a machine of the pool with another name", w.p.CreateMachine(t.Context(), "op-2", request(c, other)), fleet.Exhausted, "all of its 1 addresses are taken")
	w.rename(c, "10.0.0.12")
	c.Neighbors.Endpoints = []string{"10.0.0.11"}
	if err := w.p.CreateMachine(t.Context(), "op-2", request(c, other)); err != nil {
		t.Fatal(err)
	}
	got := w.until(c, "claimed", func(i fleet.Infrastructure) bool { return len(i.Machines) == 2 })
	if a := machineOf(got, other).Addresses; len(a) != 1 || a[0] != "10.0.0.12" {
		t.Errorf("it is given %q, and 10.0.0.12 alone is free", a)
	}
	// A cluster whose endpoint a machine was given before Git named it is told.
	late := w.c
	late.Key.Name, late.Residence = "late", fleet.Residence{}
	late.Infrastructure = newObject(w, group, "Metal3Cluster", w.namespace, "late", &api.Metal3ClusterSpec{ControlPlaneEndpoint: api.APIEndpoint{Host: "10.0.0.12", Port: 6443}})
	late.Infrastructure.Secrets = c.Infrastructure.Secrets
	if err := w.p.EnsureInfrastructure(t.Context(), "op-infra", &late); err != nil {
		t.Fatal(err)
	}
	const words = "the endpoint 10.0.0.12 was given to machine eu-1-md-0-b2c of cluster"
	if got := w.observe(&late); got.Ready || !strings.Contains(got.Message, words) {
		t.Errorf("ready %t: %q, want %q", got.Ready, got.Message, words)
	}
}
