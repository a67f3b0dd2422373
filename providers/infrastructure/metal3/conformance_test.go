package metal3_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestConformance runs the suite on a double of Ironic for each of its tests.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.RunParallel(t, suite)
}

// suite returns the options of one check.
func suite() conformance.Options {
	worlds := make(map[providers.Infrastructure]*suiteWorld)
	var last *suiteWorld
	var listing *metal3test.Injected
	return conformance.Options{
		New: func(t testing.TB) providers.Infrastructure {
			last, listing = newSuiteWorld(t), nil
			worlds[last] = last
			return last
		},
		Cluster: func() fleet.Cluster { return last.c },
		Foreign: func(t testing.TB, p providers.Infrastructure, name string) func() bool {
			return worlds[p].foreign(t, name)
		},
		FailListing: func(_ testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no look is good enough
			if listing != nil {
				listing.End()
			}
			listing = worlds[p].FailCalls(metal3test.CallFault{Method: "GET /v1/nodes", Skip: nth - 1, Times: 1, Status: 500})
		},
		Provider: "metal3", Hooks: suiteHooks(worlds),
	}
}

// suiteHooks reach the Ironics of providers.
func suiteHooks(worlds map[providers.Infrastructure]*suiteWorld) conformance.Hooks {
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for _, c := range worlds[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, c.N, c.Method)
				}
			}
			return out.String()
		},
		Contents: func(t testing.TB, p providers.Infrastructure) []string {
			var out []string
			for _, n := range worlds[p].nodes(t) {
				if n.Instance != "" || n.State == ironic.Deleting || n.State == ironic.Error {
					out = append(out, "machine "+n.Instance+" on "+n.Name)
				}
			}
			slices.Sort(out)
			return out
		},
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			f := worlds[p].FailCalls(metal3test.CallFault{Changes: true, Skip: nth - 1, Times: 1, Lose: true})
			return func() bool { f.End(); return f.Done() > 0 }
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			worlds[p].retag(t, id, change)
		},
		LoseRecords: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			namespace, name := hostIn(id)
			h := worlds[p].Host(namespace + "-" + name)
			before := h.State()
			if err := worlds[p].LoseDatabase(t.Context()); err != nil {
				t.Fatal(err)
			}
			return func() bool { return reflect.DeepEqual(before, h.State()) }
		},
		Twin: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster, id fleet.ProviderID) *fleet.Cluster {
			worlds[p].twin(t, id)
			return c
		},
		TakeOver: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			return worlds[p].takeOver(t, id)
		},
		FailBoot: func(_ testing.TB, p providers.Infrastructure) {
			worlds[p].FailHosts(metal3test.HostFault{At: metal3test.AtWrite, Message: "no space left on device"})
		},
		SlowRelease: func(_ testing.TB, p providers.Infrastructure) {
			worlds[p].FailHosts(metal3test.HostFault{At: metal3test.AtClean, Hold: true})
		},
		Pooled: func(t testing.TB, c *fleet.Cluster, name, last string) *fleet.Cluster {
			out, pool := *c, c.Workers[0]
			spec, err := api.ReadMachine(pool.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			spec.DataTemplate, spec.Data = &api.Metal3ObjectRef{Name: name}, &api.Metal3DataTemplateSpec{MetaData: &api.MetaData{
				IPAddressesFromPool: []api.FromPool{{Key: "address", Name: name, APIGroup: "ipam.metal3.io", Kind: "IPPool"}},
			}}
			pool.Infrastructure = newObject(t, group, "Metal3MachineTemplate", c.Key.Namespace, name, spec)
			out.Workers = []fleet.Pool{pool}
			out.Companions = []fleet.Object{newObject(t, "ipam.metal3.io", "IPPool", c.Key.Namespace, name, &api.IPPoolSpec{Pools: []api.Pool{{Start: new("10.9.0.10"), End: &last}}, Prefix: 24})}
			return &out
		},
		EndpointAt: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster, address string) *fleet.Cluster {
			out := *c
			out.Endpoint = fleet.Endpoint{Host: address, Port: 6443}
			return &out
		},
		Mistaken: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, mistake := range []func(*api.MachineSpec){
				func(s *api.MachineSpec) {
					s.HostSelector = &api.HostSelector{MatchLabels: map[string]string{"rakc": "a"}}
				},
				func(s *api.MachineSpec) {
					s.HostSelector = &api.HostSelector{MatchExpressions: []api.HostSelectorRequirement{{Key: "rack", Operator: "isnt", Values: []string{"a"}}}}
				},
			} {
				spec, err := api.ReadMachine(c.Workers[0].Infrastructure)
				if err != nil {
					t.Fatal(err)
				}
				mistake(spec)
				m, pool := *c, c.Workers[0]
				pool.Infrastructure = newObject(t, group, "Metal3MachineTemplate", c.Key.Namespace, "mistaken", spec)
				m.Workers = []fleet.Pool{pool}
				out = append(out, &m)
			}
			return out
		},
		FailureDomain: "rack-b",
		UserDataLimit: 1 << 20,
	}
}

