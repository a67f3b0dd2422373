package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// cloudOf digs the cloud out of a provider, mutants included.
func cloudOf(t testing.TB, p providers.Infrastructure) *counting {
	t.Helper()
	for {
		switch q := p.(type) {
		case *inmemory.Provider:
			return q.API().(*counting)
		case interface {
			Unwrap() providers.Infrastructure
		}:
			p = q.Unwrap()
		default:
			t.Fatal("not a provider in memory")
		}
	}
}

// counting is a cloud of which the nth listing fails, the answer to the nth change is
// lost, and that writes down changes.
type counting struct {
	*inmemory.Cloud
	mu      sync.Mutex
	fail    int
	lose    int
	lost    bool
	listed  func() // is called once, after a listing
	changes []string
	away    fleet.ProviderID // the machine whose records are out of reach
	full    bool             // no other machine can be had
}

func (c *counting) list() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail--; c.fail == 0 {
		return fleet.Errorf(fleet.Unavailable, "list", "503")
	}
	return nil
}

// change makes a change, whose answer may be lost.
func (c *counting) change(what string, do func() error) error {
	err := do()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, what)
	if c.lose--; c.lose == 0 {
		c.lost = true
		return fleet.Errorf(fleet.Unanswered, what, "connection reset by peer")
	}
	return err
}

func (c *counting) Networks(ctx context.Context, tags map[string]string) ([]inmemory.Network, error) {
	if err := c.list(); err != nil {
		return nil, err
	}
	return c.Cloud.Networks(ctx, tags)
}

func (c *counting) VMs(ctx context.Context, tags map[string]string) ([]inmemory.VM, error) {
	if err := c.list(); err != nil {
		return nil, err
	}
	out, err := c.Cloud.VMs(ctx, tags)
	c.mu.Lock()
	if slices.ContainsFunc(out, func(v inmemory.VM) bool { return v.Provider == c.away }) {
		out, err = nil, fleet.Errorf(fleet.Unavailable, "list", "a cell is down")
	}
	listed := c.listed
	c.listed = nil
	c.mu.Unlock()
	if listed != nil {
		listed()
	}
	return out, err
}

func (c *counting) CreateNetwork(ctx context.Context, s inmemory.NetworkSpec) (n inmemory.Network, err error) {
	err = c.change("create network "+s.Name, func() error { n, err = c.Cloud.CreateNetwork(ctx, s); return err })
	return n, err
}

func (c *counting) DeleteNetwork(ctx context.Context, id string) error {
	return c.change("delete network "+id, func() error { return c.Cloud.DeleteNetwork(ctx, id) })
}

func (c *counting) CreateVM(ctx context.Context, s inmemory.VMSpec) (v inmemory.VM, err error) {
	c.mu.Lock()
	full := c.full
	c.mu.Unlock()
	if full {
		return v, fleet.Errorf(fleet.Exhausted, "create vm "+s.Name, "each host has a machine")
	}
	err = c.change("create vm "+s.Name, func() error { v, err = c.Cloud.CreateVM(ctx, s); return err })
	return v, err
}

func (c *counting) DeleteVM(ctx context.Context, id string) error {
	return c.change("delete vm "+id, func() error { return c.Cloud.DeleteVM(ctx, id) })
}

func (c *counting) CreatePool(ctx context.Context, s inmemory.PoolSpec) (p inmemory.Pool, err error) {
	err = c.change("create pool "+s.Name, func() error { p, err = c.Cloud.CreatePool(ctx, s); return err })
	return p, err
}

func (c *counting) UpdatePool(ctx context.Context, s inmemory.PoolUpdate) (p inmemory.Pool, err error) {
	err = c.change("update pool "+s.ID, func() error { p, err = c.Cloud.UpdatePool(ctx, s); return err })
	return p, err
}

func (c *counting) DeletePool(ctx context.Context, id string) error {
	return c.change("delete pool "+id, func() error { return c.Cloud.DeletePool(ctx, id) })
}

func (c *counting) SetTags(ctx context.Context, id string, tags map[string]string) error {
	return c.change("set tags of "+id, func() error { return c.Cloud.SetTags(ctx, id, tags) })
}

