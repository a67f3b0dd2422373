package hosts_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
)

// TestSilentHost: the machine of a host that does not answer is neither forgotten nor
// made twice, by an agent that knows nothing either, and a person can say that it is lost.
func TestSilentHost(t *testing.T) {
	b := newBench(t, 3)
	c := b.cluster()
	b.ensure(c)
	b.create(c, "m-0", userData())
	first := b.until("it runs", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineRunning })
	b.hosts[0].Off()
	b.p = b.provider()
	got := b.observe(c)
	if len(got.Machines) != 1 || got.Machines[0].ProviderID != first.Machines[0].ProviderID || !got.Machines[0].Silent ||
		got.Machines[0].State != fleet.MachineRunning || !strings.Contains(got.Machines[0].Message, "does not answer") {
		t.Fatalf("machines with the host off = %+v, want the one that is on it", got.Machines)
	}
	b.create(c, "m-0", userData()) // adopts
	b.create(c, "m-1", userData())
	for _, m := range b.observe(c).Machines {
		if m.Name == "m-0" && m.ProviderID != first.Machines[0].ProviderID {
			t.Errorf("m-0 was made a second time: %+v", m)
		}
	}

	b.remove(c, "m-0")
	b.p = b.provider()
	if got := state(b.observe(c), "m-0"); got != fleet.MachineDeleting {
		t.Errorf("the machine of a silent host after its deletion = %q, want Deleting", got)
	}
	b.hosts[0].On()
	b.until("the host cleaned itself when it came back", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == "" })
	if calls := b.hosts[0].Read("/var/lib/kubeadm.calls"); !strings.Contains(calls, "reset") {
		t.Errorf("kubeadm was called with %q, want a reset", calls)
	}

	// Two of three silent: the third cannot know.
	b.hosts[1].Off()
	b.hosts[2].Off()
	b.p = b.provider()
	_, err := b.p.Observe(t.Context(), c)
	wantKind(t, err, fleet.Unavailable, "HostPool pool", "lost: true")
	b.edit = func(h *api.PoolHost) { h.Lost = h.Name != "h0" }
	if got := b.observe(b.cluster()); len(got.Machines) != 0 {
		t.Errorf("machines of hosts that a person said are lost = %+v, want none", got.Machines)
	}
}

// TestKeyOfHost: a host with another key than known_hosts says is not talked to.
func TestKeyOfHost(t *testing.T) {
	b := newBench(t, 1)
	c := b.cluster()
	b.hosts[0].NewHostKey()
	_, err := b.p.Observe(t.Context(), c)
	wantKind(t, err, fleet.Unauthorized, "known_hosts", "host pool/h0 (127.0.0.1:", "another one")
	b.ssh.KnownHosts = "other.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIHpvR4RtAGyZ1cWdDVpMvWEI+H7cBTbnhSLMQAeGkHN\n"
	b.p = b.provider()
	_, err = b.p.Observe(t.Context(), b.cluster())
	wantKind(t, err, fleet.Unauthorized, "is not in known_hosts", "host pool/h0")
	b.ssh.KnownHosts = ""
	b.p = b.provider()
	_, err = b.p.Observe(t.Context(), b.cluster())
	wantKind(t, err, fleet.Unauthorized, "no known_hosts are given")
}

// TestBrokenConnection: wherever the connection breaks while a machine is handed over,
// the host is claimed as a whole or not at all, and the machine is made once.
func TestBrokenConnection(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	b.ensure(c)
	large := userData("true # " + strings.Repeat("and so on ", 5000)) // SSH hands over 32 KiB at a time
	broken := 0
	for cut := 10000; ; cut += 25000 {
		h.Set(hoststest.Fault{})
		b.p = b.provider()
		b.observe(c)
		h.Set(hoststest.Fault{CutAt: cut}) // of a new connection: the look before a claim, then the claim
		err := b.p.CreateMachine(t.Context(), "op", request(c, "m-0", large))
		h.Set(hoststest.Fault{})
		b.p.Forget()
		got := b.observe(c)
		if err == nil {
			if len(got.Machines) != 1 {
				t.Fatalf("machines after a creation that worked = %+v", got.Machines)
			}
			break
		}
		broken++
		if len(got.Machines) > 0 {
			if fleet.KindOf(err) != fleet.Unanswered {
				t.Errorf("broken after %d bytes: %v, and there is a machine: want kind Unanswered", cut, err)
			}
			b.remove(c, "m-0")
			b.until("it is gone", c, gone)
		} else if left := h.Exec("ls /var/lib/fairlead/host/machines 2>/dev/null || true"); left != "" {
			t.Errorf("broken after %d bytes: left on the host: %s", cut, left)
		}
	}
	if broken < 2 {
		t.Errorf("the connection broke %d times, want it to break in the middle", broken)
	}
}

