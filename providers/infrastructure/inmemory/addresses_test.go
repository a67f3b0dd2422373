package inmemory

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
)

// pooled is a cluster whose workers take addresses of a global pool.
func pooled(id fleet.ID, key fleet.Key, spec string) *fleet.Cluster {
	c := testCluster()
	c.Fleet, c.Key = id, key
	c.Companions = []fleet.Object{{
		GVK: schema.GroupVersionKind{Group: addresses.Group, Version: "v1alpha2", Kind: addresses.GlobalPoolKind}, Name: "rack", Spec: []byte(spec),
	}}
	c.Workers[0].Infrastructure.Spec = []byte(`{"backend":{"inMemory":{"addressesFromPools":[{"kind":"GlobalInClusterIPPool","name":"rack"}]}}}`)
	return &c
}

// addressesOf returns those of the machines of c that are shown, by name.
func addressesOf(t *testing.T, p *Provider, c *fleet.Cluster) map[fleet.MachineName]string {
	t.Helper()
	got, err := p.Observe(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[fleet.MachineName]string)
	for _, m := range got.Machines {
		if len(m.Addresses) > 0 {
			out[m.Name] = m.Addresses[0]
		}
	}
	return out
}

func create(ctx context.Context, p *Provider, c *fleet.Cluster, name fleet.MachineName) error {
	return p.CreateMachine(ctx, fleet.OperationID("op-"+name), providers.MachineRequest{
		Cluster: c, Pool: c.Workers[0], Name: name, UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
	})
}

const three = `{"addresses":["10.9.0.10-10.9.0.12"],"prefix":24}`

// Two clusters of a fleet, and another fleet by an agent of its own, share a pool: nobody
// has an address of another, whoever asks at once, and the pool is exhausted for all.
func TestSharedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := NewCloud(CloudOptions{Faults: Faults{Lag: testLag}, Listen: NewPipeNetwork().Listen})
		defer cloud.Close()
		agents := []*Provider{NewProvider(cloud, testLag), NewProvider(cloud, testLag), NewProvider(cloud, testLag)}
		clusters := []*fleet.Cluster{
			pooled("harbour", fleet.Key{Namespace: "prod", Name: "eu-1"}, three), pooled("harbour", fleet.Key{Namespace: "prod", Name: "eu-2"}, three),
			pooled("quay", fleet.Key{Namespace: "prod", Name: "eu-1"}, three),
		}
		for i, c := range clusters {
			if err := agents[i].EnsureInfrastructure(t.Context(), "op", c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * testLag)
		made := make([]bool, len(clusters))
		for range 20 { // as the planner repeats what was refused
			var wg sync.WaitGroup
			for i, c := range clusters {
				wg.Go(func() {
					err := create(t.Context(), agents[i], c, "m-0")
					if made[i] = err == nil; !made[i] && fleet.KindOf(err) != fleet.Conflict {
						t.Errorf("%s: %v, want success or kind Conflict", c.Key, err)
					}
				})
			}
			wg.Wait()
			time.Sleep(2 * testLag)
			if !slices.Contains(made, false) {
				break
			}
		}
		var all []string
		for i, c := range clusters {
			all = append(all, addressesOf(t, agents[i], c)["m-0"])
		}
		slices.Sort(all)
		if want := []string{"10.9.0.10", "10.9.0.11", "10.9.0.12"}; !slices.Equal(all, want) {
			t.Errorf("addresses %q, want %q", all, want)
		}
		if err := create(t.Context(), agents[2], clusters[2], "m-1"); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("a fourth machine: %v, want kind Exhausted", err)
		}
	})
}

// Two that see the same address free at one time are told apart by the cloud.
func TestAddressIsComparedAndSwapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := NewCloud(CloudOptions{Faults: Faults{Lag: testLag}, Listen: NewPipeNetwork().Listen})
		defer cloud.Close()
		one, other := NewProvider(cloud, testLag), NewProvider(cloud, testLag)
		const single = `{"addresses":["10.9.0.10"],"prefix":24}`
		a, b := pooled("harbour", fleet.Key{Namespace: "prod", Name: "eu-1"}, single), pooled("quay", fleet.Key{Namespace: "prod", Name: "eu-1"}, single)
		for p, c := range map[*Provider]*fleet.Cluster{one: a, other: b} {
			if err := p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * testLag)
		if err := create(t.Context(), one, a, "m-0"); err != nil {
			t.Fatal(err)
		}
		if err := create(t.Context(), other, b, "m-0"); fleet.KindOf(err) != fleet.Conflict { // m-0 of harbour does not show yet
			t.Errorf("the address of another fleet's machine, which does not show yet: %v, want kind Conflict", err)
		}
	})
}

// An address is not given again as long as a machine shows that may answer for it: one on
// its way out whose host is silent, or busy.
func TestAddressOfAMachineThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := NewCloud(CloudOptions{Faults: Faults{Lag: testLag, SlowRelease: time.Hour}, Listen: NewPipeNetwork().Listen})
		defer cloud.Close()
		p := NewProvider(cloud, testLag)
		c := pooled("harbour", fleet.Key{Namespace: "prod", Name: "eu-1"}, `{"addresses":["10.9.0.10"],"prefix":24}`)
		if err := p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * testLag)
		if err := create(t.Context(), p, c, "m-0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * testLag)
		if err := p.DeleteMachine(t.Context(), "op-delete", c, "m-0", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * testLag)
		if err := create(t.Context(), p, c, "m-1"); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("beside a machine that is released: %v, want kind Exhausted", err)
		}
		time.Sleep(2 * time.Hour)
		if err := create(t.Context(), p, c, "m-1"); err != nil {
			t.Errorf("when it is gone: %v", err)
		}
	})
}

// What Git does not hold is no pool, and what somebody did to a tag is told.
func TestAddressesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen})
		defer cloud.Close()
		p := NewProvider(cloud, 0)
		c := pooled("harbour", fleet.Key{Namespace: "prod", Name: "eu-1"}, three)
		if err := p.EnsureInfrastructure(t.Context(), "op", c); err != nil {
			t.Fatal(err)
		}
		without := *c
		without.Companions = nil
		if err := create(t.Context(), p, &without, "m-0"); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("without the pool: %v, want kind Invalid", err)
		}
		if err := create(t.Context(), p, c, "m-0"); err != nil {
			t.Fatal(err)
		}
		got, err := p.Observe(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := cloud.Retag(t.Context(), got.Machines[0].ProviderID, func(tags map[string]string) { tags[addresses.Tag] = "?" }); err != nil {
			t.Fatal(err)
		}
		if err := create(t.Context(), p, c, "m-1"); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("with a damaged tag: %v, want kind Conflict", err)
		}
	})
}
