package hosts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
	"fairlead.dev/test/run/needs"
)

// needHAProxy skips the test where hosts have no HAProxy.
func needHAProxy(t *testing.T) {
	t.Helper()
	needs.Program(t, "haproxy", "apt-get install haproxy")
}

// withGate returns n hosts, and one more that has the load balancer.
func withGate(t *testing.T, n int) (*bench, *hoststest.Host) {
	t.Helper()
	needHAProxy(t)
	b := newBench(t, n)
	b.gate = "gate"
	b.edit = func(h *api.PoolHost) { h.Unschedulable = h.Name == b.gate }
	return b, b.boot(b.gate)
}

// createControlPlane makes a machine of the control plane.
func (b *bench) createControlPlane(c *fleet.Cluster, name fleet.MachineName) {
	b.t.Helper()
	r := providers.MachineRequest{Cluster: c, Pool: c.ControlPlane, Name: name, UserData: userData(), APIPort: 6443}
	if err := b.p.CreateMachine(b.t.Context(), "op", r); err != nil {
		b.t.Fatal(err)
	}
}

// balancerConfig is a command that shows what the load balancer of a host runs with.
const balancerConfig = "cat /var/lib/fairlead/host/machines/*/haproxy.cfg 2>/dev/null; true"

// servers returns the names that the load balancer on h leads to, and whether it runs.
func servers(h *hoststest.Host) (names []string, runs bool) {
	for line := range strings.Lines(h.Exec(balancerConfig)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "server" {
			names = append(names, f[1])
		}
	}
	return names, strings.Contains(h.Exec("ps -e -o stat=,comm= | grep -v ^Z"), "haproxy")
}

func wantServers(t *testing.T, h *hoststest.Host, when string, want ...string) {
	t.Helper()
	if got, runs := servers(h); !runs || !slices.Equal(got, want) {
		t.Errorf("the load balancer %s leads to %q (running: %v), want %q", when, got, runs, want)
	}
}

// inLine brings the infrastructure of c in line, as the planner does.
func (b *bench) inLine(c *fleet.Cluster) {
	b.t.Helper()
	b.until("infrastructure in line", c, func(i fleet.Infrastructure) bool {
		if i.Ready && len(i.Drift) == 0 {
			return true
		}
		b.ensure(c)
		return false
	})
}

// TestLoadBalancer goes through the life of one: it follows the control plane, comes
// back after its host restarted, and leaves a host that is free.
func TestLoadBalancer(t *testing.T) {
	b, gate := withGate(t, 2)
	c := b.cluster()
	if got := b.observe(c); got.Exists || got.Ready {
		t.Errorf("before: %+v, want nothing", got)
	}
	b.ensure(c)
	got := b.until("it runs", c, func(i fleet.Infrastructure) bool { return i.Ready })
	if got.Endpoint != (fleet.Endpoint{Host: "127.0.0.1", Port: 6443}) {
		t.Errorf("endpoint = %v, want the address of the host", got.Endpoint)
	}
	wantServers(t, gate, "of no machines")

	b.createControlPlane(c, "cp-0")
	b.create(c, "m-0", userData())
	got = b.until("it is to follow", c, func(i fleet.Infrastructure) bool { return len(i.Drift) > 0 })
	if !got.Ready || !slices.Equal(got.Drift, got.Upkeep) {
		t.Errorf("with a new machine: %+v, want it ready, and to be mended whatever the policy", got)
	}
	b.inLine(c)
	wantServers(t, gate, "of one machine", "cp-0")

	process := func() string {
		for range 500 {
			if pid := strings.TrimSpace(gate.Exec("cat /run/fairlead-load-balancer.pid")); pid != "" {
				return pid
			}
			time.Sleep(10 * time.Millisecond) // HAProxy writes it anew when it reads its configuration
		}
		return "nobody knows"
	}
	before := process()
	b.remove(c, "cp-0")
	wantServers(t, gate, "when the machine was asked to go")
	if now := process(); now != before {
		t.Errorf("HAProxy is process %s and was %s: connections broke", now, before)
	}
	b.until("the machine is gone", c, func(i fleet.Infrastructure) bool { return state(i, "cp-0") == "" })

	gate.Off()
	b.p = b.provider()
	got = b.observe(c)
	if !got.Ready || len(got.Drift) == 0 || got.Endpoint.IsZero() {
		t.Errorf("with its host off: %+v, want the cluster to go on", got)
	}
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", c), fleet.Unavailable, "run the load balancer on host pool/gate")
	b.remove(c, "m-0") // waits for no load balancer
	b.until("the machine is gone", c, gone)
	wantKind(t, b.p.DeleteInfrastructure(t.Context(), "op", c), fleet.Unavailable, "lost: true")

	gate.On()
	b.p = b.provider()
	if got := b.observe(c); got.Ready || !strings.Contains(got.Message, "pool/gate") {
		t.Errorf("after its host restarted: %+v, want it to be started", got)
	}
	b.inLine(c)
	wantServers(t, gate, "after its host restarted")

	b.until("nothing", c, func(i fleet.Infrastructure) bool {
		if !i.Exists {
			return true
		}
		if err := b.p.DeleteInfrastructure(t.Context(), "op", c); err != nil {
			t.Fatal(err)
		}
		return false
	})
	if _, runs := servers(gate); runs || gate.Exec("ls -A /var/lib/fairlead/host/machines; ls /run/fairlead-load-balancer.pid 2>/dev/null; true") != "" {
		t.Errorf("left on its host: %s", gate.Exec("ps -ef; ls -RA /var/lib/fairlead /run"))
	}
}

