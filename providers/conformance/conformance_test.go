package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/inmemory"
)

const lag = 5 * time.Second

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
				if !strings.Contains(f, "Deviations") {
					t.Errorf("%s: %s", c.Name, f)
				}
			}
			needs := slices.Contains([]string{
				"ObservePartOfIt", "ForeignMachineIsUntouched", "ClustersAreListed", "ChangesAreTold", "LookingChangesNothing", "PlaceIsShared",
				"MistakesChangeNothing", "RefusalsAreTold", "DepartedPoolIsKept", "EndpointServes", "KnownEndpointServes", "FailureDomainIsKept", "LostAnswerOfCreate", "LostAnswerOfDelete", "LostAnswerOfInfrastructure", "NothingIsLeft",
				"DeletionIsInterrupted", "LostTagsAreNotDeath", "RememberedPlace", "SecondLookPrecedesAChange", "DamagedTagsAreShown", "LostRecordsProveNothing", "OneComputerIsOneHost", "FailedMachine", "FailedRequest", "ReleasedMachine", "RebootedMachine", "UserDataTooLarge", "OrphansAreSwept", "OrphansLeaveNothing", "AddressIsGivenOnce", "EndpointIsNoMachines",
			}, c.Name)
			if needs != r.Failed() {
				t.Errorf("%s without hooks: %q", c.Name, r.failures)
			}
		})
	}
}

// otherName is what Git calls the cloud in clusters that name it in another way.
const otherName = "the same cloud"

// mistaken is what Git calls the cloud where it means one that is not there.
const mistaken = "cluod"

// renamed is the endpoint in Git where that is another one than machines know.
var renamed = fleet.Endpoint{Host: "api.example.com", Port: 6443}

