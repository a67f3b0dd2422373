package eks_test

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/test/run/kindstest"
)

// TestFieldsOfCRDs: the Go types have the fields of upstream's resource definitions, and no others.
func TestFieldsOfCRDs(t *testing.T) {
	kindstest.Definitions{Project: "capa", Group: "bootstrap.cluster.x-k8s.io", Missing: []string{"EKSConfig", "EKSConfigTemplate"}}.Compare(t, eks.Kinds())
}

// TestSecrets: EKS gives all secrets, and no token lets in a machine.
func TestSecrets(t *testing.T) {
	var d providers.Distribution = eks.Distribution{}
	c := &fleet.Cluster{Hosted: &fleet.HostedControlPlane{}}
	if made, err := d.NewSecrets(c, time.Now()); err != nil || len(made) > 0 {
		t.Errorf("secrets are made: %v, %v", made, err)
	}
	for _, n := range d.Needs(c) {
		if !n.Hosted {
			t.Errorf("%s is needed from elsewhere than EKS", n.Name)
		}
	}
	if err := d.Admit(t.Context(), providers.Access{}, providers.BootstrapInput{Cluster: c}, time.Hour); err != nil {
		t.Errorf("admit: %v", err)
	}
}

// pool returns a pool whose machines are set up with a spec.
func pool(t *testing.T, spec string) fleet.Pool {
	t.Helper()
	out, errs := kindstest.Normalised(t, kindstest.Kind(t, eks.Kinds(), "NodeadmConfigTemplate"), "v1beta2", spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	b, err := fleet.NewBootstrap("NodeadmConfig", out.(*fleet.BootstrapManifest).Spec)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Pool{Name: "eu-1-md-0", Role: fleet.RoleWorker, Version: "v1.34.1", Bootstrap: b}
}

// input is that of a worker, with all that EKS gives.
func input(p fleet.Pool) providers.BootstrapInput {
	return providers.BootstrapInput{
		Cluster: &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}, Pool: p, Machine: "m-0", Join: fleet.JoinWorker, NodeID: "aws:///a/i",
		Endpoint: fleet.Endpoint{Host: "A1.gr7.eu-central-1.eks.amazonaws.com", Port: 443},
		Secrets: map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: fleet.NewSecretData(map[string][]byte{
			fleet.TLSCertKey: []byte("CA"), "cluster-name": []byte("prod_eu-1"), "service-range": []byte("172.20.0.0/16"),
		})},
	}
}

// parts returns the parts of the user data for in, by their types.
func parts(t *testing.T, in providers.BootstrapInput) map[string]string {
	t.Helper()
	data, err := eks.Distribution{}.UserData(in)
	if err != nil {
		t.Fatal(err)
	}
	if data.Format != "nodeadm" {
		t.Errorf("its format is %s", data.Format)
	}
	message, err := mail.ReadMessage(strings.NewReader(string(data.Content.Reveal())))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for r := multipart.NewReader(message.Body, "fairlead-user-data"); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out[p.Header.Get("Content-Type")] = string(text)
	}
}

const everything = `{
	containerd: {config: "[plugins]", baseRuntimeSpec: {process: {rlimits: [{type: RLIMIT_NOFILE, soft: 1024}]}}}, featureGates: {InstanceIdNodeName: true},
	kubelet: {config: {maxPods: 58}, flags: ["--node-labels=tier=web,team=a", "--v=2"]},
	files: [{path: /etc/motd, content: "hello", append: true, permissions: "0644", owner: "root:root"}], preNodeadmCommands: [sysctl -w vm.max_map_count=262144],
	ntp: {enabled: true, servers: [169.254.169.123]}, users: [{name: ops, sudo: "ALL=(ALL) NOPASSWD:ALL", inactive: true, sshAuthorizedKeys: [ssh-ed25519 AAAA]}],
	mounts: [[/dev/nvme1n1, /data]], diskSetup: {partitions: [{device: /dev/nvme1n1, layout: true, tableType: gpt}], filesystems: [{device: /dev/nvme1n1, filesystem: xfs, label: data}]}}`