// TestRestart: a host that restarts in the middle of its bootstrap is not taken for one
// that still works on it, and one that restarts while it is cleaned goes on.
func TestRestart(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/opt/kubeadm-hang", "")
	b.ensure(c)
	b.create(c, "m-0", userData())
	b.until("kubeadm hangs", c, func(fleet.Infrastructure) bool { return h.Read("/var/lib/kubeadm.calls") != "" })
	h.Off()
	h.On()
	got := b.until("the machine failed", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineFailed })
	if m := got.Machines[0].Message; !strings.Contains(m, "restarted") {
		t.Errorf("message = %q, want it to tell of the restart", m)
	}
	b.remove(c, "m-0")
	b.until("kubeadm reset hangs", c, func(fleet.Infrastructure) bool { return strings.Contains(h.Read("/var/lib/kubeadm.calls"), "reset") })
	if got := state(b.observe(c), "m-0"); got != fleet.MachineDeleting {
		t.Errorf("state while the host is cleaned = %q, want Deleting", got)
	}
	h.Off()
	h.Remove("/opt/kubeadm-hang")
	h.On()
	b.until("the host is free", c, gone)
}

// TestFailedBootstrap: what went wrong is told in the words of the log, and a machine
// that hangs can be deleted.
func TestFailedBootstrap(t *testing.T) {
	b := newBench(t, 2)
	c := b.cluster()
	b.hosts[0].Write("/opt/kubeadm-fail", "")
	b.hosts[1].Write("/opt/kubeadm-hang", "")
	b.ensure(c)
	b.create(c, "m-0", userData())
	b.create(c, "m-1", userData())
	got := b.until("one failed", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineFailed })
	if m := got.Machines[0].Message; !strings.Contains(m, "error execution phase preflight: it does not work here") {
		t.Errorf("message = %q, want the end of the log", m)
	}
	b.until("the other hangs", c, func(fleet.Infrastructure) bool { return b.hosts[1].Read("/var/lib/kubeadm.calls") != "" })
	for _, h := range b.hosts {
		h.Remove("/opt/kubeadm-hang", "/opt/kubeadm-fail")
	}
	b.remove(c, "m-0")
	b.remove(c, "m-1")
	b.until("both hosts are free", c, gone)
	if ps := b.hosts[1].Exec("ps axo args"); strings.Contains(ps, "kubeadm join") {
		t.Errorf("kubeadm still runs:\n%s", ps)
	}
}

// TestFullDisk: a host without room refuses, and the next one is taken.
func TestFullDisk(t *testing.T) {
	b := newBench(t, 1, "DISK=24k")
	b.hosts = append(b.hosts, b.w.Host("h1"))
	b.ssh.KnownHosts += b.hosts[1].KnownHosts()
	c := b.cluster()
	b.ensure(c)
	b.create(c, "m-0", userData("true"))
	got := b.observe(c)
	if len(got.Machines) != 1 || !strings.HasPrefix(string(got.Machines[0].ProviderID), "hosts://pool/h1/") {
		t.Fatalf("machines = %+v, want one on the host that has room", got.Machines)
	}
	err := b.p.CreateMachine(t.Context(), "op", request(c, "m-1", userData("true")))
	wantKind(t, err, fleet.Exhausted, "h0 has no room on its disk", "h1 carries a machine of prod/eu-1")
}

