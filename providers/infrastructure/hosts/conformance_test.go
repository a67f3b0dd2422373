package hosts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
	"fairlead.dev/test/run/waits"
)

// The suite makes ten machines at once, and two more things that are not ours; of its
// clusters there are at most four at a time.
const (
	conformanceHosts = 13
	conformanceGates = 4
)

// TestConformance runs the suite over real SSH servers. The hosts are the same for
// all of its tests, but nothing is left on them from one to the next.
func TestConformance(t *testing.T) {
	b := newBench(t, conformanceHosts)
	b.edit = func(h *api.PoolHost) {
		if h.Name == "h3" || h.Name == "h4" {
			h.FailureDomain = "rack-b"
		}
	}
	conformance.Run(t, suite(b, func() {}))
}

// TestConformanceWithLoadBalancer runs what of the suite is about the shared part and
// about others, with a load balancer for each cluster on a host of its own.
func TestConformanceWithLoadBalancer(t *testing.T) {
	needHAProxy(t)
	b := newBench(t, conformanceHosts)
	b.edit = func(h *api.PoolHost) {
		h.Unschedulable = slices.ContainsFunc(b.hosts[conformanceHosts:], func(g *hoststest.Host) bool { return g.Name == h.Name })
		if atLocalhost(h.Name) {
			h.Address = "localhost"
		}
	}
	for i := range conformanceGates {
		gate := b.boot(fmt.Sprintf("gate%d", i))
		b.ssh.KnownHosts += strings.ReplaceAll(gate.KnownHosts(), "127.0.0.1", "localhost")
	}
	next := 0
	o := suite(b, func() {
		b.gate = fmt.Sprintf("gate%d", next%conformanceGates)
		next++
	})
	o.Jam = func(testing.TB, providers.Infrastructure) { b.gateHost().Set(hoststest.Fault{Refuse: true}) }
	for _, c := range conformance.Checks() {
		if slices.Contains([]string{
			"ObservePartOfIt", "EnsureInfrastructureTwice", "DeleteInfrastructureTwice", "DeleteInfrastructureWithMachines",
			"CreateMachinesAtOnce", "OtherClusterIsUntouched", "ForeignMachineIsUntouched", "EndpointServes", "KnownEndpointServes",
		}, c.Name) {
			t.Run(c.Name, func(t *testing.T) { c.Run(t, o) })
		}
	}
}

// atLocalhost reports whether the host called name has another address than its neighbors: so have load
// balancers by turns.
func atLocalhost(name string) bool { return name == "gate0" || name == "gate2" }

// suite is for the hosts of b, which before prepares for a cluster.
func suite(b *bench, before func()) conformance.Options {
	return conformance.Options{
		New: func(testing.TB) providers.Infrastructure {
			for _, h := range b.hosts {
				h.Set(hoststest.Fault{})
				h.Exec("pkill haproxy; rm -rf /var/lib/fairlead /opt/boot-fail " + setsid)
				count(h)
			}
			b.interrupted = false
			b.p = b.provider()
			return quiet{b.p, b}
		},
		Cluster: func() fleet.Cluster {
			before()
			return *b.cluster()
		},
		Provider: "hosts", Hooks: hooks(b),
		UserData: userData("test ! -e /opt/boot-fail"),
		// A claim of another tool holds a host as well as one of Fairlead.
		Foreign: func(_ testing.TB, _ providers.Infrastructure, name string) func() bool {
			h := b.hosts[len(name)%2]
			h.Write("/var/lib/fairlead/host/claim", "taken by hand for "+name)
			return func() bool { return h.Read("/var/lib/fairlead/host/claim") == "taken by hand for "+name }
		},
		// What one host does not tell the others do. A listing fails when more than
		// half of the hosts are silent, and all hosts are one listing.
		FailListing: func(t testing.TB, _ providers.Infrastructure, nth int) {
			if nth > 1 {
				for _, h := range b.hosts {
					h.Set(hoststest.Fault{})
				}
			} else {
				for _, h := range b.hosts[:len(b.hosts)/2+1] {
					h.Set(hoststest.Fault{Refuse: true})
				}
			}
			b.p.Forget()
		},
	}
}

// setsid starts what outlives a script.
const setsid = "/usr/local/sbin/setsid"