// TestUserData: nodeadm and cloud-init read what the configuration says.
func TestUserData(t *testing.T) {
	got := parts(t, input(pool(t, everything)))
	want := `apiVersion: 'node.eks.aws/v1alpha1'
kind: 'NodeConfig'
spec:
  cluster:
    name: 'prod_eu-1'
    apiServerEndpoint: 'https://A1.gr7.eu-central-1.eks.amazonaws.com'
    certificateAuthority: 'Q0E='
    cidr: '172.20.0.0/16'
  containerd:
    baseRuntimeSpec:
      process:
        rlimits:
          - soft: 1024
            type: 'RLIMIT_NOFILE'
    config: '[plugins]'
  featureGates:
    InstanceIdNodeName: true
  kubelet:
    config:
      maxPods: 58
      registerWithTaints:
        - key: 'node.cluster.x-k8s.io/uninitialized'
          effect: 'NoSchedule'
    flags:
      - '--node-labels=tier=web,team=a'
      - '--v=2'
`
	if d := cmp.Diff(want, got["application/node.eks.aws"]); d != "" {
		t.Errorf("nodeadm reads: -want +got:\n%s", d)
	}
	machine := got[`text/jinja2; charset="utf-8"`]
	for _, want := range []string{"## template: jinja\n#cloud-config\n", "append: true", "sysctl -w vm.max_map_count=262144", "169.254.169.123", "inactive: '0'", "ssh-ed25519 AAAA", "'/dev/nvme1n1'", "filesystem: 'xfs'"} {
		if !strings.Contains(machine, want) {
			t.Errorf("cloud-init reads\n%s\nwithout %q", machine, want)
		}
	}
}

// TestTaints: a Node registers with the taints of its configuration and of its pool, and keeps Pods away until its labels
// are in place.
func TestTaints(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"none":          {`{}`, `[{"effect":"NoExecute","key":"pool"},{"effect":"NoSchedule","key":"node.cluster.x-k8s.io/uninitialized"}]`},
		"configuration": {`{kubelet: {config: {registerWithTaints: [{key: gpu, effect: NoSchedule}]}}}`, `[{"effect":"NoSchedule","key":"gpu"},{"effect":"NoExecute","key":"pool"},{"effect":"NoSchedule","key":"node.cluster.x-k8s.io/uninitialized"}]`},
		"flag":          {`{kubelet: {flags: ["--register-with-taints=gpu=a:NoSchedule"]}}`, `--register-with-taints=gpu=a:NoSchedule,pool:NoExecute,node.cluster.x-k8s.io/uninitialized:NoSchedule`},
		"flag of all":   {`{kubelet: {flags: ["--register-with-taints=pool:NoExecute,node.cluster.x-k8s.io/uninitialized:NoSchedule"]}}`, `--register-with-taints=pool:NoExecute,node.cluster.x-k8s.io/uninitialized:NoSchedule`},
	} {
		p := pool(t, tc.spec)
		p.Taints = []clusterv1.MachineTaint{{Key: "pool", Effect: corev1.TaintEffectNoExecute}}
		var got struct {
			Spec struct {
				Kubelet struct {
					Config struct{ RegisterWithTaints json.RawMessage }
					Flags  []string
				}
			}
		}
		if err := documents.Unmarshal([]byte(parts(t, input(p))["application/node.eks.aws"]), &got, documents.BuiltLimits()); err != nil {
			t.Fatal(err)
		}
		is := string(got.Spec.Kubelet.Config.RegisterWithTaints)
		if len(got.Spec.Kubelet.Flags) > 0 {
			is += strings.Join(got.Spec.Kubelet.Flags, " ")
		}
		if is != tc.want {
			t.Errorf("%s: %s, want %s", name, is, tc.want)
		}
	}
}

// TestRegistered: what kubelets register with is known.
func TestRegistered(t *testing.T) {
	labels, taints := eks.Distribution{}.Registered(pool(t, `{kubelet: {config: {registerWithTaints: [{key: gpu, effect: NoSchedule}]}, flags: ["--node-labels=tier=web"]}}`))
	if labels["tier"] != "web" || len(taints) != 1 || taints[0].Key != "gpu" {
		t.Errorf("labels %v, taints %v", labels, taints)
	}
}