// plain is a provider without abilities.
type plain struct{ providers.Infrastructure }

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
		"shows the machines of a pool": {"PoolIsKept", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				out, err := p.Observe(ctx, c)
				for _, pool := range out.Pools {
					for _, id := range pool.Machines {
						out.Machines = append(out.Machines, fleet.Machine{Name: fleet.MachineName(id), ProviderID: id, Pool: pool.Name})
					}
				}
				return out, err
			},
		}},
		"changes a pool that is as it is to be": {"PoolIsKept", mutant{
			ensurePool: func(k providers.PoolKeeper, ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
				if err := k.DeletePool(ctx, op, c, "another"); err != nil {
					return err
				}
				p.Taints = []clusterv1.MachineTaint{{Key: string(op), Effect: "NoSchedule"}}
				return k.EnsurePool(ctx, op, c, p)
			},
		}},
		"writes the number of a range": {"PoolChanges", mutant{
			ensurePool: func(k providers.PoolKeeper, ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
				if p.Range != nil {
					p.Range = &fleet.PoolRange{Min: p.Count, Max: p.Range.Max}
				}
				return k.EnsurePool(ctx, op, c, p)
			},
		}},
		"leaves labels": {"PoolChanges", mutant{
			ensurePool: func(k providers.PoolKeeper, ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
				p.NodeLabels = nil
				return k.EnsurePool(ctx, op, c, p)
			},
		}},
		"deletes the pool of others": {"PoolGoes", mutant{
			deletePool: func(k providers.PoolKeeper, ctx context.Context, c *fleet.Cluster, name fleet.PoolName) error {
				ours := *c
				ours.Fleet = "conformance"
				return k.DeletePool(ctx, "op", &ours, name)
			},
		}},
		"keeps the pool": {"PoolGoes", mutant{
			deletePool: func(providers.PoolKeeper, context.Context, *fleet.Cluster, fleet.PoolName) error { return nil },
		}},
		"takes no answer for a no": {"LostAnswerOfPool", mutant{
			ensurePool: func(k providers.PoolKeeper, ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
				err := k.EnsurePool(ctx, op, c, p)
				if fleet.KindOf(err) == fleet.Unanswered {
					return fleet.Errorf(fleet.Invalid, "ensure", "refused")
				}
				return err
			},
		}},
		"takes each cluster for a place": {"PlaceIsShared", mutant{
			place: func(c *fleet.Cluster) (string, error) { return c.Key.String(), nil },
		}},
		"knows no place": {"PlaceIsShared", mutant{
			place: func(*fleet.Cluster) (string, error) { return "", nil },
		}},
		"does not switch": {"RebootedMachine", mutant{
			power: func(providers.Rebooter, context.Context, *fleet.Cluster, fleet.MachineName, fleet.ProviderID, fleet.HostPower) error {
				return nil
			},
		}},
		"switches whatever has the name": {"RebootedMachine", mutant{
			power: func(r providers.Rebooter, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, _ fleet.ProviderID, to fleet.HostPower) error {
				seen, err := r.(*inmemory.Provider).Observe(ctx, c)
				for _, m := range seen.Machines {
					if m.Name == n && err == nil {
						err = r.SwitchMachine(ctx, "op", c, n, m.ProviderID, to)
					}
				}
				return err
			},
		}},
		"switches on what is to be off": {"RebootedMachine", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				for _, r := range c.Rebooting {
					if err := p.(*inmemory.Provider).SwitchMachine(ctx, "op", c, r.Machine, r.ProviderID, fleet.HostOn); err != nil {
						return err
					}
				}
				return p.EnsureInfrastructure(ctx, "op", c)
			},
		}},
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
		"shows a machine twice": {"IDComesOnce", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				got.Machines = append(got.Machines, got.Machines...)
				return got, err
			},
		}},
		"takes another name of its place for another place": {"IDComesOnce", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				if c.Infrastructure.Name == otherName {
					got.Machines = append(got.Machines, got.Machines...)
				}
				return got, err
			},
		}},
		"deletes machines of no pool as it ensures": {"EnsureInfrastructureKeepsMachines", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				got, err := p.Observe(ctx, c)
				for _, m := range got.Machines {
					if _, ok := c.Pool(m.Pool); !ok {
						err = errors.Join(err, p.DeleteMachine(ctx, "", c, m.Name, m.ProviderID))
					}
				}
				return errors.Join(err, p.EnsureInfrastructure(ctx, "", c))
			},
		}},
		"replaces what failed as it ensures": {"EnsureInfrastructureKeepsMachines", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				got, err := p.Observe(ctx, c)
				for _, m := range got.Machines {
					if m.State == fleet.MachineFailed {
						err = errors.Join(err, p.DeleteMachine(ctx, "", c, m.Name, m.ProviderID))
					}
				}
				return errors.Join(err, p.EnsureInfrastructure(ctx, "", c))
			},
		}},
		"takes away what a mistaken name leads away from": {"MistakesChangeNothing", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				if c.Infrastructure.Name == mistaken {
					return p.DeleteMachine(ctx, "", c, "m-0", "")
				}
				return p.EnsureInfrastructure(ctx, "", c)
			},
		}},
		"looks nowhere for a mistaken name": {"MistakesChangeNothing", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				if c.Infrastructure.Name == mistaken {
					return fleet.Infrastructure{}, nil
				}
				return p.Observe(ctx, c)
			},
		}},
		"lets nothing go while a name is mistaken": {"MistakesChangeNothing", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				if c.Infrastructure.Name == mistaken {
					return fleet.Errorf(fleet.Invalid, "delete machine", "there is no cloud %s", mistaken)
				}
				return p.DeleteMachine(ctx, "", c, n, id)
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
		"deletes what it listed": {"SecondLookPrecedesAChange", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, n fleet.MachineName, id fleet.ProviderID) error {
				vms, err := p.(*inmemory.Provider).API().VMs(ctx, c.Tags())
				for _, v := range vms {
					if v.Provider == id {
						err = errors.Join(err, api(p).DeleteVM(ctx, v.ID))
					}
				}
				return err
			},
		}},
		"removes an orphan that it listed": {"SecondLookPrecedesAChange", mutant{
			removeOrphan: func(p providers.Infrastructure, ctx context.Context, o fleet.Orphan) error {
				vms, err := p.(*inmemory.Provider).API().VMs(ctx, map[string]string{fleet.TagCluster: o.Cluster.String()})
				for _, v := range vms {
					if v.ID == o.ID {
						err = errors.Join(err, api(p).DeleteVM(ctx, v.ID))
					}
				}
				return err
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
		"remembers what is to go by name": {"NextMachineOfAName", byName()},
		"takes operation ids for tokens":  {"CreateMachineOfAFormerName", mutant{create: tokens()}},
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
				s := p.(providers.OrphanRemover)
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
		"removes the whole control plane": {"EndpointServes", mutant{
			remove: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster, _ fleet.MachineName, _ fleet.ProviderID) error {
				seen, err := p.Observe(ctx, c)
				for _, m := range seen.Machines {
					err = errors.Join(err, p.DeleteMachine(ctx, "op", c, m.Name, m.ProviderID))
				}
				return err
			},
		}},
		"leads to no server where Git names another endpoint": {"KnownEndpointServes", forgetsServers()},
		"does not say that the endpoint stays": {"KnownEndpointServes", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				got.Drift = nil
				return got, err
			},
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				if err := p.EnsureInfrastructure(ctx, "", c); fleet.KindOf(err) != fleet.Invalid {
					return err
				}
				return nil
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
				found, err := p.(providers.OrphanRemover).Orphans(ctx, "conformance", clusters)
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
				return p.(providers.OrphanRemover).RemoveOrphan(ctx, "conformance", nil, o)
			},
		}},
		"takes other clusters for orphans": {"OrphansAreSwept", mutant{
			orphans: func(p providers.Infrastructure, ctx context.Context, _ []*fleet.Cluster) ([]fleet.Orphan, error) {
				return p.(providers.OrphanRemover).Orphans(ctx, "conformance", nil)
			},
		}},
		"gives an address of another pool": {"AddressIsGivenOnce", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				if err := p.CreateMachine(ctx, op, r); fleet.KindOf(err) != fleet.Exhausted || len(r.Cluster.Neighbors.Endpoints) > 0 {
					return err
				}
				return nil
			},
		}},
		"gives the endpoint of another cluster": {"AddressIsGivenOnce", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				r.Cluster = r.Cluster.WithNeighbors(fleet.Neighbors{})
				return p.CreateMachine(ctx, op, r)
			},
		}},
		"takes what is out of reach for gone": {"LostRecordsProveNothing", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				if fleet.KindOf(err) == fleet.Unavailable {
					return fleet.Infrastructure{Exists: true, Ready: true}, nil
				}
				return got, err
			},
		}},
		"tidies up what is out of reach": {"LostRecordsProveNothing", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				err := p.EnsureInfrastructure(ctx, "", c)
				if _, lost := p.Observe(ctx, c); lost != nil {
					vms, _ := api(p).VMs(ctx, c.Tags())
					for _, v := range vms {
						_ = api(p).DeleteVM(ctx, v.ID)
					}
				}
				return err
			},
		}},
		"gives a computer to two machines": {"OneComputerIsOneHost", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				err := p.CreateMachine(ctx, op, r)
				if fleet.KindOf(err) == fleet.Exhausted {
					return nil
				}
				return err
			},
		}},
		"gives a computer to the machine that comes last": {"OneComputerIsOneHost", mutant{
			create: func(p providers.Infrastructure, ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
				err := p.CreateMachine(ctx, op, r)
				if fleet.KindOf(err) == fleet.Exhausted {
					_ = p.DeleteMachine(ctx, op, r.Cluster, "m-0", "")
				}
				return err
			},
		}},
		"shows nothing of a mistake": {"RefusalsAreTold", mutant{annex: silent}},
		"refuses in silence": {"RefusalsAreTold", mutant{annex: silent, ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
			if c.Infrastructure.Name == mistaken {
				return fleet.Errorf(fleet.Invalid, "find cloud "+mistaken, "there is none")
			}
			return p.EnsureInfrastructure(ctx, "", c)
		}}},
		"shows machines as Git has their pool": {"DepartedPoolIsKept", mutant{
			observe: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
				got, err := p.Observe(ctx, c)
				for i := range got.Machines {
					if len(c.Workers) == 0 {
						got.Machines[i].Pool = ""
					}
				}
				return got, err
			},
		}},
		"deletes the machines of a pool that left Git": {"DepartedPoolIsKept", mutant{
			ensure: func(p providers.Infrastructure, ctx context.Context, c *fleet.Cluster) error {
				got, err := p.Observe(ctx, c)
				for _, m := range got.Machines {
					if len(c.Workers) == 0 {
						err = errors.Join(err, p.DeleteMachine(ctx, "", c, m.Name, m.ProviderID))
					}
				}
				return errors.Join(err, p.EnsureInfrastructure(ctx, "", c))
			},
		}},
		"does not look whose the endpoint is":       {"EndpointIsNoMachines", mutant{annex: silent}},
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
