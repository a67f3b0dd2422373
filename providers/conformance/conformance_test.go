package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/inmemory"
)

const lag = 5 * time.Second

// cloudOf digs the cloud out of a provider, mutants included.
func cloudOf(t testing.TB, p providers.Infrastructure) *counting {
	t.Helper()
	in, ok := providers.As[*inmemory.Provider](p)
	if !ok {
		t.Fatal("not a provider in memory")
	}
	return in.API().(*counting)
}

// counting is a cloud of which the nth listing fails.
type counting struct {
	*inmemory.Cloud
	mu   sync.Mutex
	fail int
}

func (c *counting) list() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail--; c.fail == 0 {
		return fleet.Errorf(fleet.Unavailable, "list", "503")
	}
	return nil
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
	return c.Cloud.VMs(ctx, tags)
}

func options(mutate func(providers.Infrastructure) providers.Infrastructure) conformance.Options {
	return conformance.Options{
		New: func(t testing.TB) providers.Infrastructure {
			c := inmemory.NewCloud(inmemory.CloudOptions{
				Faults: inmemory.Faults{Lag: lag}, Listen: inmemory.NewPipeNetwork().Listen,
			})
			t.Cleanup(c.Close)
			return mutate(inmemory.NewProvider(&counting{Cloud: c}, lag))
		},
		Cluster: func() fleet.Cluster {
			return fleet.Cluster{
				ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Template: "1-cp", Version: "v1.34.1"},
				Workers: []fleet.Pool{{
					Name: "md-0", Role: fleet.RoleWorker, Template: "1-md", Version: "v1.34.1",
					Infrastructure: fleet.Object{Spec: []byte(`{"backend":{"inMemory":{}}}`)},
				}},
			}
		},
		Foreign: func(t testing.TB, p providers.Infrastructure, name string) func() bool {
			c := cloudOf(t, p).Cloud
			n, err := c.CreateNetwork(t.Context(), inmemory.NetworkSpec{Name: "foreign"})
			if err != nil {
				t.Fatal(err)
			}
			v, err := c.CreateVM(t.Context(), inmemory.VMSpec{Name: name, Network: n.ID})
			if err != nil {
				t.Fatal(err)
			}
			return func() bool {
				all, err := c.VMs(t.Context(), nil)
				return err == nil && slices.ContainsFunc(all, func(x inmemory.VM) bool { return x.ID == v.ID })
			}
		},
		FailListing: func(t testing.TB, p providers.Infrastructure, nth int) {
			c := cloudOf(t, p)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.fail = nth
		},
		Around: synctest.Test,
	}
}

func same(p providers.Infrastructure) providers.Infrastructure { return p }

// TestInMemory runs the suite against a provider that keeps the contract.
func TestInMemory(t *testing.T) { conformance.Run(t, options(same)) }

// A mutant is a provider with one fault. Methods that are nil are the real ones.
type mutant struct {
	providers.Infrastructure
	observe func(providers.Infrastructure, context.Context, *fleet.Cluster) (fleet.Infrastructure, error)
	ensure  func(providers.Infrastructure, context.Context, *fleet.Cluster) error
	destroy func(providers.Infrastructure, context.Context, *fleet.Cluster) error
	create  func(providers.Infrastructure, context.Context, fleet.OperationID, providers.MachineRequest) error
	remove  func(providers.Infrastructure, context.Context, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error

	watch    func(context.Context) error
	clusters func(providers.Infrastructure) []fleet.Key
}

func (m mutant) Watch(ctx context.Context, changed func(fleet.Key)) error {
	if m.watch != nil {
		return m.watch(ctx)
	}
	return m.Infrastructure.(providers.Watcher).Watch(ctx, changed)
}

func (m mutant) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	if m.clusters != nil {
		return m.clusters(m.Infrastructure), nil
	}
	return m.Infrastructure.(providers.Lister).Clusters(ctx, id)
}

func (m mutant) Unwrap() providers.Infrastructure { return m.Infrastructure }

func (m mutant) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	if m.observe != nil {
		return m.observe(m.Infrastructure, ctx, c)
	}
	return m.Infrastructure.Observe(ctx, c)
}

func (m mutant) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if m.ensure != nil {
		return m.ensure(m.Infrastructure, ctx, c)
	}
	return m.Infrastructure.EnsureInfrastructure(ctx, op, c)
}

func (m mutant) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	if m.destroy != nil {
		return m.destroy(m.Infrastructure, ctx, c)
	}
	return m.Infrastructure.DeleteInfrastructure(ctx, op, c)
}

func (m mutant) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	if m.create != nil {
		return m.create(m.Infrastructure, ctx, op, r)
	}
	return m.Infrastructure.CreateMachine(ctx, op, r)
}

func (m mutant) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	if m.remove != nil {
		return m.remove(m.Infrastructure, ctx, c, name, id)
	}
	return m.Infrastructure.DeleteMachine(ctx, op, c, name, id)
}

// change returns c with what f changes.
func change(c *fleet.Cluster, f func(*fleet.Cluster)) *fleet.Cluster {
	d := *c
	f(&d)
	return &d
}

