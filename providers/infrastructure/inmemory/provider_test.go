package inmemory

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

const testLag = 2 * time.Second

func testCluster() fleet.Cluster {
	return fleet.Cluster{
		Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"},
		Infrastructure: fleet.Object{Name: "eu-1", Spec: []byte(`{"backend":{"inMemory":{}}}`)},
		ControlPlane: fleet.Pool{
			Name: "cp", Role: fleet.RoleControlPlane, Template: "1-cp", Version: "v1.34.1",
			Infrastructure: fleet.Object{Name: "cp", Spec: []byte(`{"backend":{"inMemory":{}}}`)},
		},
		Workers: []fleet.Pool{{
			Name: "md-0", Role: fleet.RoleWorker, Template: "1-md", Version: "v1.34.1",
			Infrastructure: fleet.Object{Name: "md-0", Spec: []byte(`{"backend":{"inMemory":{}}}`)},
		}},
	}
}

func TestEndpoint(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*fleet.Cluster)
		want   string
		kind   fleet.ErrorKind
	}{
		"of the DevCluster": {
			reason: "Git fixes it", want: "127.0.0.7:7443",
			change: func(c *fleet.Cluster) {
				c.Infrastructure.Spec = []byte(`{"controlPlaneEndpoint":{"host":"127.0.0.7","port":7443},"backend":{"inMemory":{}}}`)
			},
		},
		"of the Cluster": {
			reason: "Git fixes it", want: "127.0.0.8:6443",
			change: func(c *fleet.Cluster) { c.Endpoint = fleet.Endpoint{Host: "127.0.0.8", Port: 6443} },
		},
		"port of the network settings": {
			reason: "host and port come from different places", want: "127.0.0.9:8443",
			change: func(c *fleet.Cluster) {
				c.Network = clusterv1.ClusterNetwork{APIServerPort: 8443}
				c.Infrastructure.Spec = []byte(`{"controlPlaneEndpoint":{"host":"127.0.0.9"},"backend":{"inMemory":{}}}`)
			},
		},
		"not on this computer": {
			reason: "the cloud has loopback addresses only", kind: fleet.Invalid,
			change: func(c *fleet.Cluster) { c.Endpoint = fleet.Endpoint{Host: "192.0.2.1", Port: 6443} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen})
			defer c.Close()
			p, cluster := NewProvider(c, 0), testCluster()
			tc.change(&cluster)
			err := p.EnsureInfrastructure(t.Context(), "op", &cluster)
			if tc.kind != "" {
				wantKind(t, "ensure", err, tc.kind, "no loopback address")
				return
			}
			got, _ := p.Observe(t.Context(), &cluster)
			if d := cmp.Diff(tc.want, fmt.Sprintf("%s:%d", got.Endpoint.Host, got.Endpoint.Port)); d != "" || err != nil {
				t.Errorf("endpoint (%s): %s %v", tc.reason, d, err)
			}
		})
	}
}

// TestSecondLoadBalancer: one that a call repeated too early made is told of,
// and mended.
func TestSecondLoadBalancer(t *testing.T) {
	cloud := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen})
	defer cloud.Close()
	p, c := NewProvider(cloud, 0), testCluster()
	drift := func() []string {
		t.Helper()
		got, err := p.Observe(t.Context(), &c)
		if err != nil || !got.Ready {
			t.Fatalf("observe: %+v %v", got, err)
		}
		return got.Drift
	}
	ensure := func() {
		t.Helper()
		if err := p.EnsureInfrastructure(t.Context(), "op", &c); err != nil {
			t.Fatal(err)
		}
	}
	ensure()
	if d := drift(); len(d) != 0 {
		t.Errorf("one load balancer differs from what is asked for: %q", d)
	}
	second, err := cloud.CreateNetwork(t.Context(), NetworkSpec{Tags: c.Tags()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"load balancer " + second.ID + " is one too many"}, drift()); diff != "" {
		t.Errorf("drift: %s", diff)
	}
	ensure()
	if d := drift(); len(d) != 0 {
		t.Errorf("it was not mended: %q", d)
	}
}

// TestAddressesAreNotShared: two clouds on one network get on with each other.
func TestAddressesAreNotShared(t *testing.T) {
	network := NewPipeNetwork()
	seen := make(map[fleet.Endpoint]bool)
	for range 2 {
		c := NewCloud(CloudOptions{Listen: network.Listen})
		defer c.Close()
		c.address = 0x7f010100 // both begin at the same place
		for range 300 {
			n, err := c.CreateNetwork(t.Context(), NetworkSpec{})
			if len(seen) == 300 && err != nil {
				continue // it gives up after a while, and goes on the next time
			}
			if err != nil {
				t.Fatal(err)
			}
			if seen[n.Endpoint] {
				t.Fatalf("%v is given out twice", n.Endpoint)
			}
			seen[n.Endpoint] = true
		}
	}
}

