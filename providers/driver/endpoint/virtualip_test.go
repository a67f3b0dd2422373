package endpoint

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// What people bring is told by the address in it, or by the program that it is about.
func TestBrought(t *testing.T) {
	e := fleet.Endpoint{Host: "10.0.0.7", Port: 6443}
	const pod = "env:\n- name: address\n  value: 10.0.0.7\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(pod))
	_ = z.Close()
	for spec, want := range map[string]bool{
		`{"files":[{"path":"/etc/kubernetes/manifests/vip.yaml","content":"env:\n- name: address\n  value: 10.0.0.7\n"}]}`:                                         true,
		`{"files":[{"path":"/etc/kubernetes/manifests/vip.json","content":"{\"value\":\"10.0.0.7\"}"}]}`:                                                           true,
		`{"files":[{"path":"/etc/kubernetes/manifests/kube-vip.yaml","contentFrom":{"secret":{"name":"nowhere","key":"x"}}}]}`:                                     true,
		`{"files":[{"path":"/etc/kubernetes/manifests/vip.yaml","contentFrom":{"secret":{"name":"vip","key":"pod"}}}]}`:                                            true,
		`{"files":[{"path":"/etc/kubernetes/manifests/vip.yaml","encoding":"base64","content":"` + base64.StdEncoding.EncodeToString([]byte(pod)) + `"}]}`:         true,
		`{"files":[{"path":"/etc/kubernetes/manifests/vip.yaml","encoding":"gzip+base64","content":"` + base64.StdEncoding.EncodeToString(packed.Bytes()) + `"}]}`: true,
		`{"files":[{"path":"/var/lib/rancher/k3s/server/manifests/vip.yaml","content":"value: 10.0.0.7"}]}`:                                                        true,
		`{"files":[{"path":"/etc/keepalived/keepalived.conf","content":"virtual_ipaddress { 10.0.0.7 }"}]}`:                                                        true,
		`{"preKubeadmCommands":["ctr run --rm --net-host ghcr.io/kube-vip/kube-vip:v1 vip /kube-vip manifest pod > /etc/kubernetes/manifests/vip.yaml"]}`:          true,
		`{"preRKE2Commands":["sh /opt/kube-vip.sh"]}`:                                                             true,
		`{"files":[{"path":"/etc/kubernetes/manifests/other.yaml","content":"value: 10.0.0.77"}]}`:                false,
		`{"files":[{"path":"/etc/kubernetes/manifests/other.yaml","contentFrom":{"secret":{"name":"nowhere"}}}]}`: false,
		`{"files":[{"path":"/etc/hosts","content":"10.0.0.7 api"}],"preKubeadmCommands":["ping 10.0.0.7"]}`:       false,
		`{}`: false,
	} {
		c := &fleet.Cluster{ControlPlane: fleet.Pool{Bootstrap: fleet.Bootstrap{Spec: []byte(spec)}}}
		c.Secrets = map[string]fleet.SecretData{"vip": {"pod": fleet.NewSecret([]byte(pod))}}
		if got := Brought(c, e); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

// TestVirtualIP: UPDATE=1 writes what is to be read by people.
func TestVirtualIP(t *testing.T) {
	v, e := VirtualIP{Interface: "eth0"}, fleet.Endpoint{Host: "10.0.0.7", Port: 6443}
	file := func(version string, join fleet.Join) string {
		t.Helper()
		f, err := v.File(e, Kubeadm(version, join))
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
	for reason, tc := range map[string]struct {
		host string
		port int32 // of API servers
	}{
		"a name":            {"api.example.com", 6443},
		"no port of theirs": {"10.0.0.7", 7443},
	} {
		_, err := v.File(fleet.Endpoint{Host: tc.host, Port: 6443}, Place{APIPort: tc.port})
		if fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("%s: %v, want kind Invalid", reason, err)
		}
	}
}

func TestNormaliseVirtualIP(t *testing.T) {
	at, hostAt := field.NewPath("spec", "virtualIP"), field.NewPath("spec", "controlPlaneEndpoint", "host")
	for reason, tc := range map[string]struct {
		in   VirtualIP
		host string
		want string // field with a problem
	}{
		"defaults":       {VirtualIP{}, "10.0.0.7", ""},
		"host elsewhere": {VirtualIP{Interface: "bond0.12"}, "", ""},
		"version 6":      {VirtualIP{Image: "registry.local:5000/kube-vip@sha256:aa"}, "fd00::7", ""},
		"a name":         {VirtualIP{}, "api.example.com", "spec.controlPlaneEndpoint.host"},
		"no image":       {VirtualIP{Image: "{{ ds.x }}"}, "10.0.0.7", "spec.virtualIP.image"},
		"no interface":   {VirtualIP{Interface: "eth0; reboot"}, "10.0.0.7", "spec.virtualIP.interface"},
	} {
		errs := tc.in.Normalise(at, tc.host, hostAt)
		if tc.want == "" && (len(errs) > 0 || tc.in.Image == "") || tc.want != "" && (len(errs) != 1 || errs[0].Field != tc.want) {
			t.Errorf("%s: %v, want %q; image %q", reason, errs, tc.want, tc.in.Image)
		}
	}
	if errs := (*VirtualIP)(nil).Normalise(at, "api.example.com", hostAt); len(errs) > 0 {
		t.Error(errs)
	}
}
