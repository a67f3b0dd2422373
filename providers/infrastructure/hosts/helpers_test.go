package hosts_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
	"fairlead.dev/test/run/waits"
)

const (
	settle = 2 * time.Second
	tick   = 50 * time.Millisecond
)

// credential is the Secret that the pools of tests name.
var credential = fleet.Key{Namespace: "prod", Name: "ssh"}

// object returns what the decoder makes of an object of kind with spec.
func object(t testing.TB, kind, name string, spec any) fleet.Object {
	t.Helper()
	b, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{
		GVK:  schema.GroupVersionKind{Group: "fairlead.dev", Version: "v1alpha1", Kind: kind},
		Name: name, Namespace: credential.Namespace, Spec: b,
	}
}

// A bench is a pool of hosts and a provider that reaches it.
type bench struct {
	t     testing.TB
	w     *hoststest.World
	hosts []*hoststest.Host
	p     *hosts.Provider
	ssh   api.SSH
	data  fleet.SecretData
	edit  func(*api.PoolHost) // of the pool's list
	pool  func(*api.HostPoolSpec)
	gate  string // the host of the load balancer; empty: there is none

	interrupted bool // something that was begun is not going on
}

// newBench boots n hosts with options: h0, h1, …
func newBench(t testing.TB, n int, options ...string) *bench {
	t.Helper()
	b := &bench{t: t, w: hoststest.New(t)}
	b.ssh = api.SSH{User: "root", IdentityRef: &api.IdentityReference{Name: credential.Name}}
	for i := range n {
		b.boot(fmt.Sprintf("h%d", i), options...)
	}
	b.data = fleet.SecretData{"ssh-privatekey": fleet.NewSecret(b.w.PrivateKey)}
	b.p = b.provider()
	return b
}

// boot adds a host to the pool.
func (b *bench) boot(name string, options ...string) *hoststest.Host {
	b.t.Helper()
	h := b.w.Host(name, options...)
	b.hosts = append(b.hosts, h)
	b.ssh.KnownHosts += h.KnownHosts()
	return h
}

// provider returns one that knows nothing: that of an agent whose disk was wiped.
func (b *bench) provider() *hosts.Provider {
	p := hosts.New(hosts.Options{Log: slog.New(slog.NewTextHandler(b.t.Output(), nil)), Tick: tick, Settle: settle})
	b.t.Cleanup(p.Close)
	return p
}

// cluster returns one with a control plane and one worker pool, on all hosts.
func (b *bench) cluster() *fleet.Cluster {
	spec := &api.HostPoolSpec{SSH: b.ssh}
	for _, h := range b.hosts {
		host := api.PoolHost{Name: h.Name, HostDetails: api.HostDetails{Address: "127.0.0.1", SSH: &api.SSH{Port: int32(h.Port)}}}
		if b.edit != nil {
			b.edit(&host)
		}
		spec.Hosts = append(spec.Hosts, host)
	}
	if b.pool != nil {
		b.pool(spec)
	}
	pool := object(b.t, "HostPool", "pool", spec)
	pool.Secrets = map[fleet.Key]fleet.SecretData{credential: b.data}
	shared := &api.HostClusterSpec{ControlPlaneEndpoint: api.APIEndpoint{Host: "10.0.0.10", Port: 6443}}
	if b.gate != "" {
		shared = &api.HostClusterSpec{ControlPlaneEndpoint: api.APIEndpoint{Port: 6443}, LoadBalancer: &api.LoadBalancer{PoolName: "pool", HostName: b.gate}}
	}
	machine := object(b.t, "HostMachineTemplate", "machine", &api.HostMachineSpec{Bootstrap: api.BootstrapAuto})
	return &fleet.Cluster{
		Fleet: "fleet", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "hosts",
		Infrastructure: object(b.t, "HostCluster", "eu-1", shared),
		Companions:     []fleet.Object{pool},
		ControlPlane:   fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Version: "v1.34.1", Template: "1-cp", Infrastructure: machine},
		Workers:        []fleet.Pool{{Name: "eu-1-md-0", Role: fleet.RoleWorker, Version: "v1.34.1", Template: "1-worker", Infrastructure: machine}},
	}
}