// TestLoadBalancerHost: what is in the way of a load balancer is told.
func TestLoadBalancerHost(t *testing.T) {
	b, gate := withGate(t, 2)
	bare := b.boot("bare", "HAPROXY=no")
	gate.Write("/var/lib/fairlead/host/claim", "taken by hand")
	c := b.cluster()
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", c), fleet.Conflict, "host pool/gate", "not Fairlead's", "unschedulable: true")
	if got := b.observe(c); got.Ready {
		t.Error("infrastructure is ready without its load balancer")
	}
	gate.Remove("/var/lib/fairlead/host/claim")
	b.p.Forget()

	b.gate = bare.Name
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", b.cluster()), fleet.Unavailable, "host pool/bare", "apt-get install haproxy")
	b.gate = "elsewhere"
	_, err := b.p.Observe(t.Context(), b.cluster())
	wantKind(t, err, fleet.Invalid, "no HostPool pool with a host elsewhere", "spec.loadBalancer of HostCluster eu-1")

	// A port that is taken.
	b.gate = gate.Name
	gate.Exec("/usr/sbin/sshd -f /etc/ssh/test_config -p 6443")
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", c), fleet.Unavailable, "HAProxy does not start")
	gate.Exec("pkill -f -- '[-]p 6443'")
	b.p.Forget()
	b.inLine(c)

	// Another host is named: the first one is free again, and with its address lost the
	// endpoint has a name of its own.
	b.gate = "h1"
	b.edit = nil
	moved := b.cluster()
	if got := b.observe(moved); !got.Exists || got.Ready {
		t.Errorf("with another host named: %+v, want it not ready yet", got)
	}
	b.inLine(moved)
	b.until("the first host is free", moved, func(fleet.Infrastructure) bool { return gate.Read("/var/lib/fairlead/host/claim") == "" })
	b.edit = func(h *api.PoolHost) { h.Lost = h.Name == "h1" }
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", b.cluster()), fleet.Unavailable, "is lost", "spec.loadBalancer")
}

// TestForgedClaim: what root of a host writes into its claim gets into no configuration
// of another host, and its machine is held.
func TestForgedClaim(t *testing.T) {
	b, gate := withGate(t, 2)
	c := b.cluster()
	b.inLine(c)
	b.createControlPlane(c, "cp-0")
	b.inLine(c)
	claim := strings.TrimSpace(b.hosts[0].Read("/var/lib/fairlead/host/claim"))
	if !strings.Contains(claim, `"apiPort":6443`) {
		t.Errorf("the claim does not note the port of the API server: %s", claim)
	}
	forged := strings.NewReplacer(`"host":"h0"`, `"host":"h1"`, `"cp-0"`, `"x 1.2.3.4:1\nprogram evil\n\tcommand id\n#"`).Replace(claim)
	forged = `{"id":"fedcba9876543210"` + forged[strings.Index(forged, ","):]
	b.hosts[1].Write("/var/lib/fairlead/host/claim", forged+"\n")
	b.p.Forget()
	got := b.observe(c)
	held := 0
	for _, m := range got.Machines {
		if m.Damaged != "" {
			held++
		}
	}
	if len(got.Machines) != 2 || held != 1 {
		t.Errorf("machines = %+v, want the forged one damaged, and the other as it is", got.Machines)
	}
	b.ensure(c)
	if config := gate.Exec("cat /var/lib/fairlead/host/machines/*/haproxy.cfg"); strings.Contains(config, "evil") || strings.Contains(config, "1.2.3.4") {
		t.Errorf("the load balancer has:\n%s", config)
	}
	wantServers(t, gate, "with a forged claim", "cp-0")
}

