package vsphere_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// poolOf is a pool in Git of these addresses.
func poolOf(t testing.TB, name string, list ...string) fleet.Object {
	t.Helper()
	spec, err := json.Marshal(addresses.PoolSpec{Addresses: list, Prefix: 24, Gateway: "10.7.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{
		GVK: schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Version: "v1alpha2", Kind: "GlobalInClusterIPPool"}, Name: name, Spec: spec,
	}
}

// drawing is a cluster called name of a fleet on w, whose endpoint is of the pool "shared", as are
// the addresses of its machines, for an agent of its own.
func drawing(t testing.TB, w *world, id fleet.ID, name string, list ...string) *bench {
	t.Helper()
	ref := addresses.Ref{APIGroup: "ipam.cluster.x-k8s.io", Kind: "GlobalInClusterIPPool", Name: "shared"}
	c := w.cluster(t, func(s *api.VSphereMachineSpec) {
		s.Network.Devices[0].DHCP4, s.Network.Devices[0].Nameservers = nil, []string{"10.0.0.2"}
		s.Network.Devices[0].AddressesFromPools = []addresses.Ref{ref}
	})
	c.Fleet, c.Key.Name = id, name
	b := &bench{t, w, newProvider(t, func(o *vsphere.Options) { o.Settle = time.Minute }), &c}
	b.endpoint(func(s *api.VSphereClusterSpec) {
		s.ControlPlaneEndpoint.Host, s.VirtualIP = "", &api.VirtualIP{AddressFromPool: &ref}
	})
	c.Companions = []fleet.Object{poolOf(t, "shared", list...)}
	return b
}