// mutants are providers that each break one promise, with the test that is
// there to notice.
func mutants() map[string]struct {
	caught string
	mutant mutant
} {
	type entry = struct {
		caught string
		mutant mutant
	}
	api := func(p providers.Infrastructure) *inmemory.Cloud {
		return p.(*inmemory.Provider).API().(*counting).Cloud
	}
	return map[string]entry{
		"ignores the fleet": {"OtherFleetIsUntouched", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				return p.Observe(ctx, change(c, func(c *fleet.Cluster) { c.Fleet = "conformance" }))
			},
		}},
		"deletes in every fleet": {"OtherFleetIsUntouched", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				vms, err := api(p).VMs(ctx, map[string]string{fleet.TagCluster: c.Key.String(), fleet.TagMachine: string(n)})
				for _, v := range vms {
					_ = api(p).DeleteVM(ctx, v.ID)
				}
				return err
			},
		}},
		"ignores the namespace": {"OtherClusterIsUntouched", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				for _, ns := range []string{"prod", "test"} {
					if err := p.DeleteMachine(ctx, "", change(c, func(c *fleet.Cluster) { c.Key.Namespace = ns }), n, id); err != nil {
						return err
					}
				}
				return nil
			},
		}},
		"deletes by name": {"ForeignMachineIsUntouched", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				vms, err := api(p).VMs(ctx, nil)
				for _, v := range vms {
					if v.Name == string(n) {
						_ = api(p).DeleteVM(ctx, v.ID)
					}
				}
				return err
			},
		}},
		"deletes by prefix": {"DeleteMachineThatIsNotThere", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				vms, err := api(p).VMs(ctx, c.Tags())
				for _, v := range vms {
					if strings.HasPrefix(v.Name, string(n)) {
						_ = api(p).DeleteVM(ctx, v.ID)
					}
				}
				return err
			},
		}},
		"ignores the id": {"DeleteMachineByID", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, _ fleet.ProviderID) error {
				return p.DeleteMachine(ctx, "", c, n, "")
			},
		}},
		"fails to delete what is gone": {"DeleteMachineThatIsNotThere", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				got, err := p.Observe(ctx, c)
				if err == nil && !slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == n }) {
					return fleet.Errorf(fleet.NotFound, "delete", "404")
				}
				return p.DeleteMachine(ctx, "", c, n, id)
			},
		}},
		"shows a part": {"ObservePartOfIt", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				if err != nil && ctx.Err() == nil {
					return got, nil
				}
				return got, err
			},
		}},
		"shows nothing when interrupted": {"ObserveWithoutContext", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				if errors.Is(err, context.Canceled) {
					return got, nil
				}
				return got, err
			},
		}},
		"forgets the operation": {"CreateMachineKeepsIdentity", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, _ fleet.OperationID, r providers.MachineRequest) error {
				return p.CreateMachine(ctx, "", r)
			},
		}},
		"makes a second machine": {"CreateMachineTwiceAdopts", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				networks, err := api(p).Networks(ctx, r.Cluster.Tags())
				if err != nil {
					return err
				}
				_, err = api(p).CreateVM(ctx, inmemory.VMSpec{
					Name: string(r.Name), Network: networks[0].ID, Tags: r.Tags(op),
				})
				return err
			},
		}},
		"adopts any template": {"CreateMachineOfAnotherTemplate", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				if err := p.CreateMachine(ctx, op, r); fleet.KindOf(err) != fleet.Conflict {
					return err
				}
				return nil
			},
		}},
		"deletes infrastructure under machines": {"DeleteInfrastructureWithMachines", mutant{
			destroy: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				vms, _ := api(p).VMs(ctx, c.Tags())
				for _, v := range vms {
					_ = api(p).DeleteVM(ctx, v.ID)
				}
				return p.DeleteInfrastructure(ctx, "", change(c, func(c *fleet.Cluster) {}))
			},
		}},
		"makes infrastructure twice": {"EnsureInfrastructureTwice", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				_, err := api(p).CreateNetwork(ctx, inmemory.NetworkSpec{Tags: c.Tags()})
				return err
			},
			destroy: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				networks, err := api(p).Networks(ctx, c.Tags())
				if len(networks) > 0 {
					_ = api(p).DeleteNetwork(ctx, networks[0].ID)
				}
				return err
			},
		}},
		"never gets ready": {"InfrastructureGetsReady", mutant{
			ensure: func(providers.Infrastructure, context.Context, *fleet.Cluster) error { return nil },
		}},
		"tells nothing": {"ChangesAreTold", mutant{watch: func(ctx context.Context) error { <-ctx.Done(); return nil }}},
		"lists clusters of every fleet": {"ClustersAreListed", mutant{clusters: func(p providers.Infrastructure) []fleet.Key {
			return []fleet.Key{{Namespace: "prod", Name: "eu-1"}, {Namespace: "test", Name: "eu-1"}, {Namespace: "x", Name: "y"}}
		}}},
		"sorts wrongly": {"CreateMachinesAtOnce", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				slices.Reverse(got.Machines)
				return got, err
			},
		}},
	}
}

// TestMutants proves that the suite can fail: each broken provider is noticed
// by the test that is there for it.
func TestMutants(t *testing.T) {
	checks := make(map[string]conformance.Check)
	for _, c := range conformance.Checks() {
		checks[c.Name] = c
	}
	for name, m := range mutants() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			check, ok := checks[m.caught]
			if !ok {
				t.Fatalf("there is no test %s", m.caught)
			}
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{TB: t}
				r.run(check, options(func(p providers.Infrastructure) providers.Infrastructure {
					broken := m.mutant
					broken.Infrastructure = p
					return broken
				}))
				if len(r.failures) == 0 {
					t.Errorf("%s passes a provider that %s", m.caught, name)
				}
			})
		})
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) run(c conformance.Check, o conformance.Options) {
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(r, o) })
	wg.Wait()
}

func (r *recorder) Helper()      {}
func (r *recorder) Log(...any)   {}
func (r *recorder) Failed() bool { return len(r.failures) > 0 }

func (r *recorder) Error(args ...any)                 { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
