package metal3_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/run/waits"
)

// shared is the Ironic of most tests: each has hosts in a namespace of its own.
var shared struct {
	once sync.Once
	i    *metal3test.Ironic
	err  error
}

func TestMain(m *testing.M) {
	code := waits.Main(m)
	if shared.i != nil {
		shared.i.Close()
	}
	os.Exit(code)
}

// A world is an Ironic with hosts, and a cluster in their namespace.
type world struct {
	testing.TB
	*metal3test.Ironic
	*metal3test.Front // what the world asks comes through it: others may use the Ironic too
	namespace         string
	hosts             map[string]*metal3test.Host // by the names of BareMetalHosts
	c                 fleet.Cluster
	p                 *metal3.Provider
}

// The rhythm of tests: real time passes, so it is short.
const tick, settle, retry = 50 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond

// newWorld returns a namespace of an Ironic that others use too, with hosts called names.
func newWorld(t testing.TB, names ...string) *world {
	t.Helper()
	metal3test.Needs(t)
	shared.once.Do(func() { shared.i, shared.err = metal3test.Start(context.Background(), metal3test.Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return worldOf(t, shared.i, names...)
}

func worldOf(t testing.TB, i *metal3test.Ironic, names ...string) *world {
	t.Helper()
	w := &world{TB: t, Ironic: i, Front: i.FrontFor(t), namespace: fmt.Sprintf("n%d", namespaces.next()), hosts: make(map[string]*metal3test.Host)}
	w.p = w.provider()
	w.c = w.cluster(names...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Ironic's log ends with:\n%s", i.LogEnd())
		}
	})
	return w
}

// counter gives each test a namespace.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

var namespaces counter

// provider returns a provider that knows nothing yet.
func (w *world) provider() *metal3.Provider {
	p := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: tick, Settle: settle, Retry: retry})
	w.Cleanup(p.Close)
	return p
}

// newObject returns an object with spec, which has all defaults.
func newObject(t testing.TB, group, kind, namespace, name string, spec any) fleet.Object {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{GVK: schema.GroupVersionKind{Group: group, Version: "v1beta2", Kind: kind}, Namespace: namespace, Name: name, Spec: text}
}

const group = "infrastructure.cluster.x-k8s.io"

func secretOf(values map[string]string) fleet.SecretData {
	out := make(fleet.SecretData)
	for k, v := range values {
		out[k] = fleet.NewSecret([]byte(v))
	}
	return out
}

// cluster returns one with hosts called names.
func (w *world) cluster(names ...string) fleet.Cluster {
	w.Helper()
	spec := &api.Metal3ClusterSpec{
		ControlPlaneEndpoint: api.APIEndpoint{Host: "10.0.0.200", Port: 6443},
		FailureDomains:       []clusterv1.FailureDomain{{Name: "rack-a", ControlPlane: new(true)}, {Name: "rack-b", ControlPlane: new(true)}},
	}
	c := fleet.Cluster{
		Fleet: "acme", Key: fleet.Key{Namespace: w.namespace, Name: "eu-1"}, Provider: "metal3", Infrastructure: newObject(w, group, "Metal3Cluster", w.namespace, "eu-1", spec),
		ControlPlane: fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1.34.0", Template: "1-cp"},
		Workers:      []fleet.Pool{{Name: "md-0", Role: fleet.RoleWorker, Replicas: 1, Version: "v1.34.0", Template: "1-md"}},
	}
	c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "ironic"}: secretOf(map[string]string{
		"endpoint": w.URL(), "username": metal3test.User, "password": metal3test.Password, "ca.crt": string(w.CA()), "deployISO": w.RamdiskURL(),
	})}
	c.ControlPlane.Infrastructure = w.template("cp", nil)
	c.Workers[0].Infrastructure = w.template("md-0", nil)
	for n, name := range names {
		c.Companions = append(c.Companions, w.addHost(name, n))
	}
	return c
}

// template returns a Metal3MachineTemplate.
func (w *world) template(name string, change func(*api.MachineSpec)) fleet.Object {
	s := &api.MachineSpec{}
	s.Image = api.Image{URL: w.ImageURL(), Checksum: new(w.ImageSHA256()), ChecksumType: api.SHA256, DiskFormat: api.Raw}
	if change != nil {
		change(s)
	}
	return newObject(w, group, "Metal3MachineTemplate", w.namespace, name, s)
}