// TestDuplicateInfrastructure: of two load balancers the older stays.
func TestDuplicateInfrastructure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen, Faults: Faults{Lag: testLag}})
		t.Cleanup(c.Close)
		p, cluster := NewProvider(c, testLag), testCluster()
		for range 2 {
			if err := p.EnsureInfrastructure(t.Context(), "op", &cluster); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(testLag)
		before, err := p.Observe(t.Context(), &cluster)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.EnsureInfrastructure(t.Context(), "op", &cluster); err != nil {
			t.Fatal(err)
		}
		time.Sleep(testLag)
		after, err := p.Observe(t.Context(), &cluster)
		if err != nil || after.Endpoint != before.Endpoint {
			t.Errorf("endpoint = %v, %v, want still %v", after.Endpoint, err, before.Endpoint)
		}
		if all, err := c.Networks(t.Context(), nil); err != nil || len(all) != 1 {
			t.Errorf("load balancers = %v, %v, want one", all, err)
		}
	})
}

func TestFactory(t *testing.T) {
	for name, tc := range map[string]struct {
		settings map[string]string
		settle   time.Duration
		embedded bool
		kind     fleet.ErrorKind
	}{
		"in this process": {nil, time.Second, true, ""},
		"settle":          {map[string]string{"settle": "0s"}, 0, true, ""},
		"elsewhere":       {map[string]string{"url": "http://127.0.0.1:7000"}, time.Second, false, ""},
		"no URL":          {map[string]string{"url": "cloud"}, 0, false, fleet.Invalid},
		"no duration":     {map[string]string{"settle": "soon"}, 0, false, fleet.Invalid},
		"negative settle": {map[string]string{"settle": "-1s"}, 0, false, fleet.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := Factory().New(t.Context(), providers.Options{Settings: tc.settings})
			if tc.kind != "" {
				if fleet.KindOf(err) != tc.kind {
					t.Errorf("error = %v, want kind %s", err, tc.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, ok := in.(*Provider)
			if !ok {
				t.Fatal("no *Provider")
			}
			defer p.Close()
			if _, ok := p.API().(*Cloud); ok != tc.embedded || p.Settle() != tc.settle {
				t.Errorf("embedded %v, settle %s, want %v, %s", ok, p.Settle(), tc.embedded, tc.settle)
			}
		})
	}
}

// TestWatch: every step of a machine's life is told.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.timing = DevMachineInMemory{VM: seconds("10s"), Node: seconds("10s"), APIServer: seconds("10s")}
		ctx, cancel := context.WithCancel(t.Context())
		told := make(map[time.Duration]bool)
		start := time.Now()
		done := make(chan error)
		go func() {
			done <- l.Watch(ctx, func(o Owner) {
				if o != (Owner{"f", "prod/eu-1"}) {
					t.Errorf("told of %v", o)
				}
				told[time.Since(start)] = true
			})
		}()
		synctest.Wait()
		v := l.bootInit("cp-0")
		time.Sleep(time.Minute)
		if err := l.DeleteVM(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		<-done
		want := map[time.Duration]bool{0: true, 10 * time.Second: true, 20 * time.Second: true, 30 * time.Second: true, time.Minute: true}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("told at: %s", d)
		}
	})
}

// TestNameIsStillTaken: until the last machine of a name is gone there is no next.
func TestNameIsStillTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(CloudOptions{Listen: NewPipeNetwork().Listen, Faults: Faults{SlowDelete: time.Minute}})
		t.Cleanup(c.Close)
		p, cluster := NewProvider(c, 0), testCluster()
		if err := p.EnsureInfrastructure(t.Context(), "op", &cluster); err != nil {
			t.Fatal(err)
		}
		r := providers.MachineRequest{Cluster: &cluster, Pool: cluster.Workers[0], Name: "m-0", UserData: providers.UserData{Format: "cloud-config"}}
		if err := p.CreateMachine(t.Context(), "op-1", r); err != nil {
			t.Fatal(err)
		}
		if err := p.DeleteMachine(t.Context(), "op-2", &cluster, "m-0", ""); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "create", p.CreateMachine(t.Context(), "op-3", r), fleet.Conflict, "still being deleted")
		time.Sleep(time.Minute)
		if err := p.CreateMachine(t.Context(), "op-3", r); err != nil {
			t.Errorf("create once it is gone = %v, want no error", err)
		}
	})
}