// endpoint has Git say otherwise what is at the endpoint.
func (b *bench) endpoint(change func(s *api.VSphereClusterSpec)) {
	b.t.Helper()
	spec, err := api.ReadCluster(b.c.Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	change(spec)
	secrets := b.c.Infrastructure.Secrets
	b.c.Infrastructure = newObject(b.t, "VSphereCluster", b.c.Key.Name, spec)
	b.c.Infrastructure.Secrets = secrets
}

// begin asks for a machine of pool as the planner does: its user data has the endpoint that was
// observed.
func (b *bench) begin(pool fleet.Pool, name fleet.MachineName) error {
	b.t.Helper()
	r := b.first(name)
	r.Pool = pool
	return b.p.CreateMachine(b.t.Context(), fleet.OperationID("op-"+name), r)
}

// first is what the planner asks for as the first machine of the control plane.
func (b *bench) first(name fleet.MachineName) providers.MachineRequest {
	b.t.Helper()
	r := b.request(name)
	r.Pool, r.Endpoint = b.c.ControlPlane, b.observe().Endpoint
	return r
}

// runs makes a machine of pool that runs.
func (b *bench) runs(pool fleet.Pool, name fleet.MachineName) {
	b.t.Helper()
	if err := b.begin(pool, name); err != nil {
		b.t.Fatal(err)
	}
	b.settle(name)
}

// settle does what is Upkeep until the machine called name runs.
func (b *bench) settle(name fleet.MachineName) {
	b.t.Helper()
	b.until(string(name)+" runs", func(i fleet.Infrastructure) bool {
		if len(i.Upkeep) > 0 {
			b.ensure()
		}
		return slices.ContainsFunc(i.Machines, func(m fleet.Machine) bool { return m.Name == name && m.State == fleet.MachineRunning })
	})
}

// again has another agent take over, which knows nothing.
func (b *bench) again() {
	b.t.Helper()
	b.p.Close()
	b.p = newProvider(b.t, func(o *vsphere.Options) { o.Settle = time.Minute })
	b.ensure()
}

// held returns the tag of the VM called name.
func (b *bench) held(name, tag string) string {
	b.t.Helper()
	var tags map[string]string
	if err := json.Unmarshal([]byte(b.vms(name)[0].ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
		b.t.Fatal(err)
	}
	return tags[tag]
}

// TestEndpointOfAPool: the endpoint is an address of the pool that Git names, which all machines
// hold from birth, no machine is given, and nothing moves while one machine is left.
func TestEndpointOfAPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	b := drawing(t, w, "acme", "eu-1", "10.7.0.10-10.7.0.14")
	b.ensure()
	e := b.observe().Endpoint
	if !strings.HasPrefix(e.Host, "10.7.0.1") || e.Port != 6443 {
		t.Fatalf("the endpoint is %+v", e)
	}
	same := func(what string) {
		t.Helper()
		if got := b.observe().Endpoint; got != e {
			t.Errorf("%s: the endpoint is %+v, was %+v", what, got, e)
		}
	}
	b.again()
	same("another agent, before there is a machine")
	b.runs(b.c.ControlPlane, "cp-0")
	for i := range 3 {
		b.runs(b.c.Workers[0], fleet.MachineName(fmt.Sprintf("m-%d", i)))
	}
	wantKind(t, "a fifth machine", b.begin(b.c.Workers[0], "m-3"), fleet.Exhausted, "all of its 5 addresses are taken")
	for _, name := range []string{"cp-0", "m-0", "m-1", "m-2"} {
		if got, want := b.held(name, "fairlead.dev/endpoint-address"), "GlobalInClusterIPPool/shared="+e.Host; got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
		if got := b.held(name, "fairlead.dev/addresses"); strings.HasSuffix(got, "="+e.Host) {
			t.Errorf("%s was given the endpoint: %s", name, got)
		}
	}
	w.Report(b.vms("cp-0")[0].Ref, "10.7.0.77", e.Host) // the address is on that server
	i := b.until("the guest has it", func(fleet.Infrastructure) bool { return len(b.vms("cp-0")[0].Addresses) == 2 })
	for _, m := range i.Machines {
		if slices.Contains(m.Addresses, e.Host) {
			t.Errorf("%s is told to have the endpoint as its address", m.Name)
		}
	}
	b.again()
	same("another agent")
	b.c.Companions[0] = poolOf(t, "shared", "10.7.0.30-10.7.0.39")
	same("the pool has other addresses in Git")
	b.endpoint(func(s *api.VSphereClusterSpec) { s.VirtualIP.AddressFromPool.Name = "other" })
	b.c.Companions = append(b.c.Companions, poolOf(t, "other", "10.8.0.10-10.8.0.19"))
	b.again()
	same("Git names another pool")
	w.Destroy(b.vms("cp-0")[0].Ref)
	b.until("the server is gone", func(i fleet.Infrastructure) bool { return len(i.Machines) == 3 })
	same("no server is left")
	b.endpoint(func(s *api.VSphereClusterSpec) { s.ControlPlaneEndpoint.Host = "10.9.0.9" })
	if got := b.observe().Endpoint.Host; got != "10.9.0.9" {
		t.Errorf("the endpoint is %s, and Git says 10.9.0.9", got)
	}
}

// TestEndpointIsFreed: an address is given again when no machine of its cluster is left, and not
// before.
func TestEndpointIsFreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	a := drawing(t, w, "acme", "a", "10.7.0.10-10.7.0.11")
	a.ensure()
	a.runs(a.c.ControlPlane, "cp-0")
	b := drawing(t, w, "acme", "b", "10.7.0.10-10.7.0.11")
	err := b.p.EnsureInfrastructure(t.Context(), "op", b.c)
	wantKind(t, "the second cluster", err, fleet.Exhausted, "all of its 2 addresses are taken")
	if i := b.observe(); i.Ready || !strings.Contains(i.Message, "all of its 2 addresses are taken") {
		t.Errorf("it is told as %+v", i)
	}
	w.Power(a.vms("cp-0")[0].Ref, false)
	wantKind(t, "while the machine of the first is off", b.p.EnsureInfrastructure(t.Context(), "op", b.c), fleet.Exhausted)
	orphans, err := a.p.Orphans(t.Context(), "acme", []*fleet.Cluster{b.c})
	if err != nil || len(orphans) != 1 || !strings.Contains(orphans[0].Reason, "it keeps 10.7.0.1") {
		t.Errorf("orphans = %+v, %v", orphans, err)
	}
	w.Destroy(a.vms("cp-0")[0].Ref)
	b.until("a free address", func(i fleet.Infrastructure) bool {
		_ = b.p.EnsureInfrastructure(t.Context(), "op", b.c)
		return i.Ready && i.Endpoint.Host != ""
	})
}