// hostIn returns the namespace and the name of the host in a provider id.
func hostIn(id fleet.ProviderID) (namespace, name string) {
	parts := strings.Split(strings.TrimPrefix(string(id), "metal3://"), "/")
	return parts[0], parts[1]
}

// A suiteWorld is a provider with the planner's part in it: hosts are brought to where machines
// can have them. Each namespace has hosts of its own.
type suiteWorld struct {
	*world
	*metal3.Provider
	client *ironic.Client

	mu    sync.Mutex
	hosts map[string][]fleet.Object
}

func newSuiteWorld(t testing.TB) *suiteWorld {
	t.Helper()
	w := worldOf(t, metal3test.New(t, metal3test.Options{Double: true}))
	credential, err := ironic.ReadCredential("Secret", map[string][]byte{
		"endpoint": []byte(w.URL()), "username": []byte(metal3test.User), "password": []byte(metal3test.Password), "ca.crt": w.CA(),
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := ironic.New(credential, ironic.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s := &suiteWorld{world: w, Provider: w.p, client: client, hosts: make(map[string][]fleet.Object)}
	warm := s.c
	warm.Key.Namespace = "prod"
	warm.Fleet = "conformance"
	s.ready(t.Context(), s.in(&warm))
	other := w.provider() // the suite's knows no cluster
	s.p, s.Provider = other, other
	return s
}

// twelve hosts are more than any check takes.
const twelve = 12

// in returns c with the hosts of its namespace.
func (s *suiteWorld) in(c *fleet.Cluster) *fleet.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := *c
	if s.hosts[c.Key.Namespace] == nil {
		w := *s.world
		w.namespace, w.hosts = c.Key.Namespace, make(map[string]*metal3test.Host)
		for n := range twelve {
			o := w.addHost(fmt.Sprintf("h%d", n), n)
			spec, err := api.ReadHost(o)
			if err != nil {
				s.Fatal(err)
			}
			spec.AutomatedCleaningMode = api.CleaningMetadata
			labels, secrets := o.Labels, o.Secrets
			o = newObject(s.TB, "metal3.io", "BareMetalHost", c.Key.Namespace, o.Name, spec)
			o.Labels, o.Secrets = labels, secrets
			s.hosts[c.Key.Namespace] = append(s.hosts[c.Key.Namespace], o)
		}
	}
	out.Companions = slices.Concat(s.hosts[c.Key.Namespace], c.AddressPools())
	out.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{}
	for k, v := range c.Infrastructure.Secrets {
		out.Infrastructure.Secrets[fleet.Key{Namespace: c.Key.Namespace, Name: k.Name}] = v
	}
	return &out
}

// ready has every host of c's namespace that nothing has be available.
func (s *suiteWorld) ready(ctx context.Context, c *fleet.Cluster) {
	for range 200 {
		i, err := s.Provider.Observe(ctx, c)
		busy := slices.ContainsFunc(i.Hosts, func(h fleet.Host) bool {
			return h.Consumer == (fleet.HostConsumer{}) && !h.Free() && h.Held == "" && h.State != fleet.HostDeprovisioning
		})
		if err == nil && len(i.Upkeep) == 0 && !busy {
			return
		}
		if len(i.Upkeep) > 0 && s.Provider.EnsureInfrastructure(ctx, "op-upkeep", c) != nil {
			return
		}
		time.Sleep(tick / 5)
	}
}

// Observe implements providers.Infrastructure.
func (s *suiteWorld) Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error) {
	return s.Provider.Observe(ctx, s.in(c))
}

// EnsureInfrastructure implements providers.Infrastructure.
func (s *suiteWorld) EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	in := s.in(c)
	if err := s.Provider.EnsureInfrastructure(ctx, op, in); err != nil {
		return err
	}
	s.ready(ctx, in)
	return nil
}

// DeleteInfrastructure implements providers.Infrastructure.
func (s *suiteWorld) DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error {
	return s.Provider.DeleteInfrastructure(ctx, op, s.in(c))
}

// CreateMachine implements providers.Infrastructure.
func (s *suiteWorld) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	r.Cluster = s.in(r.Cluster)
	return s.Provider.CreateMachine(ctx, op, r)
}

// DeleteMachine implements providers.Infrastructure.
func (s *suiteWorld) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	return s.Provider.DeleteMachine(ctx, op, s.in(c), name, id)
}

// Abilities tells what the provider can do.
func (s *suiteWorld) Abilities() providers.Abilities {
	out := s.Provider.Abilities()
	out.OrphanRemover, out.Rebooter, out.Adopter, out.UntaggedFinder, out.Placer = s, s, s, s, s
	return out
}

