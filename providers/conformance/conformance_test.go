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
	changes []string
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
	return c.Cloud.VMs(ctx, tags)
}

func (c *counting) CreateNetwork(ctx context.Context, s inmemory.NetworkSpec) (n inmemory.Network, err error) {
	err = c.change("create network "+s.Name, func() error { n, err = c.Cloud.CreateNetwork(ctx, s); return err })
	return n, err
}

func (c *counting) DeleteNetwork(ctx context.Context, id string) error {
	return c.change("delete network "+id, func() error { return c.Cloud.DeleteNetwork(ctx, id) })
}

func (c *counting) CreateVM(ctx context.Context, s inmemory.VMSpec) (v inmemory.VM, err error) {
	err = c.change("create vm "+s.Name, func() error { v, err = c.Cloud.CreateVM(ctx, s); return err })
	return v, err
}

func (c *counting) DeleteVM(ctx context.Context, id string) error {
	return c.change("delete vm "+id, func() error { return c.Cloud.DeleteVM(ctx, id) })
}

func (c *counting) SetTags(ctx context.Context, id string, tags map[string]string) error {
	return c.change("set tags of "+id, func() error { return c.Cloud.SetTags(ctx, id, tags) })
}

// hooks reach the cloud of a provider.
func hooks() conformance.Hooks {
	return conformance.Hooks{
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

func options(mutate func(providers.Infrastructure) providers.Infrastructure) conformance.Options {
	return conformance.Options{
		Hooks: hooks(),
		New: func(t testing.TB) providers.Infrastructure {
			c := inmemory.NewCloud(inmemory.CloudOptions{
				Faults: inmemory.Faults{Lag: lag}, Listen: inmemory.NewPipeNetwork().Listen,
			})
			t.Cleanup(c.Close)
			annexed := inmemory.NewCloud(inmemory.CloudOptions{Faults: inmemory.Faults{Lag: lag}, Listen: inmemory.NewPipeNetwork().Listen})
			t.Cleanup(annexed.Close)
			p := mutate(inmemory.NewProvider(&counting{Cloud: c}, lag))
			m, _ := p.(mutant)
			return annex{p, inmemory.NewProvider(annexed, lag), m.annex}
		},
		Cluster: func() fleet.Cluster {
			return fleet.Cluster{
				ControlPlane: fleet.Pool{
					Name: "cp", Role: fleet.RoleControlPlane, Template: "1-cp", Version: "v1.34.1",
					Infrastructure: fleet.Object{Spec: []byte(`{"backend":{"inMemory":{}}}`)},
				},
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

// limit is how many bytes of user data the machines of these tests take.
const limit = 10000

// TestInMemory runs the suite against a provider that keeps the contract.
func TestInMemory(t *testing.T) {
	o := options(func(p providers.Infrastructure) providers.Infrastructure {
		return mutant{Infrastructure: p, create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
			if _, err := r.UserData.Fit(limit); err != nil {
				return err
			}
			return p.CreateMachine(ctx, op, r)
		}}
	})
	o.UserDataLimit = limit
	conformance.Run(t, o)
}

// TestDeviations: what is left out is a check, and says why.
func TestDeviations(t *testing.T) {
	for provider, checks := range conformance.Deviations() {
		for name, why := range checks {
			known := slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return c.Name == name })
			if !known || len(why) < 20 {
				t.Errorf("%s: %s is no check, or it does not say why: %q", provider, name, why)
			}
		}
	}
}

// TestEveryCheckHasAMutant: a check that nothing fails proves nothing.
func TestEveryCheckHasAMutant(t *testing.T) {
	caught := make(map[string]bool)
	for _, m := range mutants() {
		caught[m.caught] = true
	}
	for _, c := range conformance.Checks() {
		if !caught[c.Name] {
			t.Errorf("no mutant is there for %s", c.Name)
		}
	}
}

// TestMissingHooks: a check that cannot be made fails, where nothing says why.
func TestMissingHooks(t *testing.T) {
	for _, c := range conformance.Checks() {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{TB: t}
			o := options(func(p providers.Infrastructure) providers.Infrastructure { return plain{p} })
			o.Hooks, o.Foreign, o.FailListing = conformance.Hooks{}, nil, nil
			r.run(c, o)
			for _, f := range r.failures {
				if !strings.Contains(f, "deviations.go") {
					t.Errorf("%s: %s", c.Name, f)
				}
			}
			needs := slices.Contains([]string{
				"ObservePartOfIt", "ForeignMachineIsUntouched", "ClustersAreListed", "ChangesAreTold", "LookingChangesNothing",
				"FailureDomainIsKept", "LostAnswerOfCreate", "LostAnswerOfDelete", "LostAnswerOfInfrastructure", "NothingIsLeft",
				"DeletionIsInterrupted", "LostTagsAreNotDeath", "RememberedPlace", "DamagedTagsAreShown", "FailedMachine", "FailedRequest", "ReleasedMachine", "UserDataTooLarge", "OrphansAreSwept", "OrphansLeaveNothing",
			}, c.Name)
			if needs != r.Failed() {
				t.Errorf("%s without hooks: %q", c.Name, r.failures)
			}
		})
	}
}

// plain is a provider without abilities.
type plain struct{ providers.Infrastructure }

// tokens creates as a cloud does that answers a request which it had before with what
// came of that, whatever became of it since.
func tokens() func(providers.Infrastructure, context.Context, fleet.OperationID, providers.MachineRequest) error {
	had := map[fleet.OperationID]bool{}
	return func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
		if had[op] {
			return nil
		}
		err := p.CreateMachine(ctx, op, r)
		had[op] = err == nil
		return err
	}
}

