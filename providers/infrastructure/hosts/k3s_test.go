package hosts_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// TestReleaseOfK3s: a host that ran K3s or RKE2 keeps nothing that would have it join its
// former cluster after the restart.
func TestReleaseOfK3s(t *testing.T) {
	b := newBench(t, 1)
	h, c := b.hosts[0], b.cluster()
	h.Write("/opt/rke2/bin/rke2-killall.sh", "#!/bin/sh\necho killed >>/var/lib/killed\n")
	h.Exec("chmod 0755 /opt/rke2/bin/rke2-killall.sh; mkdir -p /var/lib/rancher/k3s/agent/images; echo theirs >/var/lib/rancher/k3s/agent/images/all.tar")
	b.ensure(c)
	b.create(c, "m-0", userData(
		"mkdir -p /var/lib/rancher/k3s/server/db /var/lib/rancher/k3s/agent/pods /var/lib/rancher/rke2/server/tls /etc/rancher/node",
		"echo data >/var/lib/rancher/k3s/server/db/state.db; echo key >/var/lib/rancher/rke2/server/tls/server-ca.key",
		"echo conf >/var/lib/rancher/k3s/agent/kubelet.kubeconfig; echo secret >/etc/rancher/node/password",
		"echo success > /run/cluster-api/bootstrap-success.complete",
	))
	b.until("the user data ran", c, func(i fleet.Infrastructure) bool {
		return state(i, "m-0") == fleet.MachineRunning && h.Read("/etc/rancher/node/password") != ""
	})
	b.remove(c, "m-0")
	b.until("the host is free", c, gone)
	for _, path := range []string{
		"/var/lib/rancher/k3s/server/db/state.db", "/var/lib/rancher/rke2/server/tls/server-ca.key",
		"/var/lib/rancher/k3s/agent/kubelet.kubeconfig", "/etc/rancher/node/password",
	} {
		if h.Read(path) != "" {
			t.Errorf("%s is there after the release", path)
		}
	}
	if !strings.Contains(h.Read("/var/lib/killed"), "killed") {
		t.Error("rke2-killall.sh was not called")
	}
	if h.Read("/var/lib/rancher/k3s/agent/images/all.tar") == "" {
		t.Error("images that somebody laid out are gone")
	}
}