// counted stands before the shell of a host: of the scripts that come over SSH it
// writes down those that do more than look. After one that looks it carries out what
// is in /opt/looked, once.
const counted = `#!/bin/sh
script=$(mktemp /opt/script.XXXXXX)
cat >"$script"
exec 3<"$script"
if grep -q '^echo begin$' "$script" && mv /opt/looked "$script" 2>/dev/null; then
	sh -s <&3 3<&-
	code=$?
	sh "$script" >/dev/null
	rm "$script"
	exit $code
fi
grep -q '^echo begin$' "$script" || date +%s.%N >>/opt/changes
rm "$script"
exec sh -s <&3 3<&-
`

// count has a host write down the scripts that change it.
func count(h *hoststest.Host) {
	const force = "ForceCommand /opt/counted\n"
	h.Remove("/opt/changes")
	h.Write("/opt/counted", counted)
	if config := h.Read("/etc/ssh/test_config"); !strings.Contains(config, force) {
		h.Write("/etc/ssh/test_config", config+force)
	}
}

// hooks reach the hosts of b.
func hooks(b *bench) conformance.Hooks {
	const dir = "/var/lib/fairlead/host/"
	return conformance.Hooks{
		Changes: func(testing.TB, providers.Infrastructure) string {
			var out strings.Builder
			for _, h := range b.hosts {
				fmt.Fprintln(&out, h.Name, strings.Fields(h.Read("/opt/changes")))
			}
			return out.String()
		},
		Contents: func(t testing.TB, _ providers.Infrastructure) []string {
			var out []string
			for _, h := range b.hosts {
				for kind, pattern := range map[string]string{"claim": "claim", "machine": "machines/*", "note": "notes/*"} {
					files, err := filepath.Glob(h.Path(dir + pattern))
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range files {
						// Notes of machines outlive them by minutes, and hold no host.
						if kind == "note" && strings.Contains(h.Read(dir+"notes/"+filepath.Base(f)), fleet.TagMachine) {
							continue
						}
						out = append(out, kind+" "+h.Name+" "+filepath.Base(f))
					}
				}
			}
			slices.Sort(out)
			return out
		},
		Interrupt: func(testing.TB, providers.Infrastructure) func() {
			for _, h := range b.hosts {
				h.Write(setsid, "#!/bin/sh\n") // it starts nothing
			}
			b.interrupted = true
			return func() {
				for _, h := range b.hosts {
					h.Remove(setsid)
				}
			}
		},
		Retag: func(t testing.TB, _ providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			for _, h := range b.hosts {
				var claim map[string]any
				if text := h.Read(dir + "claim"); !strings.Contains(string(id), "/"+h.Name+"/") || text == "" {
					continue
				} else if err := json.Unmarshal([]byte(text), &claim); err != nil {
					t.Fatal(err)
				}
				tags := make(map[string]string)
				for k, v := range claim["tags"].(map[string]any) {
					tags[k], _ = v.(string)
				}
				change(tags)
				claim["tags"] = tags
				text, err := json.Marshal(claim)
				if err != nil {
					t.Fatal(err)
				}
				h.Write(dir+"claim", string(text)+"\n")
			}
		},
		// Without a load balancer the servers hand a virtual address to each other.
		Served: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []fleet.MachineName) {
			if gate := b.gateHost(); gate != nil {
				if known := c.Residence.Endpoint.Port; known != 0 && !strings.Contains(gate.Exec(balancerConfig), fmt.Sprintf("bind *:%d\n", known)) {
					return nil
				}
				names, _ := servers(gate)
				for _, name := range names {
					out = append(out, fleet.MachineName(name))
				}
				return out
			}
			got, err := p.Observe(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range got.Machines {
				if m.Role == fleet.RoleControlPlane {
					out = append(out, m.Name)
				}
			}
			return out
		},
		LoseRecords: func(_ testing.TB, _ providers.Infrastructure, id fleet.ProviderID) func() bool {
			h := b.hosts[slices.IndexFunc(b.hosts, func(h *hoststest.Host) bool { return strings.Contains(string(id), "/"+h.Name+"/") })]
			before := h.Read(dir + "claim")
			h.Set(hoststest.Fault{Refuse: true}) // each host has the records of what it runs
			return func() bool { return h.Read(dir+"claim") == before }
		},
		Twin: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster, id fleet.ProviderID) *fleet.Cluster {
			edit, pool := b.edit, b.pool
			t.Cleanup(func() { b.edit, b.pool = edit, pool })
			is := func(h *api.PoolHost) bool { return strings.Contains(string(id), "/"+h.Name+"/") }
			b.edit = func(h *api.PoolHost) { h.Unschedulable = !is(h) }
			b.pool = func(s *api.HostPoolSpec) {
				twin := s.Hosts[slices.IndexFunc(s.Hosts, func(h api.PoolHost) bool { return is(&h) })]
				twin.Name = "twin"
				s.Hosts = append(s.Hosts, twin)
			}
			m := b.cluster()
			m.Fleet, m.Key = c.Fleet, c.Key
			return m
		},
		TakeOver: func(t testing.TB, _ providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			const theirs = `{"id":"00000000000000ff","tags":{"fairlead.dev/fleet":"conformance","fairlead.dev/cluster":"prod/theirs"}}`
			i := slices.IndexFunc(b.hosts, func(h *hoststest.Host) bool { return strings.Contains(string(id), "/"+h.Name+"/") })
			if i < 0 {
				t.Fatalf("no host has %q", id)
			}
			h := b.hosts[i]
			h.Write("/opt/looked", "d="+dir+"machines/00000000000000ff; mkdir -p $d; echo '"+theirs+"' >$d/claim; ln -f $d/claim "+dir+"claim\n")
			return func() (bool, bool) {
				return h.Read("/opt/looked") == "", strings.Contains(h.Read(dir+"claim"), "prod/theirs")
			}
		},
		FailBoot: func(testing.TB, providers.Infrastructure) {
			for _, h := range b.hosts {
				h.Write("/opt/boot-fail", "")
			}
		},
		Mistaken: func(t testing.TB, _ providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster {
			m, pool := *c, c.Workers[0]
			pool.Infrastructure = object(t, "HostMachineTemplate", "mistaken", &api.HostMachineSpec{Bootstrap: api.BootstrapAuto, PoolName: "pol"})
			m.Workers = []fleet.Pool{pool}
			return []*fleet.Cluster{&m}
		},
		Renamed: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			gate := b.gate
			defer func() { b.gate = gate }()
			add := func(m *fleet.Cluster) {
				m.Fleet, m.Key = c.Fleet, c.Key
				out = append(out, m)
			}
			add(b.named("10.0.0.77", 6443))
			if gate == "" {
				return out
			}
			add(b.named(c.Residence.Endpoint.Host, 443))
			b.gate = "" // the servers hand an address to each other
			add(b.named("10.0.0.77", 6443))
			b.gate = "gate0"
			if atLocalhost(gate) {
				b.gate = "gate1"
			}
			add(b.cluster())
			return out
		},
		FailureDomain: "rack-b",
	}
}