// TestEndpointTwice: of two clusters of two agents that choose one address at a time, one makes
// its first machine again before it ever ran, and they end with two.
func TestEndpointTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	list := []string{"10.7.0.10-10.7.0.11", "10.7.0.20-10.7.0.29"}
	a := drawing(t, w, "acme", "a", list...)
	b := drawing(t, w, "umbrella", "b", list...)
	// Machines have addresses of another pool: all of this one that are left are for endpoints.
	for _, x := range []*bench{a, b} {
		x.c.Companions = append(x.c.Companions, poolOf(t, "vips", "10.8.0.10"))
		x.endpoint(func(s *api.VSphereClusterSpec) { s.VirtualIP.AddressFromPool.Name = "vips" })
		x.ensure()
	}
	// Either has looked before there is a clone of the other.
	var asked atomic.Int32
	chosen := make(chan struct{})
	w.FailCalls(vspheretest.CallFault{Method: "CloneVM_Task", Times: 2, Do: func(vspheretest.Call) {
		if asked.Add(1) == 2 {
			close(chosen)
		}
		select {
		case <-chosen:
		case <-t.Context().Done():
		}
	}})
	requests := []providers.MachineRequest{a.first("cp-0"), b.first("cp-0")}
	errs := make(chan error)
	for i, x := range []*bench{a, b} {
		go func() { errs <- x.p.CreateMachine(t.Context(), "op", requests[i]) }()
	}
	for range requests {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []*bench{a, b} { // there is a second address from now on
		x.c.Companions[1] = poolOf(t, "vips", "10.8.0.10-10.8.0.11")
		x.until("the clone", func(i fleet.Infrastructure) bool {
			return len(i.Upkeep) > 0 || len(i.Machines) == 1 && i.Machines[0].State == fleet.MachineFailed
		})
	}
	both := a.vms("cp-0")
	if one, two := a.heldBy(both[0]), a.heldBy(both[1]); len(both) != 2 || one != two {
		t.Fatalf("they hold %s and %s: this test wants one address", one, two)
	}
	if lost := len(losing(a)) + len(losing(b)); lost != 1 {
		t.Fatalf("%d of the two is held back, want 1: %+v, %+v", lost, a.observe().Machines, b.observe().Machines)
	}
	winner, loser := a, b
	if len(losing(a)) == 1 {
		winner, loser = b, a
	}
	kept := winner.observe().Endpoint
	winner.settle("cp-0")
	loser.ensure()
	if len(loser.vms("cp-0")) != 2 {
		t.Error("EnsureInfrastructure deleted a machine: that is for the planner")
	}
	loser.remove("cp-0")
	loser.runs(loser.c.ControlPlane, "cp-0")
	if got := winner.observe().Endpoint; got != kept {
		t.Errorf("who keeps it has %v, had %v", got, kept)
	}
	if got := loser.observe().Endpoint; got == kept || got.Host == "" {
		t.Errorf("both are at %v", got)
	}
	for _, x := range []*bench{winner, loser} {
		if more := losing(x); len(more) > 0 {
			t.Errorf("and then: %q", more)
		}
	}
}

// heldBy returns the address that the cluster of m has for its endpoint.
func (b *bench) heldBy(m vspheretest.Machine) string {
	b.t.Helper()
	var tags map[string]string
	if err := json.Unmarshal([]byte(m.ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
		b.t.Fatal(err)
	}
	return tags["fairlead.dev/endpoint-address"]
}

// losing are the machines of b that are held back for their addresses.
func losing(b *bench) (out []string) {
	for _, m := range b.observe().Machines {
		if strings.Contains(m.Message, "was given to another machine too") {
			out = append(out, m.Message)
		}
	}
	return out
}

// TestEndpointOnceThere: a cluster that was there keeps its machines, whoever claims its address
// and whatever is switched off.
func TestEndpointOnceThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	a := drawing(t, w, "acme", "a", "10.7.0.10-10.7.0.19")
	a.ensure()
	a.runs(a.c.ControlPlane, "cp-0")
	e := a.observe().Endpoint
	stranger := w.AddMachine("/DC0/vm", "of-others")
	w.SetExtraConfig(stranger.Ref, map[string]string{"fairlead.dev/tags": `{"fairlead.dev/fleet":"a","fairlead.dev/cluster":"a/a","fairlead.dev/endpoint-address":"GlobalInClusterIPPool/shared=` + e.Host + `"}`})
	if err := a.begin(a.c.Workers[0], "m-0"); err != nil {
		t.Fatal(err)
	}
	a.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 0 })
	if more := losing(a); len(more) > 0 {
		t.Errorf("the cluster runs, and is to give way: %q", more)
	}
	a.c.Residence = fleet.Residence{Provider: "vsphere", Endpoint: e, ControlPlane: fleet.InitializedOnce}
	w.Power(stranger.Ref, true)
	w.Power(a.vms("cp-0")[0].Ref, false)
	i := a.until("all are off", func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 2 && i.Machines[0].State == fleet.MachinePending && i.Machines[1].State == fleet.MachinePending
	})
	if i.Endpoint != e || len(losing(a)) > 0 {
		t.Errorf("the endpoint is %v, was %v; %q", i.Endpoint, e, i.Upkeep)
	}
}