// named returns a cluster with that endpoint in Git.
func (b *bench) named(host string, port int32) *fleet.Cluster {
	c, spec := b.cluster(), &api.HostClusterSpec{ControlPlaneEndpoint: api.APIEndpoint{Host: host, Port: port}}
	if b.gate != "" {
		spec.LoadBalancer = &api.LoadBalancer{PoolName: "pool", HostName: b.gate}
	}
	c.Infrastructure = object(b.t, "HostCluster", "eu-1", spec)
	return c
}

// userData is what Fairlead's bootstrap provider writes, in little.
func userData(runcmd ...string) providers.UserData {
	text := "## template: jinja\n#cloud-config\n" + `write_files:
- path: '/run/cluster-api/placeholder'
  owner: 'root:root'
  permissions: '0640'
  content: 'here'
- path: '/etc/machine.conf'
  permissions: '0600'
  content: 'name={{ ds.meta_data.local_hostname }} id={{ ds.meta_data.provider_id }}'
runcmd:
`
	if len(runcmd) == 0 {
		runcmd = []string{"kubeadm join --config /run/kubeadm/kubeadm.yaml && echo success > /run/cluster-api/bootstrap-success.complete"}
	}
	for _, c := range runcmd {
		text += "- '" + strings.ReplaceAll(c, "'", "''") + "'\n"
	}
	return providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte(text))}
}

func request(c *fleet.Cluster, name fleet.MachineName, u providers.UserData) providers.MachineRequest {
	return providers.MachineRequest{Cluster: c, Pool: c.Workers[0], Name: name, UserData: u}
}

// ensure makes the infrastructure of c.
func (b *bench) ensure(c *fleet.Cluster) {
	b.t.Helper()
	if err := b.p.EnsureInfrastructure(b.t.Context(), "op", c); err != nil {
		b.t.Fatal(err)
	}
}

// create makes a machine. A host that is released is free before it restarts, and whoever
// wants it then tries again, as agents do.
func (b *bench) create(c *fleet.Cluster, name fleet.MachineName, u providers.UserData) {
	b.t.Helper()
	for end := time.Now().Add(waits.Limit); ; time.Sleep(100 * time.Millisecond) {
		err := b.p.CreateMachine(b.t.Context(), "op", request(c, name, u))
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "restarts after its release") || time.Now().After(end) {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) remove(c *fleet.Cluster, name fleet.MachineName) {
	b.t.Helper()
	if err := b.p.DeleteMachine(b.t.Context(), "op", c, name, ""); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) observe(c *fleet.Cluster) fleet.Infrastructure {
	b.t.Helper()
	got, err := b.p.Observe(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// goOn has what was interrupted go on, as the planner does.
func (b *bench) goOn(c *fleet.Cluster, i fleet.Infrastructure) {
	b.t.Helper()
	if strings.Contains(strings.Join(i.Upkeep, "\n"), "start machine") {
		b.ensure(c)
	}
	for _, m := range i.Machines {
		if m.Interrupted {
			b.remove(c, m.Name)
		}
	}
}

// until looks, and has go on what was interrupted, until is, and returns what it saw
// then.
func (b *bench) until(what string, c *fleet.Cluster, is func(fleet.Infrastructure) bool) fleet.Infrastructure {
	b.t.Helper()
	return b.watch(what, c, func(i fleet.Infrastructure) bool {
		if is(i) {
			return true
		}
		b.goOn(c, i)
		return false
	})
}

// watch looks again and again until is, and returns what it saw then.
func (b *bench) watch(what string, c *fleet.Cluster, is func(fleet.Infrastructure) bool) fleet.Infrastructure {
	b.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for {
		got, err := b.p.Observe(b.t.Context(), c)
		if err == nil && is(got) {
			return got
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not seen: %s; last: %+v, %v", what, got, err)
		}
		time.Sleep(2 * tick) // until the next look is a new one
	}
}

// state returns the state of the machine called name; "" where there is none.
func state(i fleet.Infrastructure, name fleet.MachineName) fleet.MachineState {
	at := slices.IndexFunc(i.Machines, func(m fleet.Machine) bool { return m.Name == name })
	if at < 0 {
		return ""
	}
	return i.Machines[at].State
}

func gone(i fleet.Infrastructure) bool { return len(i.Machines) == 0 }

func wantKind(t testing.TB, err error, kind fleet.ErrorKind, words ...string) {
	t.Helper()
	if err == nil || fleet.KindOf(err) != kind {
		t.Errorf("error = %v (kind %s), want kind %s", err, fleet.KindOf(err), kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error = %v, want it to say %q", err, w)
		}
	}
}