// gateHost returns the host of the load balancer; nil: there is none.
func (b *bench) gateHost() *hoststest.Host {
	i := slices.IndexFunc(b.hosts, func(h *hoststest.Host) bool { return h.Name == b.gate })
	if i < 0 {
		return nil
	}
	return b.hosts[i]
}

// quiet is a provider whose settle window ends when no host is being cleaned: how
// long that takes depends on the machine that the test runs on.
type quiet struct {
	*hosts.Provider
	b *bench
}

// DeleteMachine implements providers.Infrastructure.
func (q quiet) DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	if frozen := q.b.hosts[0].Read(setsid) != ""; !frozen {
		q.b.interrupted = false
	}
	return q.Provider.DeleteMachine(ctx, op, c, name, id)
}

// Settle implements providers.Infrastructure. What was interrupted goes on when it is
// asked for again, and nobody waits for it.
func (q quiet) Settle() time.Duration {
	if q.b.interrupted {
		return 2 * tick
	}
	deadline := time.Now().Add(waits.Limit)
	for _, h := range q.b.hosts {
		for {
			left, err := filepath.Glob(h.Path("/var/lib/fairlead/host/machines/*/releasing"))
			if err != nil {
				q.b.t.Fatal(err)
			}
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				q.b.t.Fatalf("host %s is being cleaned for a minute", h.Name)
			}
			time.Sleep(tick)
		}
	}
	return 2 * tick // until the next look is a new one
}