// PlaceOf implements providers.Placer.
func (s *suiteWorld) PlaceOf(ctx context.Context, c *fleet.Cluster) (string, error) {
	return s.Provider.PlaceOf(ctx, s.in(c))
}

// Untagged implements providers.UntaggedFinder.
func (s *suiteWorld) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	return s.Provider.Untagged(ctx, s.in(c), ids)
}

// SwitchMachine implements providers.Rebooter.
func (s *suiteWorld) SwitchMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	return s.Provider.SwitchMachine(ctx, op, s.in(c), name, id, to)
}

// Adoptable implements providers.Adopter.
func (s *suiteWorld) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	return s.Provider.Adoptable(ctx, s.in(c), machines)
}

func (s *suiteWorld) allIn(list []*fleet.Cluster) []*fleet.Cluster {
	var out []*fleet.Cluster
	for _, c := range list {
		out = append(out, s.in(c))
	}
	return out
}

// Orphans implements providers.OrphanRemover.
func (s *suiteWorld) Orphans(ctx context.Context, id fleet.ID, list []*fleet.Cluster) ([]fleet.Orphan, error) {
	return s.Provider.Orphans(ctx, id, s.allIn(list))
}

// RemoveOrphan implements providers.OrphanRemover.
func (s *suiteWorld) RemoveOrphan(ctx context.Context, id fleet.ID, list []*fleet.Cluster, o fleet.Orphan) error {
	return s.Provider.RemoveOrphan(ctx, id, s.allIn(list), o)
}

func (s *suiteWorld) nodes(t testing.TB) []ironic.Node {
	t.Helper()
	list, err := s.client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// foreign puts a machine of somebody else onto a host.
func (s *suiteWorld) foreign(t testing.TB, name string) func() bool {
	t.Helper()
	h := s.AddHost("theirs-" + name)
	id := ironic.NodeID("theirs", "n", name)
	if err := s.client.Create(t.Context(), ironic.Spec{UUID: id, Name: name, Driver: "redfish", DriverInfo: h.DriverInfo()}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Claim(t.Context(), id, ironic.Claim{Instance: ironic.InstanceID("theirs", "n", name), Info: map[string]any{}, Extra: map[string]any{}}); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		n, err := s.client.Node(t.Context(), id)
		return err == nil && n.Instance != ""
	}
}

// twin leaves a namespace the host of a machine, which people switched off, and a second BareMetalHost of that
// computer: what is on is free for nobody anyway.
func (s *suiteWorld) twin(t testing.TB, id fleet.ProviderID) {
	t.Helper()
	namespace, name := hostIn(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.hosts[namespace]
	has := all[slices.IndexFunc(all, func(o fleet.Object) bool { return o.Name == name })]
	spec, err := api.ReadHost(has)
	if err != nil {
		t.Fatal(err)
	}
	described := func(name string) fleet.Object {
		o := newObject(t, "metal3.io", "BareMetalHost", namespace, name, spec)
		o.Labels, o.Secrets = has.Labels, has.Secrets
		return o
	}
	spec.Online = false
	first := described(name)
	spec.Online, spec.BootMACAddress = true, "52:54:00:ff:ff:01" // Ironic takes no address of a network card twice
	s.hosts[namespace] = []fleet.Object{first, described("twin")}
	s.Host(namespace + "-" + name).Press(false)
}

// takeOver has somebody else claim and deploy the host of a machine, after the next listing.
func (s *suiteWorld) takeOver(t testing.TB, id fleet.ProviderID) func() (taken, there bool) {
	t.Helper()
	namespace, name := hostIn(id)
	w := *s.world
	w.namespace = namespace
	var listed, taken atomic.Bool
	w.Front.Watch(func(c metal3test.Call) {
		if c.Method == "GET /v1/nodes" {
			listed.Store(true)
		} else if listed.Load() && taken.CompareAndSwap(false, true) {
			w.taken(name)
		}
	})
	return func() (bool, bool) {
		w.Front.Watch(nil)
		n, err := s.client.Node(t.Context(), namespace+"~"+name)
		return taken.Load(), err == nil && n.Instance != "" && n.State == ironic.Active
	}
}

// retag changes the tags of a machine in extra of its node.
func (s *suiteWorld) retag(t testing.TB, id fleet.ProviderID, change func(map[string]string)) {
	t.Helper()
	namespace, name := hostIn(id)
	n, err := s.client.Node(t.Context(), namespace+"~"+name)
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := n.Extra["fairlead"].(map[string]any)
	was, _ := kept["tags"].(map[string]any)
	tags := make(map[string]string)
	for k, v := range was {
		tags[k], _ = v.(string)
	}
	before := maps.Clone(tags)
	change(tags)
	if maps.Equal(before, tags) {
		return
	}
	if _, err := s.client.Claim(t.Context(), n.UUID, ironic.Claim{Instance: n.Instance, Info: n.Info, Extra: map[string]any{"tags": tags}}); err != nil {
		t.Fatal(err)
	}
}
