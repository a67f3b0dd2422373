package endpoint

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

func TestWanted(t *testing.T) {
	known := fleet.Residence{ControlPlane: fleet.InitializedOnce, Endpoint: fleet.Endpoint{Host: "10.0.0.7", Port: 7443}}
	for reason, tc := range map[string]struct {
		cluster     fleet.Cluster
		want, known string
	}{
		"nothing knows one":            {fleet.Cluster{}, "", ""},
		"the port that Git names":      {fleet.Cluster{Network: clusterv1.ClusterNetwork{APIServerPort: 8443}}, ":8443", ""},
		"the Cluster names it":         {fleet.Cluster{Endpoint: fleet.Endpoint{Host: "a", Port: 1}, Residence: known}, "a:1", ""},
		"its infrastructure names it":  {fleet.Cluster{Infrastructure: fleet.Object{Spec: []byte(`{"controlPlaneEndpoint":{"host":"b","port":2}}`)}}, "b:2", ""},
		"the machines know it":         {fleet.Cluster{Residence: known}, "10.0.0.7", "10.0.0.7:7443"},
		"none of them ever was there":  {fleet.Cluster{Residence: fleet.Residence{ControlPlane: fleet.NeverInitialized, Endpoint: known.Endpoint}}, "", ""},
		"a host, and the network port": {fleet.Cluster{Endpoint: fleet.Endpoint{Host: "a"}, Network: clusterv1.ClusterNetwork{APIServerPort: 8443}}, "a:8443", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := Wanted(&tc.cluster); text(got) != tc.want {
				t.Errorf("wanted %s, want %s", text(got), tc.want)
			}
			if got := Known(&tc.cluster); text(got) != tc.known {
				t.Errorf("known %s, want %s", text(got), tc.known)
			}
		})
	}
}

// text is e without what is zero.
func text(e fleet.Endpoint) string {
	if e.Port == 0 {
		return e.Host
	}
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}

func TestSuccessors(t *testing.T) {
	outdated := func(s string) bool { return strings.HasPrefix(s, "old") }
	for given, want := range map[string]string{
		"old1 old2 new1 new2": "old2 old1 new1 new2",
		"old1 new1 new2":      "new1 new2 old1",
		"old1 new1":           "old1 new1",
		"new1 new2":           "new1 new2",
		"":                    "",
	} {
		if got := strings.Join(Successors(strings.Fields(given), outdated), " "); got != want {
			t.Errorf("of %q: %q, want %q", given, got, want)
		}
	}
}

func TestLeads(t *testing.T) {
	server := fleet.Machine{Role: fleet.RoleControlPlane, State: fleet.MachineRunning}
	worker, gone, released := server, server, server
	worker.Role, gone.State, released.State = fleet.RoleWorker, fleet.MachineDeleting, fleet.MachineReleased
	if got := []bool{Leads(&server), Leads(&worker), Leads(&gone), Leads(&released)}; !slices.Equal(got, []bool{true, false, false, false}) {
		t.Errorf("%v, want the server alone", got)
	}
}

// What people bring is told by the address in it, whatever it is called.
func TestBrought(t *testing.T) {
	e := fleet.Endpoint{Host: "10.0.0.7", Port: 6443}
	for spec, want := range map[string]bool{
		`{"files":[{"path":"/etc/kubernetes/manifests/kube-vip.yaml","content":"env:\n- name: address\n  value: 10.0.0.7\n"}]}`: true,
		`{"files":[{"path":"/etc/kubernetes/manifests/vip.json","content":"{\"value\":\"10.0.0.7\"}"}]}`:                        true,
		`{"files":[{"path":"/etc/kubernetes/manifests/other.yaml","content":"value: 10.0.0.77"}]}`:                              false,
		`{"files":[{"path":"/etc/hosts","content":"10.0.0.7 api"}]}`:                                                            false,
		`{}`: false,
	} {
		c := &fleet.Cluster{ControlPlane: fleet.Pool{Bootstrap: fleet.Bootstrap{Spec: []byte(spec)}}}
		if got := Brought(c, e); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

// TestVirtualIP: UPDATE=1 writes what is to be read by people.
func TestVirtualIP(t *testing.T) {
	v := VirtualIP{Endpoint: fleet.Endpoint{Host: "10.0.0.7", Port: 6443}, Interface: "eth0", Image: "ghcr.io/kube-vip/kube-vip:v1.0.1"}
	file := func(version string, join fleet.Join) string {
		t.Helper()
		f, err := v.File(&fleet.Cluster{ControlPlane: fleet.Pool{Version: version}}, join)
		if err != nil || f.Path != "/etc/kubernetes/manifests/kube-vip.yaml" {
			t.Fatalf("%s, %v", f.Path, err)
		}
		return string(f.Content)
	}
	first := file("v1.34.1", fleet.JoinInit)
	const golden = "testdata/kube-vip.yaml"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(first), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || first != string(want) {
		t.Errorf("%v, the static pod is\n%s", err, first)
	}
	for _, s := range []string{file("v1.34.1", fleet.JoinControlPlane), file("v1.28.9", fleet.JoinInit)} {
		if s != strings.Replace(first, "super-admin.conf", "admin.conf", 1) {
			t.Errorf("another static pod is\n%s", s)
		}
	}
	v.Endpoint.Host = "api.example.com"
	if _, err := v.File(&fleet.Cluster{}, fleet.JoinInit); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("of a name: %v, want kind Invalid", err)
	}
}