// A mutant is a provider with one fault. Methods that are nil are the real ones.
type mutant struct {
	providers.Infrastructure
	observe func(providers.Infrastructure, context.Context, *fleet.Cluster) (fleet.Infrastructure, error)
	ensure  func(providers.Infrastructure, context.Context, *fleet.Cluster) error
	destroy func(providers.Infrastructure, context.Context, *fleet.Cluster) error
	create  func(providers.Infrastructure, context.Context, fleet.OperationID, providers.MachineRequest) error
	remove  func(providers.Infrastructure, context.Context, *fleet.Cluster, fleet.MachineName, fleet.ProviderID) error

	annex        annexFault
	settle       func() time.Duration
	removeOrphan func(providers.Infrastructure, context.Context, fleet.Orphan) error
	orphans      func(providers.Infrastructure, context.Context, []*fleet.Cluster) ([]fleet.Orphan, error)
	watch        func(context.Context) error
	clusters     func(providers.Infrastructure) []fleet.Key
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

func (m mutant) Settle() time.Duration {
	if m.settle != nil {
		return m.settle()
	}
	return m.Infrastructure.Settle()
}

func (m mutant) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	if m.orphans != nil {
		return m.orphans(m.Infrastructure, ctx, clusters)
	}
	return m.Infrastructure.(providers.Sweeper).Orphans(ctx, id, clusters)
}

func (m mutant) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	if m.removeOrphan != nil {
		return m.removeOrphan(m.Infrastructure, ctx, o)
	}
	return m.Infrastructure.(providers.Sweeper).RemoveOrphan(ctx, id, clusters, o)
}

