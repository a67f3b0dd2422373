package inmemory

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// withPool returns c with a pool that the cloud keeps, of a control plane that is at e.
func withPool(c fleet.Cluster, e fleet.Endpoint) *fleet.Cluster {
	c.Endpoint, c.ControlPlane, c.Workers = e, fleet.Pool{}, nil
	c.Hosted = &fleet.HostedControlPlane{Endpoint: e}
	c.KeptPools = []fleet.KeptPool{{
		Name: "mp-0", Count: 2, Version: "v1.34.1",
		Infrastructure: fleet.Object{Name: "mp-0", Spec: []byte(`{"backend":{"inMemory":{"instanceType":"small"}}}`)},
	}}
	return &c
}

// keeping runs test in a bubble, with a cloud that keeps a pool of a cluster.
func keeping(t *testing.T, f Faults, test func(t *testing.T, c *Cloud, p *Provider, cluster *fleet.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := NewCloud(CloudOptions{Faults: f, Listen: NewPipeNetwork().Listen})
		defer c.Close()
		plane, err := c.CreatePlane(t.Context(), PlaneSpec{Version: "v1.35.0"})
		if err != nil {
			t.Fatal(err)
		}
		p, cluster := NewProvider(c, 0), withPool(testCluster(), plane.Endpoint)
		if err := p.EnsureInfrastructure(t.Context(), "op", cluster); err != nil {
			t.Fatal(err)
		}
		test(t, c, p, cluster)
	})
}

// keep has the cloud keep the pool of c, and returns it a minute later.
func keep(t *testing.T, p *Provider, c *fleet.Cluster) fleet.KeptPoolSeen {
	t.Helper()
	if err := p.EnsurePool(t.Context(), "op", c, c.KeptPools[0]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	return seen(t, p, c)
}

func seen(t *testing.T, p *Provider, c *fleet.Cluster) fleet.KeptPoolSeen {
	t.Helper()
	got, err := p.Observe(t.Context(), c)
	if err != nil || len(got.Pools) != 1 {
		t.Fatalf("pools %+v, error %v", got.Pools, err)
	}
	return got.Pools[0]
}

// TestPoolIsChanged: what the cloud changes of a pool it gives to its Nodes, and what it cannot change is
// told with what to do.
func TestPoolIsChanged(t *testing.T) {
	keeping(t, Faults{}, func(t *testing.T, c *Cloud, p *Provider, cluster *fleet.Cluster) {
		if s := keep(t, p, cluster); s.State != fleet.KeptActive || len(s.Machines) != 2 {
			t.Fatalf("a new pool is %+v", s)
		}
		if vms, err := c.VMs(t.Context(), nil); err != nil || len(vms) > 0 {
			t.Errorf("its machines are listed as servers: %+v, error %v", vms, err)
		}
		pool := &cluster.KeptPools[0]
		pool.NodeLabels, pool.Taints = map[string]string{"node-role.kubernetes.io/web": ""}, []clusterv1.MachineTaint{{Key: "web", Effect: "NoSchedule"}}
		if s := seen(t, p, cluster); strings.Join(s.Drift, "|") != "labels of its nodes differ|taints of its nodes differ" {
			t.Errorf("drift %q", s.Drift)
		}
		if s := keep(t, p, cluster); len(s.Drift) > 0 {
			t.Errorf("drift %q after the change", s.Drift)
		}
		for _, n := range planeNodes(t, c) {
			if _, ok := n.Labels["node-role.kubernetes.io/web"]; !ok || len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "web" {
				t.Errorf("node %s has labels %v and taints %v", n.Name, n.Labels, n.Spec.Taints)
			}
		}
		pool.NodeLabels, pool.Taints = nil, nil
		keep(t, p, cluster)
		for _, n := range planeNodes(t, c) {
			if _, ok := n.Labels["node-role.kubernetes.io/web"]; ok || len(n.Spec.Taints) > 0 {
				t.Errorf("node %s keeps labels %v and taints %v", n.Name, n.Labels, n.Spec.Taints)
			}
		}
		pool.Infrastructure.Spec, pool.FailureDomains = []byte(`{"backend":{"inMemory":{"instanceType":"large"}}}`), []string{"a"}
		s := keep(t, p, cluster)
		if len(s.Fixed) != 2 || !strings.Contains(s.Fixed[0], `instanceType "small" → "large"; a pool keeps what it has`) || !strings.Contains(s.Fixed[1], "failureDomains") {
			t.Errorf("what cannot change is told as %q", s.Fixed)
		}
		if s.State != fleet.KeptActive || len(s.Machines) != 2 {
			t.Errorf("the pool is %+v", s)
		}
	})
}

// planeNodes returns the Nodes of the control planes of the cloud.
func planeNodes(t *testing.T, c *Cloud) (out []corev1.Node) {
	t.Helper()
	c.lock()
	defer c.unlock()
	for _, plane := range c.planes {
		k := plane.net.cluster
		for _, name := range k.nodeNames() {
			u, _ := k.api.Get(nodeKind, "", name)
			var n corev1.Node
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
		}
	}
	return out
}

// TestPoolIsUpgraded: the cloud replaces machines one by one, each when the new one has a Node that is
// ready, and has never fewer than were asked for.
func TestPoolIsUpgraded(t *testing.T) {
	keeping(t, Faults{}, func(t *testing.T, c *Cloud, p *Provider, cluster *fleet.Cluster) {
		before := keep(t, p, cluster)
		pool := &cluster.KeptPools[0]
		pool.Version = "v1.35.0"
		pool.Infrastructure.Spec = []byte(`{"backend":{"inMemory":{"instanceType":"small","vm":{"provisioning":{"startupDuration":"30s"}}}}}`)
		if err := p.EnsurePool(t.Context(), "op", cluster, *pool); err != nil {
			t.Fatal(err)
		}
		states := map[fleet.KeptState]bool{}
		for range 200 {
			s := seen(t, p, cluster)
			states[s.State] = true
			if len(s.Machines) < 2 || len(s.Machines) > 3 {
				t.Fatalf("during the upgrade there are %d machines", len(s.Machines))
			}
			time.Sleep(time.Second)
		}
		after := seen(t, p, cluster)
		if after.State != fleet.KeptActive || !states[fleet.KeptUpdating] || after.Version != "v1.35.0" {
			t.Errorf("after the upgrade: %+v", after)
		}
		if slices.ContainsFunc(after.Machines, func(id fleet.ProviderID) bool { return slices.Contains(before.Machines, id) }) {
			t.Errorf("machines %q are of the old version", after.Machines)
		}
		for _, n := range planeNodes(t, c) {
			if n.Status.NodeInfo.KubeletVersion != "v1.35.0" {
				t.Errorf("node %s has %s", n.Name, n.Status.NodeInfo.KubeletVersion)
			}
		}
	})
}

// TestPoolScalesItself: with a range, the cloud decides the number, and another definition leaves it.
func TestPoolScalesItself(t *testing.T) {
	keeping(t, Faults{}, func(t *testing.T, c *Cloud, p *Provider, cluster *fleet.Cluster) {
		pool := &cluster.KeptPools[0]
		pool.Range = &fleet.PoolRange{Min: 1, Max: 4}
		keep(t, p, cluster)
		networks, err := c.Networks(t.Context(), cluster.Tags())
		if err != nil {
			t.Fatal(err)
		}
		id := networks[0].Pools[0].ID
		if err := c.ScalePool(t.Context(), id, 4); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "a number beyond the range", c.ScalePool(t.Context(), id, 5), fleet.Conflict, "409")
		time.Sleep(time.Minute)
		pool.NodeLabels = map[string]string{"node-role.kubernetes.io/web": ""}
		if s := keep(t, p, cluster); s.Count != 4 || len(s.Machines) != 4 || s.State != fleet.KeptActive {
			t.Errorf("the pool is %+v", s)
		}
	})
}