// hooks reach the cloud of a provider.
func hooks() conformance.Hooks {
	return conformance.Hooks{
		KeptPool: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (*fleet.Cluster, string) {
			plane, err := cloudOf(t, p).CreatePlane(t.Context(), inmemory.PlaneSpec{Version: "v1.35.0"})
			if err != nil {
				t.Fatal(err)
			}
			return keptIn(c, plane.Endpoint), "v1.35.0"
		},
		OtherName: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster {
			return change(c, func(c *fleet.Cluster) { c.Infrastructure.Name = otherName })
		},
		EndpointAt: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster, address string) *fleet.Cluster {
			return change(c, func(c *fleet.Cluster) { c.Endpoint = fleet.Endpoint{Host: address, Port: 6443} })
		},
		Mistaken: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster {
			return []*fleet.Cluster{change(c, func(c *fleet.Cluster) { c.Infrastructure.Name = mistaken })}
		},
		Renamed: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster {
			return []*fleet.Cluster{change(c, func(c *fleet.Cluster) { c.Endpoint = renamed })}
		},
		Pooled: func(_ testing.TB, c *fleet.Cluster, name, last string) *fleet.Cluster {
			out, pool := *c, c.Workers[0]
			pool.Infrastructure.Spec = []byte(`{"backend":{"inMemory":{"addressesFromPools":[{"kind":"GlobalInClusterIPPool","name":"` + name + `"}]}}}`)
			out.Workers, out.Companions = []fleet.Pool{pool}, []fleet.Object{{
				GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Version: "v1alpha2", Kind: "GlobalInClusterIPPool"}, Name: name,
				Spec: []byte(`{"addresses":["10.9.0.10-` + last + `"],"prefix":24}`),
			}}
			return &out
		},
		Changes: func(t testing.TB, p providers.Infrastructure) string {
			c := cloudOf(t, p)
			c.mu.Lock()
			defer c.mu.Unlock()
			return strings.Join(c.changes, "\n")
		},
		Contents: func(t testing.TB, p providers.Infrastructure) []string {
			c := cloudOf(t, p).Cloud
			networks, err := c.Networks(t.Context(), nil)
			vms, err2 := c.VMs(t.Context(), nil)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, n := range networks {
				out = append(out, "network "+n.ID)
			}
			for _, v := range vms {
				out = append(out, "vm "+v.ID)
			}
			for _, v := range p.(annex).vms(t) {
				out = append(out, "vm elsewhere "+v.ID)
			}
			slices.Sort(out)
			return out
		},
		Served: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []fleet.MachineName) {
			seen, err := p.Observe(t.Context(), c) // its load balancer leads to what is there
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range seen.Machines {
				if m.Role == fleet.RoleControlPlane {
					out = append(out, m.Name)
				}
			}
			return out
		},
		LoseAnswer: func(t testing.TB, p providers.Infrastructure, nth int) func() bool {
			c := cloudOf(t, p)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lose, c.lost = nth, false
			return func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.lose = 0
				return c.lost
			}
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			if err := cloudOf(t, p).Retag(t.Context(), id, change); err != nil {
				t.Fatal(err)
			}
		},
		LoseRecords: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			c := cloudOf(t, p)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.away = id
			return func() bool {
				all, err := c.Cloud.VMs(t.Context(), nil)
				return err == nil && slices.ContainsFunc(all, func(v inmemory.VM) bool { return v.Provider == id && v.State == fleet.MachineRunning })
			}
		},
		Twin: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster, _ fleet.ProviderID) *fleet.Cluster {
			cloud := cloudOf(t, p)
			cloud.mu.Lock()
			defer cloud.mu.Unlock()
			cloud.full = true
			return c
		},
		TakeOver: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			c, taken := cloudOf(t, p), false
			c.mu.Lock()
			defer c.mu.Unlock()
			c.listed = func() {
				taken = true
				if err := c.Retag(t.Context(), id, func(tags map[string]string) { tags[fleet.TagCluster] = "prod/theirs" }); err != nil {
					t.Error(err)
				}
			}
			return func() (bool, bool) {
				all, err := c.Cloud.VMs(t.Context(), map[string]string{fleet.TagCluster: "prod/theirs"})
				return taken, err == nil && slices.ContainsFunc(all, func(v inmemory.VM) bool { return v.Provider == id && v.State != fleet.MachineDeleting })
			}
		},
		FailBoot: func(t testing.TB, p providers.Infrastructure) {
			if err := cloudOf(t, p).SetFaults(t.Context(), inmemory.Faults{Lag: lag, FailBoot: []string{"*"}}); err != nil {
				t.Fatal(err)
			}
		},
		FailCreate: func(t testing.TB, p providers.Infrastructure) func() {
			set := func(names ...string) {
				if err := cloudOf(t, p).SetFaults(t.Context(), inmemory.Faults{Lag: lag, FailCreate: names}); err != nil {
					t.Fatal(err)
				}
			}
			set("*")
			return func() { set() }
		},
		SlowRelease: func(t testing.TB, p providers.Infrastructure) {
			if err := cloudOf(t, p).SetFaults(t.Context(), inmemory.Faults{Lag: lag, SlowRelease: time.Hour}); err != nil {
				t.Fatal(err)
			}
		},
		Elsewhere: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) *fleet.Cluster {
			pool := c.Workers[0]
			pool.Annotations = map[string]string{annexed: ""}
			return change(c, func(c *fleet.Cluster) { c.Workers = []fleet.Pool{pool} })
		},
		FailureDomain: "a",
	}
}

// keptIn returns c with a pool that the cloud keeps, of a control plane that is at e.
func keptIn(c *fleet.Cluster, e fleet.Endpoint) *fleet.Cluster {
	out := *c
	out.Endpoint, out.ControlPlane, out.Workers = e, fleet.Pool{}, nil
	out.Hosted = &fleet.HostedControlPlane{Endpoint: e}
	out.KeptPools = []fleet.KeptPool{{Name: "mp-0", Count: 2, Version: "v1.34.1", Infrastructure: fleet.Object{
		GVK: schema.GroupVersionKind{Kind: "DevMachinePool"}, Name: "mp-0", Spec: []byte(`{"backend":{"inMemory":{"instanceType":"small"}}}`),
	}}}
	return &out
}
