package decode_test

import (
	"cmp"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render/decode"
)

func TestWhatRolls(t *testing.T) {
	type rolls struct{ controlPlane, workers bool }
	filed := replaced(t, newest,
		`[{name: v, value: "2"}]`, `[{name: v, value: "2"}, {name: a, value: x}]`+"\n        extraVolumes: [{name: vol, hostPath: /c, mountPath: /c}]",
		"preKubeadmCommands: [echo hello]", "preKubeadmCommands: [echo hello]\n      files: [{path: /a}, {path: /b}]\n      users: [{name: u}]")
	cases := map[string]struct {
		reason string
		from   string
		change []string
		want   rolls
	}{
		"nothing":        {reason: "the same content has the same hash"},
		"version":        {change: []string{"v1.34.1", "v1.34.2"}, want: rolls{true, true}},
		"machine":        {change: []string{"flavor: small", "flavor: large"}, want: rolls{true, true}},
		"worker config":  {change: []string{"echo hello", "echo bye"}, want: rolls{workers: true}},
		"failure domain": {change: []string{"failureDomain: a", "failureDomain: b"}, want: rolls{workers: true}},
		"API server argument": {
			change: []string{`{name: v, value: "2"}`, `{name: v, value: "4"}`}, want: rolls{controlPlane: true},
		},
		"kind of machine": {
			reason: "the same fields of another kind are another machine",
			change: []string{
				"kind: TestMachineTemplate, name: m}\n---\napiVersion: bootstrap", "kind: SameMachineTemplate, name: m}\n---\napiVersion: bootstrap",
				"---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineHealthCheck",
				"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: SameMachineTemplate\nmetadata: {name: m, namespace: prod}\nspec: {template: {spec: {flavor: small}}}\n" +
					"---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineHealthCheck",
			},
			want: rolls{workers: true},
		},
		"name of a machine template":   {reason: "a renamed template is the same machine", change: []string{"name: m}", "name: m2}", "{name: m,", "{name: m2,"}},
		"name of a bootstrap template": {change: []string{"name: w}", "name: w2}", "{name: w,", "{name: w2,"}},
		"labels and annotations":       {reason: "they are synced in place", change: []string{"tier: web", "tier: db", "{name: m,", "{labels: {a: b}, annotations: {c: d}, name: m,"}},
		"taints":                       {reason: "they are synced in place", change: []string{"minReadySeconds: 5", "taints: [{key: a, effect: NoSchedule, propagation: Always}]"}},
		"timeouts":                     {change: []string{"nodeDrainTimeoutSeconds: 10", "nodeDrainTimeoutSeconds: 20"}},
		"replicas":                     {change: []string{"replicas: 3", "replicas: 5"}},
		"strategy":                     {change: []string{"maxSurge: 50%", "maxSurge: 1"}},
		"DNS": {
			reason: "CoreDNS is changed in the running cluster",
			change: []string{"    clusterConfiguration:\n", "    clusterConfiguration:\n      dns: {imageTag: v1.12.0}\n"},
		},
		"endpoint": {
			reason: "it never changes in the life of a cluster",
			change: []string{"    clusterConfiguration:\n", "    clusterConfiguration:\n      controlPlaneEndpoint: api:6443\n"},
		},
		"discovery": {
			reason: "it is only for the way into the cluster",
			change: []string{"    joinConfiguration:\n", "    joinConfiguration:\n      discovery: {bootstrapToken: {token: abcdef.0123456789abcdef}}\n"},
		},
		"defaults written out": {
			change: []string{
				"    joinConfiguration:\n      nodeRegistration:\n", "    format: cloud-config\n    joinConfiguration:\n      nodeRegistration:\n        imagePullPolicy: IfNotPresent\n",
			},
		},
		"empty lists written out": {change: []string{"preKubeadmCommands: [echo hello]", "preKubeadmCommands: [echo hello]\n      files: []\n      joinConfiguration: {}"}},
		"initConfiguration": {
			reason: "machines that join do not read it",
			change: []string{"    joinConfiguration:\n", "    initConfiguration: {skipPhases: [addon/kube-proxy], nodeRegistration: {kubeletExtraArgs: [{name: v, value: \"4\"}]}}\n    joinConfiguration:\n"},
		},
		"configuration of control planes in a worker": {
			reason: "workers do not read it",
			change: []string{"      preKubeadmCommands: [echo hello]", "      clusterConfiguration: {apiServer: {extraArgs: [{name: v, value: \"9\"}]}}\n      initConfiguration: {skipPhases: [x]}\n      preKubeadmCommands: [echo hello]"},
		},
		"feature gate that is always on": {
			change: []string{"    clusterConfiguration:\n", "    clusterConfiguration:\n      featureGates: {ControlPlaneKubeletLocalMode: true, EtcdLearnerMode: true}\n"},
		},
		"feature gate": {
			change: []string{"    clusterConfiguration:\n", "    clusterConfiguration:\n      featureGates: {ControlPlaneKubeletLocalMode: false}\n"},
			want:   rolls{controlPlane: true},
		},
		"false written out": {
			from:   filed,
			change: []string{"{path: /a}", "{path: /a, append: false}", "{name: u}", "{name: u, inactive: false}", "mountPath: /c}", "mountPath: /c, readOnly: false}"},
		},
		"false that is not the default": {
			reason: "cloud-init locks passwords",
			from:   filed, change: []string{"{name: u}", "{name: u, lockPassword: false}"}, want: rolls{workers: true},
		},
		"environment of nothing": {change: []string{`{name: v, value: "2"}]`, `{name: v, value: "2"}]` + "\n        extraEnvs: []"}},
		"order of lists with names": {
			from: filed,
			change: []string{
				"[{name: v, value: \"2\"}, {name: a, value: x}]", "[{name: a, value: x}, {name: v, value: \"2\"}]",
				"[{path: /a}, {path: /b}]", "[{path: /b}, {path: /a}]",
			},
		},
		"order of kubelet arguments": {
			from:   replaced(t, newest, "kubeletExtraArgs: [{name: cloud-provider", "kubeletExtraArgs: [{name: v, value: \"4\"}, {name: cloud-provider"),
			change: []string{"[{name: v, value: \"4\"}, {name: cloud-provider, value: external}]", "[{name: cloud-provider, value: external}, {name: v, value: \"4\"}]"},
		},
		"order of taints": {
			from:   replaced(t, newest, "        kubeletExtraArgs: [{name: cloud-provider", "        taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]\n        kubeletExtraArgs: [{name: cloud-provider"),
			change: []string{"[{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]", "[{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]"},
		},
		"order of one argument": {
			reason: "the first issuer signs",
			from:   replaced(t, filed, "{name: a, value: x}", "{name: v, value: x}"),
			change: []string{"[{name: v, value: \"2\"}, {name: v, value: x}]", "[{name: v, value: x}, {name: v, value: \"2\"}]"}, want: rolls{controlPlane: true},
		},
		"no taints": {
			reason: "without a list kubeadm taints control planes",
			change: []string{"        kubeletExtraArgs: [{name: cloud-provider", "        taints: []\n        kubeletExtraArgs: [{name: cloud-provider"}, want: rolls{controlPlane: true},
		},
		"an older version": {reason: "moving to v1beta2 rolls nothing", from: older},
		"timeout of v1beta1": {
			reason: "it moved to other structs in v1beta2",
			from:   older, change: []string{"      apiServer:\n", "      apiServer:\n        timeoutForControlPlane: 10m\n"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			from := cmp.Or(c.from, newest)
			want := hashes(t, from)
			if from == older {
				want = hashes(t, newest)
			}
			got := hashes(t, replaced(t, from, c.change...))
			changed := rolls{got[0] != want[0], got[1] != want[1]}
			if changed != c.want {
				t.Errorf("%s: rolls %+v, want %+v", c.reason, changed, c.want)
			}
		})
	}
}

