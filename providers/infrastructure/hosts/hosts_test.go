package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/test/run/needs"
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
	wantRestart(t, h)
	if !strings.Contains(h.Read("/var/lib/kubeadm.calls"), "kubeadm reset --force") {
		t.Error("kubeadm reset was not called")
	}
}

// TestScript: what cloud-init would do of the user data, a script does as well.
func TestScript(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/etc/appended", "first\n")
	b.ensure(c)
	b.create(c, "m-0", cloudConfig(`bootcmd:
- [sh, -c, "echo \"$1\" >/opt/boot", x, "a 'quoted' word"]
users:
- default
- name: deploy
  groups: adm, users
  shell: /bin/sh
  sudo: ALL=(ALL) NOPASSWD:ALL
  ssh_authorized_keys: [ssh-ed25519 AAAA deploy]
write_files:
- {path: /etc/a/b/zipped, encoding: gz+b64, content: H4sIAAAAAAAAA8vIBACsKpPYAgAAAA==, permissions: '0750', owner: 'deploy:deploy'}
- {path: /etc/appended, append: true, content: "second\n"}
- {path: /etc/plain, content: "it's $HOME and \\ and `+"`x`"+`\n"}
runcmd:
- 'false'
- echo "{{ local_hostname }}" >/opt/run
`))
	b.until("it ran", c, func(fleet.Infrastructure) bool { return h.Read("/opt/run") != "" })
	for path, want := range map[string]string{
		"/opt/boot": "a 'quoted' word\n", "/opt/run": "m-0\n", "/etc/a/b/zipped": "hi", "/etc/appended": "first\nsecond\n",
		"/etc/plain": "it's $HOME and \\ and `x`\n", "/home/deploy/.ssh/authorized_keys": "ssh-ed25519 AAAA deploy\n",
	} {
		if got := h.Read(path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if got := h.Exec("stat -c '%a %U' /etc/a/b/zipped; id -nG deploy"); got != "750 deploy\ndeploy adm users\n" {
		t.Errorf("file and user = %q", got)
	}
	if _, err := needs.LookPath("sudo"); err == nil {
		if got := h.Exec("sudo -n -u deploy sudo -n id -u"); got != "0\n" {
			t.Errorf("the user as root = %q", got)
		}
	}
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	if got := h.Exec("cat /etc/appended /etc/hosts; id -u deploy; ls /etc/plain /home; true"); strings.Contains(got, "second") || strings.Contains(got, "deploy\n") || strings.Contains(got, "/etc/plain\n") || strings.Contains(got, "m-0") {
		t.Errorf("after the release: %q, want what was there before", got)
	}

	err := b.p.CreateMachine(t.Context(), "op", request(c, "m-1", cloudConfig("mounts: [[/dev/sdb, /var/lib/etcd]]\n")))
	wantKind(t, err, fleet.Exhausted, "h0 has no cloud-init, which mounts of the user data needs")
	err = b.p.CreateMachine(t.Context(), "op", request(c, "m-1", providers.UserData{Format: "ignition"}))
	wantKind(t, err, fleet.Invalid, "Ignition")
}

func cloudConfig(text string) providers.UserData {
	return providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("## template: jinja\n#cloud-config\n" + text))}
}
