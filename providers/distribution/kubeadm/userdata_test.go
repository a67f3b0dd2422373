package kubeadm_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// machine is user data as cloud-init reads it.
type machine struct {
	WriteFiles []struct {
		Path, Owner, Permissions, Encoding, Content string
		Append                                      bool
	} `json:"write_files"`
	RunCmd []string
	Users  []map[string]any
}

func (m machine) file(path string) string {
	for _, f := range m.WriteFiles {
		if f.Path == path {
			return f.Content
		}
	}
	return ""
}

// document returns the kubeadm document of kind.
func (m machine) document(t *testing.T, kind string) map[string]any {
	t.Helper()
	for _, path := range []string{"/run/kubeadm/kubeadm.yaml", "/run/kubeadm/kubeadm-join-config.yaml"} {
		for d := range strings.SplitSeq(m.file(path), "---\n") {
			var out map[string]any
			if err := yaml.UnmarshalStrict([]byte(d), &out); err != nil {
				t.Fatal(err)
			}
			if out["kind"] == kind {
				return out
			}
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}

func boot(t *testing.T, in providers.BootstrapInput) machine {
	t.Helper()
	u, err := userData(in)
	if err != nil {
		t.Fatal(err)
	}
	content, ok := bytes.CutPrefix(u.Content.Reveal(), []byte("## template: jinja\n#cloud-config\n"))
	if !ok {
		t.Fatalf("user data begins with %.60q", content)
	}
	var m machine
	if err := yaml.Unmarshal(content, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCertificatesOnTheMachine(t *testing.T) {
	want := []string{
		"/etc/kubernetes/pki/ca.crt root:root 0640", "/etc/kubernetes/pki/ca.key root:root 0600",
		"/etc/kubernetes/pki/etcd/ca.crt root:root 0640", "/etc/kubernetes/pki/etcd/ca.key root:root 0600",
		"/etc/kubernetes/pki/front-proxy-ca.crt root:root 0640", "/etc/kubernetes/pki/front-proxy-ca.key root:root 0600",
		"/etc/kubernetes/pki/sa.pub root:root 0640", "/etc/kubernetes/pki/sa.key root:root 0600",
	}
	for join, want := range map[fleet.Join][]string{fleet.JoinInit: want, fleet.JoinControlPlane: want, fleet.JoinWorker: nil} {
		in := input(t, join, "v1.35.0", bootstrapv1.KubeadmConfigSpec{})
		m := boot(t, in)
		var got []string
		for _, f := range m.WriteFiles {
			if strings.HasPrefix(f.Path, "/etc/kubernetes/pki") {
				got = append(got, f.Path+" "+f.Owner+" "+f.Permissions)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", join, d)
		}
		if join != fleet.JoinWorker && m.file("/etc/kubernetes/pki/etcd/ca.key") != string(in.Secrets["etcd"]["tls.key"].Reveal()) {
			t.Errorf("%s: the key of etcd's authority is another", join)
		}
	}
}

func TestExternalEtcd(t *testing.T) {
	spec := bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: bootstrapv1.ClusterConfiguration{
		CertificatesDir: "/srv/pki",
		Etcd: bootstrapv1.Etcd{External: bootstrapv1.ExternalEtcd{
			Endpoints: []string{"https://etcd:2379"}, CAFile: "/srv/etcd/ca.crt", CertFile: "/srv/etcd/client.crt", KeyFile: "/srv/etcd/client.key",
		}},
	}}
	in := input(t, fleet.JoinInit, "v1.35.0", spec)
	delete(in.Secrets, fleet.EtcdCA)
	if _, err := userData(in); fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), "eu-1-etcd") {
		t.Errorf("without its Secret: %v", err)
	}
	secret := func(s string) fleet.Secret { return fleet.NewSecret([]byte(s)) }
	in.Cluster.Secrets["eu-1-etcd"] = fleet.SecretData{"tls.crt": secret("their CA"), "tls.key": secret("not for machines")}
	in.Secrets[fleet.EtcdClient] = fleet.SecretData{"tls.crt": secret("client"), "tls.key": secret("client key")} // where the agent keeps secrets
	m := boot(t, in)
	got := map[string]string{}
	for _, f := range m.WriteFiles {
		if strings.HasPrefix(f.Path, "/srv/etcd") {
			got[f.Path] = f.Content
		}
	}
	if d := cmp.Diff(map[string]string{"/srv/etcd/ca.crt": "their CA", "/srv/etcd/client.crt": "client", "/srv/etcd/client.key": "client key"}, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if m.file("/srv/pki/ca.crt") == "" || m.file("/srv/pki/etcd/ca.crt") != "" {
		t.Error("certificatesDir is not used, or a stacked etcd's authority is there")
	}
	if d := cmp.Diff([]any{"https://etcd:2379"}, m.document(t, "ClusterConfiguration")["etcd"].(map[string]any)["external"].(map[string]any)["endpoints"]); d != "" {
		t.Error(d)
	}
}

func TestTaints(t *testing.T) {
	const (
		controlPlane  = "node-role.kubernetes.io/control-plane=:NoSchedule"
		uninitialized = "node.cluster.x-k8s.io/uninitialized=:NoSchedule"
	)
	none, own := &[]corev1.Taint{}, &[]corev1.Taint{{Key: "own", Value: "x", Effect: "NoExecute"}, {Key: "pool", Effect: "NoSchedule"}}
	pool := []clusterv1.MachineTaint{{Key: "pool", Value: "y", Effect: "NoSchedule"}}
	for reason, c := range map[string]struct {
		join fleet.Join
		user *[]corev1.Taint
		pool []clusterv1.MachineTaint
		want []string // nil: kubeadm's choice
	}{
		"worker":                           {fleet.JoinWorker, nil, nil, []string{uninitialized}},
		"worker, none":                     {fleet.JoinWorker, none, nil, []string{uninitialized}},
		"worker, of pool":                  {fleet.JoinWorker, nil, pool, []string{"pool=y:NoSchedule", uninitialized}},
		"worker, the user's before":        {fleet.JoinWorker, own, pool, []string{"own=x:NoExecute", "pool=:NoSchedule", uninitialized}},
		"first, kubeadm's choice":          {fleet.JoinInit, nil, nil, nil},
		"first, none":                      {fleet.JoinInit, none, nil, []string{}},
		"first, of pool, beside kubeadm's": {fleet.JoinInit, nil, pool, []string{controlPlane, "pool=y:NoSchedule"}},
		"control plane, the user's":        {fleet.JoinControlPlane, own, nil, []string{"own=x:NoExecute", "pool=:NoSchedule"}},
		"control plane, none but pool's":   {fleet.JoinControlPlane, none, pool, []string{"pool=y:NoSchedule"}},
	} {
		t.Run(reason, func(t *testing.T) {
			registration := bootstrapv1.NodeRegistrationOptions{Taints: c.user}
			in := input(t, c.join, "v1.35.0", bootstrapv1.KubeadmConfigSpec{
				InitConfiguration: bootstrapv1.InitConfiguration{NodeRegistration: registration},
				JoinConfiguration: bootstrapv1.JoinConfiguration{NodeRegistration: registration},
			})
			in.Pool.Taints = c.pool
			kind := "JoinConfiguration"
			if c.join == fleet.JoinInit {
				kind = "InitConfiguration"
			}
			node, _ := boot(t, in).document(t, kind)["nodeRegistration"].(map[string]any)
			taints, ok := node["taints"].([]any)
			var got []string
			if ok {
				got = []string{}
			}
			for _, e := range taints {
				m := e.(map[string]any)
				value, _ := m["value"].(string)
				got = append(got, fmt.Sprintf("%s=%s:%s", m["key"], value, m["effect"]))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("taints (-want +got):\n%s", d)
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	token := func(d bootstrapv1.BootstrapTokenDiscovery) bootstrapv1.Discovery {
		return bootstrapv1.Discovery{BootstrapToken: d}
	}
	const hash = "sha256:5cd252fb0ce8932436faf8ccd1040981b89ee4ad6b9fe9e2a2b7e71aacb27cd3"
	for reason, c := range map[string]struct {
		in   bootstrapv1.Discovery
		want string
	}{
		"filled in": {bootstrapv1.Discovery{}, `{"bootstrapToken":{"apiServerEndpoint":"[2001:db8::1]:6443","caCertHashes":["` + hash + `"],"token":"abcdef.0123456789abcdef"}}`},
		"the user's stands": {
			token(bootstrapv1.BootstrapTokenDiscovery{Token: "uuuuuu.uuuuuuuuuuuuuuuu", APIServerEndpoint: "vip:443", CACertHashes: []string{"sha256:00"}}),
			`{"bootstrapToken":{"apiServerEndpoint":"vip:443","caCertHashes":["sha256:00"],"token":"uuuuuu.uuuuuuuuuuuuuuuu"}}`,
		},
		"file": {
			bootstrapv1.Discovery{File: bootstrapv1.FileDiscovery{KubeConfigPath: "/etc/discovery.conf"}, TLSBootstrapToken: "tttttt.tttttttttttttttt"},
			`{"file":{"kubeConfigPath":"/etc/discovery.conf"},"tlsBootstrapToken":"tttttt.tttttttttttttttt"}`,
		},
	} {
		in := input(t, fleet.JoinWorker, "v1.35.0", bootstrapv1.KubeadmConfigSpec{JoinConfiguration: bootstrapv1.JoinConfiguration{Discovery: c.in}})
		in.Endpoint = fleet.Endpoint{Host: "2001:db8::1", Port: 6443}
		got, err := yaml.Marshal(boot(t, in).document(t, "JoinConfiguration")["discovery"])
		if err != nil {
			t.Fatal(err)
		}
		got, err = yaml.YAMLToJSON(got)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, want %s (%v)", reason, got, c.want, err)
		}
	}
}

func TestDiscoveryKubeconfigIsWritten(t *testing.T) {
	spec := bootstrapv1.KubeadmConfigSpec{JoinConfiguration: bootstrapv1.JoinConfiguration{Discovery: bootstrapv1.Discovery{
		File: bootstrapv1.FileDiscovery{KubeConfigPath: "/etc/discovery.conf", KubeConfig: bootstrapv1.FileDiscoveryKubeConfig{
			User: bootstrapv1.KubeConfigUser{Exec: bootstrapv1.KubeConfigAuthExec{Command: "/bin/login", Args: []string{"-x"}}},
		}},
	}}}
	in := input(t, fleet.JoinWorker, "v1.35.0", spec)
	var got map[string]any
	if err := yaml.UnmarshalStrict([]byte(boot(t, in).file("/etc/discovery.conf")), &got); err != nil {
		t.Fatal(err)
	}
	user := got["users"].([]any)[0].(map[string]any)["user"]
	if d := cmp.Diff(map[string]any{"exec": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/login", "args": []any{"-x"}, "interactiveMode": "Never",
	}}, user); d != "" {
		t.Errorf("user (-want +got):\n%s", d)
	}
	server := got["clusters"].([]any)[0].(map[string]any)["cluster"].(map[string]any)
	if server["server"] != "https://192.0.2.10:6443" || server["certificate-authority-data"] == nil {
		t.Errorf("cluster: %v", server)
	}
}

func TestKubeletLocalMode(t *testing.T) {
	for version, want := range map[string]any{"v1.30.14": nil, "v1.31.0": true, "v1.35.9": true, "v1.36.0": nil} {
		c := boot(t, input(t, fleet.JoinInit, version, bootstrapv1.KubeadmConfigSpec{})).document(t, "ClusterConfiguration")
		gates, _ := c["featureGates"].(map[string]any)
		if got := gates["ControlPlaneKubeletLocalMode"]; got != want {
			t.Errorf("%s: ControlPlaneKubeletLocalMode is %v, want %v", version, got, want)
		}
	}
	spec := bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: bootstrapv1.ClusterConfiguration{FeatureGates: map[string]bool{"ControlPlaneKubeletLocalMode": false}}}
	c := boot(t, input(t, fleet.JoinInit, "v1.35.0", spec)).document(t, "ClusterConfiguration")
	if d := cmp.Diff(map[string]any{"ControlPlaneKubeletLocalMode": false}, c["featureGates"]); d != "" {
		t.Errorf("the user's choice (-want +got):\n%s", d)
	}
}
