package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/needs"
)

// TestCloudInit: the host's own cloud-init runs the user data, without a restart and
// without a change of what the host is besides; after the release it is what it was.
func TestCloudInit(t *testing.T) {
	needs.Program(t, "cloud-init", "apt-get install cloud-init")
	b := newBench(t, 1, "CLOUDINIT=yes")
	h, c := b.hosts[0], b.cluster()
	// cloud-init made this host once, and is told to believe for ever that it did.
	h.Write("/etc/cloud/cloud.cfg.d/50-theirs.cfg", "datasource_list: [NoCloud]\nmanual_cache_clean: true\nnetwork: {config: disabled}\n")
	h.Write("/var/lib/cloud/seed/nocloud/meta-data", "instance-id: their-own\n")
	h.Write("/var/lib/cloud/seed/nocloud/user-data", "#cloud-config\n{}\n")
	h.Exec("cloud-init init --local")
	h.Remove("/var/lib/cloud/seed")
	h.Write("/var/lib/cloud/instances/their-own/marker", "theirs")
	key, keys := h.Read("/etc/ssh/test_key"), h.Exec("ls /etc/ssh")
	b.ensure(c)
	b.create(c, "m-0", userData())
	got := b.until("the user data ran", c, func(i fleet.Infrastructure) bool {
		return state(i, "m-0") == fleet.MachineFailed || h.Read("/etc/kubernetes/kubelet.conf") != ""
	})
	if state(got, "m-0") != fleet.MachineRunning {
		t.Fatalf("machine = %+v, want it running", got.Machines)
	}
	id := string(got.Machines[0].ProviderID)
	if text := h.Read("/etc/machine.conf"); text != "name=m-0 id="+id {
		t.Errorf("file of the user data = %q, want the variables in it", text)
	}
	if name := strings.TrimSpace(h.Exec("uname -n")); name != "m-0" {
		t.Errorf("the host is called %q, want the name of the machine", name)
	}
	if h.Read("/etc/ssh/test_key") != key || h.Exec("ls /etc/ssh") != keys {
		t.Error("the keys of the host changed")
	}
	told := "grep -rls " + id + " /run/cloud-init; true" // files of what cloud-init was given
	if h.Exec(told) == "" {
		t.Error("cloud-init tells nothing of the machine in /run/cloud-init")
	}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	if files := h.Exec(told); files != "" {
		t.Errorf("after the release %s is of the machine", files)
	}
	for _, path := range []string{"/etc/machine.conf", "/etc/cloud/cloud.cfg.d/99-zz-fairlead.cfg", "/var/lib/cloud/seed/nocloud/user-data"} {
		if h.Read(path) != "" {
			t.Errorf("%s is there after the release", path)
		}
	}
	if h.Exec("cat /var/lib/cloud/instance/marker") != "theirs" {
		t.Error("cloud-init does not remember the instance that the host was before")
	}
	if name := strings.TrimSpace(h.Exec("uname -n")); name != "h0" {
		t.Errorf("the host is called %q after the release, want its own name", name)
	}
	b.create(c, "m-0", userData()) // of the same name: cloud-init remembers the last one that it gave
	b.until("the host was used again", c, func(i fleet.Infrastructure) bool {
		return state(i, "m-0") == fleet.MachineRunning && strings.HasPrefix(h.Read("/etc/machine.conf"), "name=m-0 ")
	})
	if name := strings.TrimSpace(h.Exec("uname -n")); name != "m-0" {
		t.Errorf("the host that was used again is called %q, want the name of the machine", name)
	}
}