// TestEndpointOfAPoolLater: where Git named the endpoint, and names a pool instead, the cluster
// keeps what its machines know.
func TestEndpointOfAPoolLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	b := drawing(t, w, "acme", "eu-1", "10.7.0.10-10.7.0.14")
	var pool *api.VirtualIP
	b.endpoint(func(s *api.VSphereClusterSpec) {
		s.ControlPlaneEndpoint.Host, pool, s.VirtualIP = "10.9.0.9", s.VirtualIP, nil
	})
	b.ensure()
	b.runs(b.c.ControlPlane, "cp-0")
	e := b.observe().Endpoint
	b.c.Residence = fleet.Residence{Provider: "vsphere", Endpoint: e, ControlPlane: fleet.InitializedOnce}
	b.endpoint(func(s *api.VSphereClusterSpec) { s.ControlPlaneEndpoint.Host, s.VirtualIP = "", pool })
	b.again()
	b.runs(b.c.Workers[0], "m-0")
	if got := b.observe().Endpoint; got != e || e.Host != "10.9.0.9" {
		t.Errorf("the endpoint is %+v, was %+v", got, e)
	}
	if got := b.held("m-0", "fairlead.dev/endpoint-address"); got != "GlobalInClusterIPPool/shared=10.9.0.9" {
		t.Errorf("a machine that was made since holds %q", got)
	}
	b.c.Residence = fleet.Residence{}
	b.again()
	if got := b.observe().Endpoint; got != e {
		t.Errorf("the endpoint is %+v where machines alone know it, was %+v", got, e)
	}
}

// TestEndpointOfOthers: an address that the guest of another machine has is not chosen, one that
// Git names and another cluster drew is told, and a machine whose user data names an address that
// is another's by now is not made.
func TestEndpointOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	named := w.cluster(t, nil) // its endpoint is named in Git, and served by a program of its own
	named.Key.Name = "named"
	n := &bench{t, w, newProvider(t, nil), &named}
	n.ensure()
	n.runs(n.c.ControlPlane, "cp-0")
	w.Report(n.vms("cp-0")[0].Ref, "10.0.0.5", "10.7.0.10")

	a := drawing(t, w, "acme", "a", "10.7.0.10-10.7.0.11")
	a.ensure()
	e := a.until("an address", func(i fleet.Infrastructure) bool { return i.Endpoint.Host != "" }).Endpoint
	if e.Host != "10.7.0.11" {
		t.Errorf("the endpoint is %s, and a guest has 10.7.0.10", e.Host)
	}
	r := a.request("cp-0")
	r.Pool, r.Endpoint = a.c.ControlPlane, fleet.Endpoint{Host: "10.7.0.10", Port: 6443}
	wantKind(t, "with an old endpoint", a.p.CreateMachine(t.Context(), "op", r), fleet.Conflict, "it is 10.7.0.11 by now")
	a.c.Companions[0] = poolOf(t, "shared", "10.7.0.10-10.7.0.12")
	if err := a.begin(a.c.ControlPlane, "cp-0"); err != nil {
		t.Fatal(err)
	}
	a.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 0 })

	late := w.cluster(t, nil)
	late.Key.Name = "late"
	l := &bench{t, w, newProvider(t, nil), &late}
	l.endpoint(func(s *api.VSphereClusterSpec) { s.ControlPlaneEndpoint.Host = e.Host })
	wantKind(t, "the address of another", l.p.EnsureInfrastructure(t.Context(), "op", l.c), fleet.Conflict,
		"10.7.0.11", "it was given to the endpoint of cluster prod/a of fleet acme from a pool")
}

// TestEndpointBrought: what people bring to serve an endpoint cannot know one of a pool.
func TestEndpointBrought(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	b := drawing(t, w, "acme", "eu-1", "10.7.0.10-10.7.0.14")
	b.c.ControlPlane.Bootstrap.Spec = []byte(`{"files": [{"path": "/etc/kubernetes/manifests/kube-vip.yaml", "content": "x"}]}`)
	wantKind(t, "EnsureInfrastructure", b.p.EnsureInfrastructure(t.Context(), "op", b.c), fleet.Invalid, "leave kube-vip to virtualIP")
}

// TestEndpointsOfOthers: an endpoint of another cluster of the fleet, in Git or remembered, is drawn as no
// endpoint and given to no machine.
func TestEndpointsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	b := drawing(t, w, "acme", "eu-1", "10.7.0.10-10.7.0.12")
	b.c = b.c.WithNeighbors(fleet.Neighbors{Endpoints: []string{"10.7.0.10", "10.7.0.11"}})
	b.ensure()
	if e := b.observe().Endpoint.Host; e != "10.7.0.12" {
		t.Errorf("the endpoint is %s, and the others are endpoints of other clusters", e)
	}
	wantKind(t, "CreateMachine", b.begin(b.c.Workers[0], "m-0"), fleet.Exhausted, "all of its 3 addresses are taken")
}
