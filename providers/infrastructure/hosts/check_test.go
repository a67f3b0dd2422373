package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// TestCheck: each host is for one machine, the load balancer's is for none, and one that does not
// answer is told with the reason. Nothing is changed on a host.
func TestCheck(t *testing.T) {
	b := newBench(t, 4)
	check := func(c *fleet.Cluster) string {
		t.Helper()
		found, err := b.p.Check(t.Context(), []*fleet.Cluster{c})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range found {
			if f.Err != nil {
				f.Text = string(fleet.KindOf(f.Err)) + ": " + f.Err.Error()
			}
			out = append(out, f.What+": "+f.Text)
		}
		return strings.Join(out, "\n")
	}
	want := func(at, got string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q, want %q in it", at, got, word)
			}
		}
	}
	b.gate = "h3"
	c := b.cluster()
	c.ControlPlane.Replicas, c.Workers[0].Replicas = 1, 2
	want("before", check(c), "hosts: there are 1 for 1 machines of pool eu-1-cp", "hosts: there are 2 for 2 machines of pool eu-1-md-0")
	c.Workers[0].Replicas = 3
	want("too few", check(c), "Exhausted: ", "3 more are needed, and only 2 are free: h0 is for another machine; h3 is for the load balancer (add hosts to a HostPool in namespace prod")

	b.gate = ""
	c = b.cluster()
	c.Workers[0].Replicas = 1
	b.ensure(c)
	b.create(c, "m-0", userData())
	b.until("it runs", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineRunning })
	want("one is there", check(c), "pool eu-1-md-0 has all its machines")
	c.Workers[0].Replicas = 5
	want("it is on a host", check(c), "4 more are needed, and only 3 are free: h0 carries a machine of prod/eu-1")

	b.hosts[3].Off()
	b.p = b.provider()
	c.Workers[0].Replicas = 3
	want("one is off", check(c), "host: Unavailable: cannot look at host pool/h3", "there are 2 for 2 machines")
	c.Workers[0].Replicas = 4
	want("one is off, and is needed", check(c), "h3 does not answer")
	b.hosts[2].Off()
	b.hosts[1].Off()
	b.p = b.provider()
	want("too few answer", check(c), "hosts: Unavailable: ", "3 of 4 do not answer")

	b.hosts = b.hosts[:1]
	b.pool = func(s *api.HostPoolSpec) { s.SSH.User = "nobody" }
	b.p = b.provider()
	want("nobody signs in", check(b.cluster()), "hosts: Unauthorized: ")
}
