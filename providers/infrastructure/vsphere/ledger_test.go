package vsphere_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// from has workers take addresses of another pool, which is in Git beside the first or in its
// place.
func (b *bench) from(pool fleet.Object, beside bool) {
	if !beside {
		b.c.Companions = b.c.Companions[:len(b.c.Companions)-1]
	}
	b.c.Companions = append(b.c.Companions, pool)
	spec, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	spec.Network.Devices[0].AddressesFromPools = []addresses.Ref{{APIGroup: "ipam.cluster.x-k8s.io", Kind: pool.GVK.Kind, Name: pool.Name}}
	b.c.Workers[0].Infrastructure, b.c.Workers[0].Template = newObject(b.t, "VSphereMachineTemplate", "md-1", spec), "2-md"
}

// TestOverlappingPools: an address that a machine has is given by no other pool of its range,
// whether that lies beside the first or is the first with another name.
func TestOverlappingPools(t *testing.T) {
	b := pooled(t, "10.7.0.10-10.7.0.11")
	b.ensure()
	b.make("m-0")
	b.make("m-1")
	c := *b.c
	for reason, beside := range map[string]bool{"beside": true, "renamed": false} {
		t.Run(reason, func(t *testing.T) {
			changed := c
			changed.Workers = slices.Clone(c.Workers)
			changed.Companions = slices.Clone(c.Companions)
			b.t, b.c = t, &changed
			b.from(poolOf(t, "others", "10.7.0.10-10.7.0.11"), beside)
			b.restart() // what it asked for shows in tags alone
			b.ensure()
			wantKind(t, "a machine of another pool", b.ask("m-2"), fleet.Exhausted, "GlobalInClusterIPPool/others", "all of its 2 addresses are taken")
			b.c.Companions[len(b.c.Companions)-1] = poolOf(t, "others", "10.7.0.10-10.7.0.12")
			if err := b.ask("m-2"); err != nil {
				t.Fatal(err)
			}
			b.until("the clone", func(fleet.Infrastructure) bool { return len(b.vms("m-2")) == 1 })
			if got := b.held("m-2", "fairlead.dev/addresses"); got != "GlobalInClusterIPPool/others=10.7.0.12" {
				t.Errorf("m-2 is given %s, and the others are taken", got)
			}
			b.w.Destroy(b.vms("m-2")[0].Ref)
		})
	}
}

// TestAddressTwiceOfTwoPools: of two machines that never ran and have one address of two pools,
// one is made again.
func TestAddressTwiceOfTwoPools(t *testing.T) {
	b := pooled(t, "10.7.0.10-10.7.0.20")
	for _, name := range []fleet.MachineName{"m-0", "m-1"} {
		if err := b.ask(name); err != nil {
			t.Fatal(err)
		}
	}
	b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	_, address, _ := strings.Cut(b.held("m-0", "fairlead.dev/addresses"), "=")
	b.setTag("m-1", "fairlead.dev/addresses", "GlobalInClusterIPPool/others="+address)
	b.until("one is to go", func(fleet.Infrastructure) bool { return len(losing(b)) == 1 })
}

// TestPoolOfTwoPlaces: a pool that clusters in two vCenters have gives no address twice.
func TestPoolOfTwoPlaces(t *testing.T) {
	a := pooled(t, "10.7.0.10-10.7.0.11")
	b := pooled(t, "10.7.0.10-10.7.0.11")
	b.p.Close()
	b.p, b.c.Key.Name = a.p, "eu-2" // one agent
	a.ensure()
	b.ensure()
	a.make("m-0")
	if err := b.ask("m-1"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 0 })
	if one, two := a.held("m-0", "fairlead.dev/addresses"), b.held("m-1", "fairlead.dev/addresses"); one == two {
		t.Errorf("both machines have %s", one)
	}
	time.Sleep(2 * settle) // so that the process does not hold what it asked for any more
	a.observe()
	b.observe()
	wantKind(t, "a third machine", b.ask("m-2"), fleet.Exhausted)
	// Another agent has looked at one place alone, and knows of the other by reports.
	b.restart()
	b.ensure()
	b.c.Companions[len(b.c.Companions)-1].Spec = []byte(`{"addresses":["10.7.0.10-10.7.0.12"],"prefix":24,"gateway":"10.7.0.1"}`)
	_, reported, _ := strings.Cut(a.held("m-0", "fairlead.dev/addresses"), "=")
	b.c.Neighbors.Machines = []string{reported}
	if err := b.ask("m-2"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 0 })
	if got := b.held("m-2", "fairlead.dev/addresses"); got != "InClusterIPPool/prod/nodes=10.7.0.12" {
		t.Errorf("it is given %s, and 10.7.0.12 is free", got)
	}
}

// TestGuestClaimsAPool: what one guest says to have is given to no endpoint and no machine as long
// as there is another address, and then it is.
func TestGuestClaimsAPool(t *testing.T) {
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.cluster(t, nil)
	c.Key.Name = "loud"
	loud := &bench{t, w, newProvider(t, nil), &c}
	loud.ensure()
	loud.make("m-0")
	a := drawing(t, w, "acme", "a", "10.7.0.10-10.7.0.12")
	w.Report(loud.vms("m-0")[0].Ref, "10.7.0.10", "10.7.0.11")
	a.until("it is said", func(fleet.Infrastructure) bool { return len(loud.vms("m-0")[0].Addresses) == 2 })
	time.Sleep(2 * tick)
	a.ensure()
	if got := a.observe().Endpoint.Host; got != "10.7.0.12" {
		t.Errorf("the endpoint is %s, and nobody has 10.7.0.12", got)
	}
	a.runs(a.c.ControlPlane, "cp-0")
	if err := a.begin(a.c.Workers[0], "m-1"); err != nil {
		t.Errorf("the last address, which a guest says to have: %v", err)
	}
	b := drawing(t, w, "acme", "b", "10.7.1.10")
	w.Report(loud.vms("m-0")[0].Ref, "10.7.1.10")
	time.Sleep(2 * tick)
	b.ensure()
	if got := b.observe().Endpoint.Host; got != "10.7.1.10" {
		t.Errorf("the endpoint is %q, and a guest alone says to have the only address", got)
	}
}