// addHost adds a host, and returns its BareMetalHost: those of even numbers are in rack-a.
func (w *world) addHost(name string, n int) fleet.Object {
	h := w.AddHost(w.namespace + "-" + name)
	w.hosts[name] = h
	o := newObject(w, "metal3.io", "BareMetalHost", w.namespace, name, &api.BareMetalHostSpec{
		BMC: api.BMCDetails{Address: h.BMC(), CredentialsName: name + "-bmc"}, BootMACAddress: h.MAC(), BootMode: api.UEFI, Online: true,
		AutomatedCleaningMode: api.CleaningDisabled, InspectionMode: api.InspectDisabled,
	})
	o.Labels = map[string]string{"infrastructure.cluster.x-k8s.io/failure-domain": []string{"rack-a", "rack-b"}[n%2], "name": name}
	o.Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: name + "-bmc"}: secretOf(map[string]string{"username": metal3test.BMCUser, "password": h.Password()})}
	return o
}

// observe looks, and remembers where machines are as the planner does.
func (w *world) observe(c *fleet.Cluster) fleet.Infrastructure {
	w.Helper()
	got, err := w.p.Observe(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	c.Residence = fleet.Residence{Provider: "metal3"}
	for _, at := range got.Places {
		c.Residence.Places = append(c.Residence.Places, at.Place)
	}
	return got
}

// until does what the planner does, all Upkeep, until a look is as it should be.
func (w *world) until(c *fleet.Cluster, what string, is func(fleet.Infrastructure) bool) fleet.Infrastructure {
	w.Helper()
	var got fleet.Infrastructure
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); w.pause() {
		got = w.observe(c)
		if is(got) {
			return got
		}
		if !got.Ready || len(got.Upkeep) > 0 {
			if err := w.p.EnsureInfrastructure(w.Context(), "op-infra", c); err != nil {
				w.Logf("EnsureInfrastructure: %v", err)
			}
		}
	}
	text, _ := json.MarshalIndent(got, "", " ")
	w.Fatalf("not %s: %s", what, text)
	return got
}

func (w *world) pause() {
	select {
	case <-time.After(2 * tick):
	case <-w.Context().Done():
		w.Fatal(w.Context().Err())
	}
}

// request is for a worker.
func request(c *fleet.Cluster, name fleet.MachineName) providers.MachineRequest {
	return providers.MachineRequest{
		Cluster: c, Pool: c.Workers[0], Name: name, UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		Origin: fleet.Origin{Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
	}
}

// allFree reports whether machines may have every host.
func allFree(i fleet.Infrastructure) bool {
	for _, h := range i.Hosts {
		if !h.Free() {
			return false
		}
	}
	return i.Ready
}

// machineOf returns a machine of a look.
func machineOf(i fleet.Infrastructure, name fleet.MachineName) fleet.Machine {
	for _, m := range i.Machines {
		if m.Name == name {
			return m
		}
	}
	return fleet.Machine{}
}

// hostOf returns a host of a look.
func hostOf(i fleet.Infrastructure, name string) *fleet.Host {
	for n := range i.Hosts {
		if i.Hosts[n].Name == name {
			return &i.Hosts[n]
		}
	}
	return &fleet.Host{}
}

// pooled gives workers of c addresses of a pool, from 10.0.0.10 to the last.
func (w *world) pooled(c *fleet.Cluster, last string) {
	pool := newObject(w, "ipam.metal3.io", "IPPool", w.namespace, "nodes", &api.IPPoolSpec{Pools: []api.Pool{{Start: new("10.0.0.10"), End: new(last)}}, Prefix: 24})
	c.Companions = append(c.Companions, pool)
	data := &api.Metal3DataTemplateSpec{MetaData: &api.MetaData{
		IPAddressesFromPool: []api.FromPool{{Key: "address", Name: "nodes", APIGroup: "ipam.metal3.io", Kind: "IPPool"}},
	}}
	c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
		s.DataTemplate, s.Data = &api.Metal3ObjectRef{Name: "nodes"}, data
	})
}