// hashes returns the template hashes of control plane and workers.
func hashes(t *testing.T, manifests string) [2]fleet.TemplateHash {
	t.Helper()
	c := mustDecode(t, manifests)
	return [2]fleet.TemplateHash{c.ControlPlane.Template, c.Workers[0].Template}
}

func TestDigest(t *testing.T) {
	secret := "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\nstringData: {p: one}"
	base := newest + secret
	want := mustDecode(t, base).Digest
	for name, c := range map[string]struct {
		change []string
		same   bool
	}{
		"nothing":      {same: true},
		"server field": {change: []string{"metadata: {name: eu-cp, namespace: prod}", "metadata: {name: eu-cp, namespace: prod, uid: x}"}, same: true},
		"replicas":     {change: []string{"replicas: 3", "replicas: 4"}},
		"labels":       {change: []string{"tier: web", "tier: db"}},
		"region":       {change: []string{"region: fra", "region: muc"}},
		"secret":       {change: []string{"p: one", "p: two"}},
		"health check": {change: []string{"timeoutSeconds: 300", "timeoutSeconds: 301"}},
		"pause":        {change: []string{"spec:\n  clusterNetwork", "spec:\n  paused: true\n  clusterNetwork"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustDecode(t, replaced(t, base, c.change...)).Digest
			if (got == want) != c.same {
				t.Errorf("the digest is the same: %t, want %t", got == want, c.same)
			}
		})
	}
}

func TestDigestOfMovedFiles(t *testing.T) {
	in := objects(newest)
	for i := range in {
		in[i].File = "elsewhere.yaml"
	}
	clusters, _ := decode.New("f1", testKinds()).Decode("prod", in)
	if len(clusters) != 1 || clusters[0].Digest != mustDecode(t, newest).Digest {
		t.Error("the digest depends on the names of files")
	}
}
