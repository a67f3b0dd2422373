package rancher_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
)

// TestVirtualIP: servers of K3s and RKE2 announce the endpoint by a static pod with the
// kubeconfig that their own API server knows.
func TestVirtualIP(t *testing.T) {
	for name, d := range distributions() {
		c := cluster(t, name)
		data := func(join fleet.Join, v *endpoint.VirtualIP) string {
			t.Helper()
			in := input(t, &c, join)
			in.VirtualIP, in.Endpoint = v, fleet.Endpoint{Host: "192.0.2.10", Port: max(c.ControlPlane.APIPort, 6443)}
			got, err := d.UserData(in)
			if err != nil {
				t.Fatal(err)
			}
			return string(got.Content.Reveal())
		}
		v := &endpoint.VirtualIP{}
		for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane} {
			with, without := data(join, v), data(join, nil)
			before, rest, found := strings.Cut(with, "- path: '/var/lib/rancher/"+name+"/agent/pod-manifests/kube-vip.yaml'\n")
			if !found {
				t.Fatalf("%s %s has no static pod:\n%s", name, join, with)
			}
			pod, after, _ := strings.Cut(rest, "\n  - path: ")
			if strings.TrimRight(before, " ")+"- path: "+after != without && before+"- path: "+after != without {
				t.Errorf("%s %s differs in more than that:\n%s", name, join, cmp.Diff(without, with))
			}
			file := filepath.Join("testdata", name+"-virtualip.golden")
			if *update {
				if err := os.WriteFile(file, []byte(pod+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), pod+"\n"); diff != "" {
				t.Errorf("%s %s: -want +got:\n%s", name, join, diff)
			}
		}
		if data(fleet.JoinWorker, v) != data(fleet.JoinWorker, nil) {
			t.Errorf("%s: a worker announces the endpoint", name)
		}
	}
}
