package kubeadm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/driver/endpoint"
)

// announcing returns the user data of a machine whose endpoint servers have by turns.
func announcing(t *testing.T, join fleet.Join, spec bootstrapv1.KubeadmConfigSpec, v *endpoint.VirtualIP) string {
	t.Helper()
	in := input(t, join, "v1.35.0", spec)
	in.VirtualIP = v
	in.Cluster.ControlPlane.Bootstrap = configured(spec)
	var data providers.UserData
	var err error
	if data, err = userData(in); err != nil {
		t.Fatal(err)
	}
	return string(data.Content.Reveal())
}

// TestVirtualIPGolden: servers announce the endpoint, the first one with the kubeconfig that
// may do so before kubeadm is done; workers do not, and nobody where people bring their own.
func TestVirtualIPGolden(t *testing.T) {
	v := &endpoint.VirtualIP{Interface: "eth0"}
	for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane} {
		file := filepath.Join("testdata", string(join)+"-v1.35.0-virtualip.yaml")
		got := announcing(t, join, bootstrapv1.KubeadmConfigSpec{}, v)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("user data differs from %s (-want +got):\n%s", file, d)
		}
		if first := strings.Contains(got, "/etc/kubernetes/super-admin.conf"); first != (join == fleet.JoinInit) {
			t.Errorf("%s asks with the first machine's kubeconfig: %v", join, first)
		}
		own := bootstrapv1.KubeadmConfigSpec{Files: []bootstrapv1.File{{Path: "/etc/kubernetes/manifests/vip.yaml", Content: "address: 192.0.2.10"}}}
		if announcing(t, join, own, v) != announcing(t, join, own, nil) {
			t.Errorf("%s: there is a second static pod beside that of people", join)
		}
	}
	if announcing(t, fleet.JoinWorker, bootstrapv1.KubeadmConfigSpec{}, v) != announcing(t, fleet.JoinWorker, bootstrapv1.KubeadmConfigSpec{}, nil) {
		t.Error("a worker announces the endpoint")
	}
	if got := announcing(t, fleet.JoinInit, bootstrapv1.KubeadmConfigSpec{Format: bootstrapv1.Ignition}, v); !strings.Contains(got, `"/etc/kubernetes/manifests/kube-vip.yaml"`) {
		t.Errorf("with Ignition there is none: %s", got)
	}
	in := input(t, fleet.JoinInit, "v1.35.0", bootstrapv1.KubeadmConfigSpec{})
	in.VirtualIP, in.Endpoint.Host = v, "api.example.com"
	if _, err := (kubeadm.Distribution{}).UserData(in); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "api.example.com") {
		t.Errorf("of a name: %v", err)
	}
}