func (m mutant) Abilities() providers.Abilities {
	out := providers.AbilitiesOf(m.Infrastructure)
	out.Watcher, out.Lister, out.Sweeper = m, m, m
	return out
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
		"takes operation ids for tokens": {"CreateMachineOfAFormerName", mutant{create: tokens()}},
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
		"removes infrastructure once alone": {"DeleteInfrastructureTwice", mutant{
			destroy: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				got, err := p.Observe(ctx, c)
				if err == nil && !got.Exists {
					return fleet.Errorf(fleet.NotFound, "delete", "404")
				}
				return p.DeleteInfrastructure(ctx, "", c)
			},
		}},
		"finds something in nothing": {"ObserveEmpty", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				got.Exists = true
				return got, err
			},
		}},
		"deletes what is one too many of all names": {"DeleteMachineTwice", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				got, err := p.Observe(ctx, c)
				for _, m := range got.Machines {
					err = errors.Join(err, p.DeleteMachine(ctx, "", c, m.Name, ""))
				}
				return err
			},
		}},
		"mends as it looks": {"LookingChangesNothing", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				if err == nil && len(got.Machines) > 1 {
					_ = p.DeleteMachine(ctx, "", c, got.Machines[0].Name, "")
				}
				return got, err
			},
		}},
		"sweeps as it looks for orphans": {"LookingChangesNothing", mutant{
			orphans: func(p providers.Infrastructure, ctx context.Context, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
				s := p.(providers.Sweeper)
				found, err := s.Orphans(ctx, "conformance", clusters)
				for _, o := range found {
					_ = s.RemoveOrphan(ctx, "conformance", clusters, o)
				}
				return found, err
			},
		}},
		"takes all machines for workers": {"ControlPlaneMachines", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				for i := range got.Machines {
					got.Machines[i].Role = fleet.RoleWorker
				}
				return got, err
			},
		}},
		"is found where its oldest machine is": {"EndpointStays", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				if len(got.Machines) > 0 {
					got.Endpoint.Host = string(got.Machines[0].Name)
				}
				return got, err
			},
		}},
		"puts machines anywhere": {"FailureDomainIsKept", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				r.FailureDomain = ""
				return p.CreateMachine(ctx, op, r)
			},
		}},
		"takes a lost answer for a no": {"LostAnswerOfCreate", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				err := p.CreateMachine(ctx, op, r)
				if fleet.KindOf(err) == fleet.Unanswered {
					return fleet.Errorf(fleet.Unavailable, "create", "reset")
				}
				return err
			},
		}},
		"makes another one after a lost answer": {"LostAnswerOfCreate", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				err := p.CreateMachine(ctx, op, r)
				if fleet.KindOf(err) == fleet.Unanswered {
					_ = p.CreateMachine(ctx, op, r)
				}
				return err
			},
		}},
		"takes a lost answer for a yes of another kind": {"LostAnswerOfDelete", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				err := p.DeleteMachine(ctx, "", c, n, id)
				if fleet.KindOf(err) == fleet.Unanswered {
					return fleet.Errorf(fleet.Conflict, "delete", "reset")
				}
				return err
			},
		}},
		"makes another load balancer after a lost answer": {"LostAnswerOfInfrastructure", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				got, err := p.Observe(ctx, c)
				if err != nil || got.Exists {
					return err // and mends nothing
				}
				if err = p.EnsureInfrastructure(ctx, "", c); fleet.KindOf(err) == fleet.Unanswered {
					_ = p.EnsureInfrastructure(ctx, "", c)
				}
				return err
			},
		}},
		"promises too much": {"SettleIsKept", mutant{settle: func() time.Duration { return lag / 2 }}},
		"leaves what a machine had": {"NothingIsLeft", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				_, err := api(p).CreateNetwork(ctx, inmemory.NetworkSpec{Name: "port of " + string(r.Name)})
				return errors.Join(err, p.CreateMachine(ctx, op, r))
			},
		}},
		"forgets the rest when it is interrupted": {"DeletionIsInterrupted", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				_, err := api(p).CreateNetwork(ctx, inmemory.NetworkSpec{Name: "port of " + string(r.Name)})
				return errors.Join(err, p.CreateMachine(ctx, op, r))
			},
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				got, err := p.Observe(ctx, c)
				if err != nil || !slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == n }) {
					return err
				}
				if err := p.DeleteMachine(ctx, "", c, n, id); err != nil {
					return err
				}
				networks, err := api(p).Networks(ctx, nil)
				for _, x := range networks {
					if x.Name == "port of "+string(n) {
						err = errors.Join(err, api(p).DeleteNetwork(ctx, x.ID))
					}
				}
				return err
			},
		}},
		"takes what it does not see for dead": {"LostTagsAreNotDeath", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				vms, err := api(p).VMs(ctx, nil)
				for _, v := range vms {
					if v.Tags[fleet.TagMachine] == "" {
						_ = api(p).DeleteVM(ctx, v.ID)
					}
				}
				return errors.Join(err, p.EnsureInfrastructure(ctx, "", c))
			},
		}},
		"hides machines without a name": {"DamagedTagsAreShown", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				got.Machines = slices.DeleteFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == "" })
				return got, err
			},
		}},
		"believes damaged tags": {"DamagedTagsAreShown", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				for i := range got.Machines {
					got.Machines[i].Damaged = ""
				}
				return got, err
			},
		}},
		"tidies up what has no role": {"DamagedTagsAreShown", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				vms, err := api(p).VMs(ctx, c.Tags())
				for _, v := range vms {
					if v.Tags[fleet.TagRole] == "" {
						_ = api(p).DeleteVM(ctx, v.ID)
					}
				}
				return errors.Join(err, p.EnsureInfrastructure(ctx, "", c))
			},
		}},
		"does not say why": {"FailedMachine", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				for i := range got.Machines {
					got.Machines[i].Message = ""
				}
				return got, err
			},
		}},
		"waits for what failed": {"FailedMachine", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				for i := range got.Machines {
					if got.Machines[i].State == fleet.MachineFailed {
						got.Machines[i].State = fleet.MachinePending
					}
				}
				return got, err
			},
		}},
		"forgets requests that failed": {"FailedRequest", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				got.Failures = nil
				return got, err
			},
		}},
		"takes what is released for its own": {"ReleasedMachine", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				for i := range got.Machines {
					if got.Machines[i].State == fleet.MachineReleased {
						got.Machines[i].State = fleet.MachineRunning
					}
				}
				return got, err
			},
		}},
		"gives no name twice while a host is busy": {"ReleasedMachine", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				got, err := p.Observe(ctx, r.Cluster)
				if err == nil && slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == r.Name }) {
					return fleet.Errorf(fleet.Conflict, "create", "it is there")
				}
				return p.CreateMachine(ctx, op, r)
			},
		}},
		"takes every format for its own": {"UserDataOfAnotherFormat", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				r.UserData.Format = "cloud-config"
				return p.CreateMachine(ctx, op, r)
			},
		}},
		"cuts user data off": {"UserDataTooLarge", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				text := r.UserData.Content.Reveal()
				r.UserData.Content = fleet.NewSecret(text[:min(len(text), limit)])
				return p.CreateMachine(ctx, op, r)
			},
		}},
		"sweeps machines alone": {"OrphansLeaveNothing", mutant{
			orphans: func(p providers.Infrastructure, ctx context.Context, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
				found, err := p.(providers.Sweeper).Orphans(ctx, "conformance", clusters)
				machines := slices.DeleteFunc(found, func(o fleet.Orphan) bool { return o.Kind != "machine" })
				return machines, err
			},
		}},
		"finds no orphans": {"OrphansAreSwept", mutant{
			orphans: func(providers.Infrastructure, context.Context, []*fleet.Cluster) ([]fleet.Orphan, error) {
				return nil, nil
			},
		}},
		"sweeps what came back": {"OrphansAreSwept", mutant{
			removeOrphan: func(p providers.Infrastructure, ctx context.Context, o fleet.Orphan) error {
				return p.(providers.Sweeper).RemoveOrphan(ctx, "conformance", nil, o)
			},
		}},
		"takes other clusters for orphans": {"OrphansAreSwept", mutant{
			orphans: func(p providers.Infrastructure, ctx context.Context, _ []*fleet.Cluster) ([]fleet.Orphan, error) {
				return p.(providers.Sweeper).Orphans(ctx, "conformance", nil)
			},
		}},
		"looks where Git leads alone":               {"RememberedPlace", mutant{annex: forgets}},
		"does not tell how to look again":           {"RememberedPlace", mutant{annex: keepsAccess}},
		"takes a remembered place for Git's":        {"RememberedPlace", mutant{annex: names}},
		"deletes where Git leads alone":             {"RememberedPlace", mutant{annex: deletesAtHome}},
		"deletes infrastructure below other places": {"RememberedPlace", mutant{annex: dismantlesAtHome}},
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
				o := options(func(p providers.Infrastructure) providers.Infrastructure {
					broken := m.mutant
					broken.Infrastructure = p
					return broken
				})
				o.UserDataLimit = limit
				r.run(check, o)
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
