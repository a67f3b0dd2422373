package hosts_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
	"fairlead.dev/test/run/waits"
)

// TestReleaseIsClean: nothing of a machine that could let anybody in, or run on, is left
// on its host, and what was there before is there again.
func TestReleaseIsClean(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Exec("useradd --create-home theirs && mkdir -m 0700 /home/theirs/.ssh && echo their-key >/home/theirs/.ssh/authorized_keys && chown -R theirs: /home/theirs/.ssh")
	h.Exec("mkdir -p /var/lib/fairlead/host/machines/1111111111111111 && echo ca-key >/var/lib/fairlead/host/machines/1111111111111111/user-data && touch -d '1 hour ago' /var/lib/fairlead/host/machines/1111111111111111")
	b.ensure(c)
	b.create(c, "m-0", cloudConfig(`users:
- name: theirs
  ssh_authorized_keys: [ssh-ed25519 AAAA tenant]
- name: tenant
  ssh_authorized_keys: [ssh-ed25519 AAAA tenant]
runcmd:
- mkdir -p /root/.kube /var/log/pods/one
- echo key >/root/.kube/config
- echo task-1 >/var/lib/tasks
- su tenant -c 'setsid sleep 1000 >/dev/null 2>&1 &'
- echo yes >/opt/ran
`))
	b.until("it ran", c, func(fleet.Infrastructure) bool { return h.Read("/opt/ran") != "" })
	if left := h.Exec("ls /var/lib/fairlead/host/machines"); strings.Contains(left, "1111111111111111") {
		t.Errorf("what was laid out for a claim that was never made is still there: %s", left)
	}
	if keys := h.Read("/home/theirs/.ssh/authorized_keys"); !strings.Contains(keys, "tenant") {
		t.Fatalf("keys = %q, want the tenant's", keys)
	}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	if keys := h.Read("/home/theirs/.ssh/authorized_keys"); keys != "their-key\n" {
		t.Errorf("keys after the release = %q, want those from before", keys)
	}
	if got := h.Exec("id -u tenant 2>/dev/null; ls -d /home/tenant /root/.kube /var/log/pods /var/lib/tasks 2>/dev/null; ps axo args | grep '[s]leep 1000'; true"); got != "" {
		t.Errorf("left of the machine: %s", got)
	}
	wantRestart(t, h)
}

// wantRestart waits for the restart of the host, which comes after its claim is gone.
func wantRestart(t *testing.T, h *hoststest.Host) {
	t.Helper()
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline) && h.Read("/var/lib/reboots") == ""; {
		time.Sleep(tick)
	}
	if got := h.Read("/var/lib/reboots"); got != "reboot\n" {
		t.Errorf("restarts of the host = %q, want one", got)
	}
}

// TestReleaseWithoutRestart: a pool may say that its hosts stay up. Then a release ends
// only when nothing runs on.
func TestReleaseWithoutRestart(t *testing.T) {
	b := newBench(t, 1)
	no := false
	b.pool = func(p *api.HostPoolSpec) { p.RebootOnRelease = &no }
	h, c := b.hosts[0], b.cluster()
	b.ensure(c)
	b.create(c, "m-0", userData("true"))
	b.until("it ran", c, func(i fleet.Infrastructure) bool { return state(i, "m-0") == fleet.MachineRunning })
	h.Exec("/usr/sbin/sshd -f /etc/ssh/test_config -p 10250")
	b.remove(c, "m-0")
	got := b.watch("the release stops", c, func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 1 && strings.Contains(i.Machines[0].Message, "still listens on the port")
	})
	if !got.Machines[0].Interrupted {
		t.Errorf("machine = %+v, want it to tell that its removal is to be asked for again", got.Machines[0])
	}
	h.Exec("pkill -f -- '[-]p 10250'")
	b.until("the host is free", c, gone)
	if got := h.Read("/var/lib/reboots"); got != "" {
		t.Errorf("restarts of the host = %q, want none", got)
	}
}

// TestRestartingHost: a host that is about to restart is not claimed.
func TestRestartingHost(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	b.ensure(c)
	h.Exec("touch /run/fairlead-restarting")
	err := b.p.CreateMachine(t.Context(), "op", request(c, "m-0", userData("true")))
	wantKind(t, err, fleet.Exhausted, "h0 restarts after its release")
	h.Exec("touch -d '10 minutes ago' /run/fairlead-restarting") // it did not
	b.create(c, "m-0", userData("true"))
}