// TestFormerLoadBalancerServes: one that is to move serves until the other one runs.
func TestFormerLoadBalancerServes(t *testing.T) {
	b, gate := withGate(t, 2)
	b.boot("bare", "HAPROXY=no")
	c := b.named("api.example.com", 6443)
	b.inLine(c)
	b.createControlPlane(c, "cp-0")
	b.inLine(c)

	b.gate = "bare"
	moved := b.named("api.example.com", 6443)
	wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", moved), fleet.Unavailable, "host pool/bare", "apt-get install haproxy")
	wantServers(t, gate, "while the other one cannot run", "cp-0")
	got := b.observe(moved)
	if want := []string{"release the hosts of former load balancers", "run the load balancer on host pool/bare"}; !got.Ready || !slices.Equal(got.Drift, want) {
		t.Errorf("while the other one cannot run: %+v, want the cluster to go on, and %q", got, want)
	}

	b.gate = "h1"
	moved = b.named("api.example.com", 6443)
	b.inLine(moved)
	wantServers(t, b.hosts[1], "that moved", "cp-0")
	b.until("the first host is free", moved, func(fleet.Infrastructure) bool { return gate.Read("/var/lib/fairlead/host/claim") == "" })
}

// TestKnownLoadBalancerStays: machines know the API server at the address of the host of their load balancer.
// That stays, whatever Git names instead, until people say that the host is lost.
func TestKnownLoadBalancerStays(t *testing.T) {
	b, gate := withGate(t, 3)
	b.ssh.KnownHosts += strings.ReplaceAll(gate.KnownHosts(), "127.0.0.1", "localhost")
	b.edit = func(h *api.PoolHost) {
		h.Unschedulable = h.Name == gate.Name
		if h.Name == gate.Name {
			h.Address = "localhost"
		}
	}
	c := b.cluster()
	b.inLine(c)
	b.createControlPlane(c, "cp-0")
	b.inLine(c)
	lives := fleet.Residence{Provider: "hosts", ControlPlane: fleet.InitializedOnce, Endpoint: b.observe(c).Endpoint}
	if lives.Endpoint.Host != "localhost" {
		t.Fatalf("endpoint = %v, want the address of the host", lives.Endpoint)
	}

	mistakes := map[string]func() *fleet.Cluster{
		"another host":                               func() *fleet.Cluster { b.gate = "h2"; return b.cluster() },
		"another host, and its address":              func() *fleet.Cluster { b.gate = "h2"; return b.named("127.0.0.1", 6443) },
		"another host, and the address of the first": func() *fleet.Cluster { b.gate = "h2"; return b.named("localhost", 6443) },
		"no load balancer":                           func() *fleet.Cluster { b.gate = ""; return b.cluster() },
		"another port":                               func() *fleet.Cluster { b.gate = gate.Name; return b.named("localhost", 443) },
	}
	for what, mistake := range mistakes {
		mistaken := mistake().WithResidence(lives)
		wantKind(t, b.p.EnsureInfrastructure(t.Context(), "op", mistaken), fleet.Invalid, "put it back, or make a new cluster")
		wantServers(t, gate, "where Git names "+what, "cp-0")
		if config := gate.Exec("cat /var/lib/fairlead/host/machines/*/haproxy.cfg"); !strings.Contains(config, "bind *:6443") {
			t.Errorf("where Git names %s: the port is another: %s", what, config)
		}
		got := b.observe(mistaken)
		if !got.Ready || got.Endpoint != lives.Endpoint || !strings.Contains(strings.Join(got.Drift, "\n"), "put it back") {
			t.Errorf("where Git names %s: %+v, want the cluster to go on at %v, and that to be told", what, got, lives.Endpoint)
		}
	}

	b.gate = ""
	without := b.cluster().WithResidence(lives)
	b.createControlPlane(without, "cp-1")
	_ = b.p.EnsureInfrastructure(t.Context(), "op", without) // it tells what it does not follow
	wantServers(t, gate, "of a new machine", "cp-0", "cp-1")
	b.remove(without, "cp-0")
	wantServers(t, gate, "of a machine that goes", "cp-1")

	edit := b.edit
	b.edit = func(h *api.PoolHost) { edit(h); h.Lost = h.Name == gate.Name }
	lives.Endpoint = b.observe(b.cluster().WithResidence(lives)).Endpoint
	b.edit = edit
	b.until("the host is free", b.cluster().WithResidence(lives), func(fleet.Infrastructure) bool {
		b.ensure(b.cluster().WithResidence(lives))
		return gate.Read("/var/lib/fairlead/host/claim") == ""
	})
}