// TestPoolFails: the faults of machines are those of pools.
func TestPoolFails(t *testing.T) {
	for name, tc := range map[string]struct {
		faults Faults
		want   string
	}{
		"creation": {Faults{FailCreate: []string{"mp-*"}}, "could not be created"},
		"boot":     {Faults{FailBoot: []string{"mp-0-*"}}, "instances failed to join the cluster: No valid host"},
		"quota":    {Faults{Quota: 1}, "quota exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			keeping(t, tc.faults, func(t *testing.T, c *Cloud, p *Provider, cluster *fleet.Cluster) {
				if s := keep(t, p, cluster); s.State != fleet.KeptFailed || !strings.Contains(s.Message, tc.want) {
					t.Fatalf("the pool is %+v", s)
				}
				if err := c.SetFaults(t.Context(), Faults{}); err != nil {
					t.Fatal(err)
				}
				if name != "quota" {
					return
				}
				cluster.KeptPools[0].Count = 3 // another definition is another try
				if s := keep(t, p, cluster); s.State != fleet.KeptActive || len(s.Machines) != 3 {
					t.Errorf("the next try is %+v", s)
				}
			})
		})
	}
	keeping(t, Faults{SlowDelete: time.Minute}, func(t *testing.T, _ *Cloud, p *Provider, cluster *fleet.Cluster) {
		keep(t, p, cluster)
		if err := p.DeletePool(t.Context(), "op", cluster, "mp-0"); err != nil {
			t.Fatal(err)
		}
		if s := seen(t, p, cluster); s.State != fleet.KeptDeleting {
			t.Errorf("a slow deletion shows as %s", s.State)
		}
	})
}

// TestPoolIsUnique: a pool that another tool made is not taken over.
func TestPoolIsUnique(t *testing.T) {
	keeping(t, Faults{}, func(t *testing.T, c *Cloud, p *Provider, cluster *fleet.Cluster) {
		networks, err := c.Networks(t.Context(), cluster.Tags())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreatePool(t.Context(), PoolSpec{Name: "mp-0", Network: networks[0].ID, PoolSettings: PoolSettings{Count: 1, Version: "v1.34.1"}}); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "a pool of others", p.EnsurePool(t.Context(), "op", cluster, cluster.KeptPools[0]), fleet.Conflict, "without the tags")
		if err := p.DeletePool(t.Context(), "op", cluster, "mp-0"); err != nil {
			t.Fatal(err)
		}
		if s := seen(t, p, cluster); s.Damaged == "" || s.State == fleet.KeptDeleting {
			t.Errorf("the pool of others is %+v", s)
		}
	})
}
