package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// TestLife: a host is claimed, runs the user data, and is as it was after the release.
func TestLife(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/etc/machine.conf", "theirs")
	h.Write("/var/lib/iptables", "*filter\n-A INPUT -j ACCEPT\n-A KUBE-SERVICES -j DROP\nCOMMIT\n")
	b.ensure(c)
	b.create(c, "m-0", userData())
	got := b.until("the user data ran", c, func(i fleet.Infrastructure) bool {
		return state(i, "m-0") == fleet.MachineRunning && h.Read("/etc/kubernetes/kubelet.conf") != ""
	})
	id := string(got.Machines[0].ProviderID)
	if !strings.HasPrefix(id, "hosts://pool/h0/") {
		t.Errorf("provider id = %q, want that of the host with the claim", id)
	}
	if text := h.Read("/etc/machine.conf"); text != "name=m-0 id="+id {
		t.Errorf("file of the user data = %q, want the variables in it", text)
	}
	if name := strings.TrimSpace(h.Exec("uname -n")); name != "m-0" {
		t.Errorf("the host is called %q, want the name of the machine", name)
	}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	if text := h.Read("/etc/machine.conf"); text != "theirs" {
		t.Errorf("file after the release = %q, want what was there before", text)
	}
	for _, path := range []string{"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.key", "/var/lib/etcd/member/db", "/etc/cni/net.d/10-flannel.conflist"} {
		if h.Read(path) != "" {
			t.Errorf("%s is there after the release", path)
		}
	}
	if rules := h.Read("/var/lib/iptables"); strings.Contains(rules, "KUBE-") || !strings.Contains(rules, "INPUT") {
		t.Errorf("packet filter after the release = %q, want the rules of others", rules)
	}
	if mounts := h.Exec("cat /proc/mounts"); strings.Contains(mounts, "/var/lib/kubelet/") {
		t.Errorf("volumes are mounted after the release:\n%s", mounts)
	}
	if name := strings.TrimSpace(h.Exec("uname -n")); name != "h0" {
		t.Errorf("the host is called %q after the release, want its own name", name)
	}
	if left := h.Exec("ls /var/lib/fairlead/host/machines"); left != "" {
		t.Errorf("left of the machine: %q", left)
	}
	if !strings.Contains(h.Read("/var/lib/kubeadm.calls"), "kubeadm reset --force") {
		t.Error("kubeadm reset was not called")
	}
}