// TestIncomplete: nothing boots without what EKS gives, and that is no mistake in Git.
func TestIncomplete(t *testing.T) {
	for name, without := range map[string]func(in *providers.BootstrapInput){
		"the endpoint":    func(in *providers.BootstrapInput) { in.Endpoint = fleet.Endpoint{} },
		"the certificate": func(in *providers.BootstrapInput) { delete(in.Secrets[fleet.ClusterCA], fleet.TLSCertKey) },
		"the name":        func(in *providers.BootstrapInput) { delete(in.Secrets[fleet.ClusterCA], "cluster-name") },
		"addresses":       func(in *providers.BootstrapInput) { delete(in.Secrets[fleet.ClusterCA], "service-range") },
		"the secret":      func(in *providers.BootstrapInput) { in.Secrets = nil },
	} {
		in := input(pool(t, `{}`))
		without(&in)
		if _, err := (eks.Distribution{}).UserData(in); err == nil || fleet.KindOf(err) != fleet.Unknown {
			t.Errorf("without %s: %v", name, err)
		}
	}
	in := input(pool(t, `{}`))
	in.Join = fleet.JoinInit
	if _, err := (eks.Distribution{}).UserData(in); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("a control plane: %v", err)
	}
}

// TestValidation: what is refused.
func TestValidation(t *testing.T) {
	k := kindstest.Kind(t, eks.Kinds(), "NodeadmConfig")
	for spec, want := range map[string]string{
		`{kubelet: {flags: [v=2]}}`:                                                    "must be --name=value",
		`{kubelet: {flags: ["--provider-id=a"]}}`:                                      "nodeadm sets --provider-id by itself",
		`{kubelet: {flags: ["--node-labels=a b"]}}`:                                    "without spaces",
		`{kubelet: {flags: ["--node-labels=tier"]}}`:                                   "must be key=value",
		`{kubelet: {flags: ["--node-labels=tier=web,node-role.kubernetes.io/web=a"]}}`: "a kubelet does not start with this label",
		`{kubelet: {flags: ["--node-labels=kubernetes.io/team=a"]}}`:                   "a kubelet does not start with this label",
		`{kubelet: {flags: ["--node-labels=x.k8s.io/team=a"]}}`:                        "a kubelet does not start with this label",
		`{kubelet: {flags: ["--node-labels=topology.kubernetes.io/zone=a,x.node.kubernetes.io/team=a,k8s.io.example.com/a=b,beta.kubernetes.io/arch=amd64"]}}`: "",
		`{kubelet: {flags: ["--register-with-taints=gpu"]}}`:                                "must be key=value:effect",
		`{kubelet: {config: {registerWithTaints: gpu}}}`:                                    "must be a list of taints",
		`{files: [{path: /a}, {path: /a}]}`:                                                 "Duplicate",
		`{files: [{path: /a, encoding: base64, content: "?"}]}`:                             "",
		`{files: [{path: /a, encoding: gzip, content: a}]}`:                                 "is not in gzip",
		`{users: [{gecos: a}]}`:                                                             "spec.users[0].name",
		`{diskSetup: {partitions: [{device: a, layout: true}, {device: a, layout: true}]}}`: "Duplicate",
	} {
		_, errs := kindstest.Normalised(t, k, "v1beta2", spec, nil)
		if got := kindstest.Text(errs); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

// TestNodegroupUserData: machines of a node group boot as those of Fairlead, but no Node waits for labels that nobody sets.
func TestNodegroupUserData(t *testing.T) {
	in := input(pool(t, `{kubelet: {flags: ["--register-with-taints=a=b:NoSchedule"]}}`))
	data, err := eks.NodegroupUserData(in)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data.Content.Reveal())
	if data.Format != "nodeadm" || !strings.Contains(text, "    name: 'prod_eu-1'\n") || !strings.Contains(text, "      - '--register-with-taints=a=b:NoSchedule'\n") || strings.Contains(text, "uninitialized") || strings.Contains(text, "registerWithTaints") {
		t.Errorf("they boot with %s\n%s", data.Format, text)
	}
	in.Endpoint = fleet.Endpoint{}
	if _, err := eks.NodegroupUserData(in); fleet.KindOf(err) != fleet.Unknown {
		t.Errorf("without an endpoint: %v", err)
	}
}