// TestRace: of any number of agents that want a host, one gets it.
func TestRace(t *testing.T) {
	b := newBench(t, 1)
	const agents, rounds = 6, 3
	for round := range rounds {
		errs := make([]error, agents)
		clusters := make([]*fleet.Cluster, agents)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range agents {
			p := b.provider()
			clusters[i] = b.cluster()
			clusters[i].Fleet = fleet.ID(fmt.Sprintf("fleet-%d-%d", round, i))
			if err := p.EnsureInfrastructure(t.Context(), "op", clusters[i]); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				<-begin
				errs[i] = p.CreateMachine(t.Context(), "op", request(clusters[i], "m-0", userData("true")))
			})
		}
		close(begin)
		wg.Wait()
		b.p.Forget()
		won := -1
		for i, err := range errs {
			machines := len(b.observe(clusters[i]).Machines)
			switch {
			case err == nil && (won >= 0 || machines != 1):
				t.Fatalf("agent %d got the host that agent %d has; its machines: %d", i, won, machines)
			case err == nil:
				won = i
			case fleet.KindOf(err) != fleet.Exhausted || machines != 0:
				t.Errorf("agent %d: %v, machines: %d, want kind Exhausted and none", i, err, machines)
			}
		}
		if won < 0 {
			t.Fatal("nobody got the host")
		}
		b.remove(clusters[won], "m-0")
		b.until("the host is free", clusters[won], gone)
	}
}

// TestSlowHost: a host that takes longer than anybody waits for it is not claimed.
func TestSlowHost(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/usr/local/sbin/date", "#!/bin/sh\necho now >>/var/lib/dates\nexpr 20 '*' $(grep -c . /var/lib/dates)\n") // 20 s pass at each look
	b.ensure(c)
	err := b.p.CreateMachine(t.Context(), "op", request(c, "m-0", userData("true")))
	wantKind(t, err, fleet.Exhausted, "h0 took too long")
	if got := b.observe(c); len(got.Machines) > 0 {
		t.Errorf("machines = %+v, want none", got.Machines)
	}
}

// TestBootstrapThatHangs: user data that never ends is told, and ends with all that it
// started.
func TestBootstrapThatHangs(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/usr/local/sbin/timeout", "#!/bin/sh\n[ \"$2\" = 3600 ] || exec /usr/bin/timeout \"$@\"\nshift 2\nexec /usr/bin/timeout --kill-after=5 1 \"$@\"\n")
	b.ensure(c)
	b.create(c, "m-0", userData("sleep 1234 & sleep 1234"))
	got := b.watch("the machine failed", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineFailed })
	if m := got.Machines[0].Message; !strings.Contains(m, "did not come to its end within an hour") {
		t.Errorf("message = %q, want it to tell of the time", m)
	}
	if ps := h.Exec("ps axo args | grep '[s]leep 1234'; true"); ps != "" {
		t.Errorf("still runs: %s", ps)
	}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
}

// TestSecretsStayOutOfMessages: what a failed bootstrap wrote goes to Git, without the
// secrets of its user data.
func TestSecretsStayOutOfMessages(t *testing.T) {
	b := newBench(t, 1)
	c := b.cluster()
	b.ensure(c)
	b.create(c, "m-0", userData("set -x; curl --user deploy:hunter2007 https://registry.example.com; set +x; echo token is hunter2007; echo https://u:pass@example.com; echo password=simple; echo the end; exit 3"))
	got := b.watch("the machine failed", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineFailed })
	m := got.Machines[0].Message
	for _, secret := range []string{"hunter2007", "u:pass@", "simple", "--user"} {
		if strings.Contains(m, secret) {
			t.Errorf("message = %q, want it without %q", m, secret)
		}
	}
	for _, words := range []string{"token is REDACTED", "the end"} {
		if !strings.Contains(m, words) {
			t.Errorf("message = %q, want it to say %q", m, words)
		}
	}
}

// TestFirewall: a host whose firewalld lets nobody in is refused by name.
func TestFirewall(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/usr/local/sbin/firewall-cmd", `#!/bin/sh
case $* in
*--state*) exit 0 ;;
*--get-default-zone*) echo public ;;
*--get-active-zones*) printf 'public\n  interfaces: eth0\n' ;;
*--query-port=*) grep -qs "${3#--query-port=}" /opt/open ;;
*--info-zone*) echo '  target: default' ;;
esac
`)
	b.ensure(c)
	err := b.p.CreateMachine(t.Context(), "op", request(c, "m-0", userData("true")))
	wantKind(t, err, fleet.Exhausted, "h0 runs firewalld, which closes port 10250", "--add-port=10250/tcp")
	h.Write("/opt/open", "10250/tcp\n")
	b.p.Forget()
	b.create(c, "m-0", userData("true"))
}
