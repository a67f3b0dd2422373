package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
)

// files returns every file of the host with its time and size, but for the one that
// HAProxy writes when it is done with a reload.
func files(h *hoststest.Host) string {
	return h.Exec("find /etc /var/lib /root /home /opt /run /usr/local/sbin -not -type d -not -name fairlead-load-balancer.pid -printf '%p %y %s %T@ %C@\n' | sort")
}

// differences returns the lines that are in one of two texts alone.
func differences(a, b string) string {
	var out []string
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for line := range strings.Lines(pair[0]) {
			if !strings.Contains(pair[1], line) {
				out = append(out, line)
			}
		}
	}
	return strings.Join(out, "")
}

// freeze has nothing start on the host: it tells what was to.
func freeze(h *hoststest.Host) {
	h.Write("/usr/local/sbin/setsid", "#!/bin/sh\necho \"$*\" >>/opt/started\n")
}

func thaw(h *hoststest.Host) { h.Remove("/usr/local/sbin/setsid") }

// TestLookingChangesNothing goes through what a look may find half done. It tells what
// is to be done, and leaves every host as it is; the planner's calls do it.
func TestLookingChangesNothing(t *testing.T) {
	b, gate := withGate(t, 3)
	c := b.cluster()
	look := func(when string) fleet.Infrastructure {
		t.Helper()
		before := make(map[string]string)
		for _, h := range b.hosts {
			before[h.Name] = files(h)
		}
		var got fleet.Infrastructure
		for range 2 {
			b.p = b.provider() // knows nothing
			got = b.observe(c)
			if _, err := b.p.Orphans(t.Context(), c.Fleet, []*fleet.Cluster{c}); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range b.hosts {
			if d := differences(before[h.Name], files(h)); d != "" {
				t.Errorf("%s: a look changed host %s:\n%s", when, h.Name, d)
			}
		}
		return got
	}
	machine := func(i fleet.Infrastructure, name fleet.MachineName) fleet.Machine {
		t.Helper()
		for _, m := range i.Machines {
			if m.Name == name {
				return m
			}
		}
		t.Fatalf("machine %s is not there: %+v", name, i.Machines)
		return fleet.Machine{}
	}

	look("nothing is there")
	b.inLine(c)
	look("all is in line")

	freeze(b.hosts[0])
	b.createControlPlane(c, "cp-0")
	b.watch("the start was interrupted", c, func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 1 })
	got := look("a host is claimed, and nothing was started")
	if !strings.Contains(strings.Join(got.Upkeep, "\n"), "start machine cp-0") {
		t.Errorf("upkeep = %q, want it to tell of the machine that was not started", got.Upkeep)
	}
	thaw(b.hosts[0])
	b.ensure(c)
	b.until("it ran to its end", c, func(i fleet.Infrastructure) bool {
		return state(i, "cp-0") == fleet.MachineRunning && b.hosts[0].Exec("find /var/lib/fairlead/host/machines -name finished") != ""
	})

	b.inLine(c)
	gate.Exec("pkill haproxy")
	if got := look("the load balancer died"); got.Ready {
		t.Error("infrastructure is ready without its load balancer")
	}
	b.inLine(c)
	b.hosts[1].Exec("rm -f /var/lib/fairlead/host/notes/*")
	b.hosts[2].Exec("rm -f /var/lib/fairlead/host/notes/*")
	look("notes are missing")
	b.inLine(c)

	freeze(b.hosts[0])
	b.remove(c, "cp-0")
	b.watch("the release was to start", c, func(fleet.Infrastructure) bool { // in the background of its script
		return strings.Contains(b.hosts[0].Read("/opt/started"), "release")
	})
	got = look("a release was not started")
	if m := machine(got, "cp-0"); m.State != fleet.MachineDeleting || !m.Interrupted {
		t.Errorf("machine = %+v, want it to be deleted, and to tell that it was interrupted", m)
	}
	thaw(b.hosts[0])
	b.remove(c, "cp-0")
	b.until("the host is free", c, func(i fleet.Infrastructure) bool { return state(i, "cp-0") == "" })

	b.create(c, "m-0", userData("true"))
	b.until("it ran", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineRunning })
	b.hosts[0].Off()
	b.p = b.provider()
	b.remove(c, "m-0")
	b.hosts[0].On()
	got = look("a host came back that is to be released")
	if m := machine(got, "m-0"); m.State != fleet.MachineDeleting || !m.Interrupted {
		t.Errorf("machine = %+v, want it to be deleted, and to tell that it was interrupted", m)
	}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	b.edit = func(h *api.PoolHost) { h.Unschedulable, h.Lost = h.Name == b.gate, h.Name == "h1" }
	c = b.cluster()
	look("a host is lost")
}
