package decode_test

import (
	"testing"
)

// A parityCase is an input and the verdicts on it: whether Cluster API refuses it, when it is
// made, by its schema or its webhook, and whether Fairlead does. Inputs are our own.
type parityCase struct {
	change []string // pairs of old and new text of newest
	theirs bool     // Cluster API refuses it
	why    string   // Fairlead's verdict is another one; empty: it is the same
}

// TestParityOfWebhooks holds Fairlead's verdicts against those of Cluster API 1.14.
// docs/reference/coverage.md has the differences in which Fairlead takes more.
func TestParityOfWebhooks(t *testing.T) {
	const (
		kcp        = "  version: v1.34.1\n  machineTemplate:"
		machine    = "      minReadySeconds: 5\n"
		config     = "      preKubeadmCommands: [echo hello]\n"
		cluster    = "    clusterConfiguration:\n"
		checks     = "    unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]\n"
		selector   = "selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}}"
		limit      = "unhealthyLessThanOrEqualTo: 40%"
		rolling    = "{maxSurge: 50%, maxUnavailable: 50%}"
		ranges     = "    pods: {cidrBlocks: [10.1.0.0/16]}\n"
		deployment = "  clusterName: eu\n  replicas: 3\n"
		external   = "etcd: {external: {endpoints: ['https://e:2379'], caFile: /a, certFile: /b, keyFile: /c}}"
	)
	add := func(at, text string) []string { return []string{at, at + text} }
	controlPlane := func(text string) []string { return []string{kcp, text + kcp} }
	taint := func(key string) []string {
		return add(machine, "      taints: [{key: "+key+", effect: NoSchedule, propagation: Always}]\n")
	}
	selects := func(kind, spec string) []string {
		return []string{"    triggerIf: {unhealthyLessThanOrEqualTo: 40%}\n", "    triggerIf: {unhealthyLessThanOrEqualTo: 40%}\n---\napiVersion: " + kind + "\nmetadata: {name: x, namespace: prod}\nspec: " + spec + "\n"}
	}
	const rule, set = "cluster.x-k8s.io/v1beta2\nkind: MachineDrainRule", "addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet"
	for name, c := range map[string]parityCase{
		"Cluster: good":                     {},
		"Cluster: range":                    {change: []string{"10.1.0.0/16", "10.1.0.0"}, theirs: true},
		"Cluster: range of IPv6":            {change: []string{"10.1.0.0/16", "'fd00::/48'"}},
		"Cluster: host without a port":      {change: add("spec:\n  clusterNetwork:\n"+ranges, "  controlPlaneEndpoint: {host: a}\n"), why: "an endpoint is a host and a port, and no controller completes it"},
		"Cluster: no infrastructure":        {change: []string{"  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestCluster, name: eu}\n", ""}, why: "machines have nowhere to run"},
		"Cluster: no control plane":         {change: []string{"  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-cp}\n", ""}, why: "nothing makes a control plane by hand"},
		"Cluster: gate that is there twice": {change: add("spec:\n  clusterNetwork:\n"+ranges, "  availabilityGates: [{conditionType: Paused}, {conditionType: Paused}]\n"), theirs: true},

		"KubeadmControlPlane: no replicas":            {change: controlPlane("  replicas: 0\n"), theirs: true},
		"KubeadmControlPlane: even":                   {change: controlPlane("  replicas: 2\n"), theirs: true},
		"KubeadmControlPlane: even with another etcd": {change: append(controlPlane("  replicas: 2\n"), add(cluster, "      "+external+"\n")...)},
		"KubeadmControlPlane: two sorts of etcd":      {change: add(cluster, "      etcd: {local: {dataDir: /a}, external: {endpoints: ['https://e:2379'], caFile: /a, certFile: /b, keyFile: /c}}\n"), theirs: true},
		"KubeadmControlPlane: surge of 2":             {change: controlPlane("  rollout: {strategy: {rollingUpdate: {maxSurge: 2}}}\n"), theirs: true},
		"KubeadmControlPlane: surge of 0 of 1":        {change: controlPlane("  rollout: {strategy: {rollingUpdate: {maxSurge: 0}}}\n"), theirs: true},
		"KubeadmControlPlane: surge of 0 of 3":        {change: controlPlane("  replicas: 3\n  rollout: {strategy: {rollingUpdate: {maxSurge: 0}}}\n")},
		"KubeadmControlPlane: surge in quotes":        {change: controlPlane("  rollout: {strategy: {rollingUpdate: {maxSurge: '1'}}}\n")},
		"KubeadmControlPlane: version of two parts":   {change: []string{kcp, "  version: v1.34\n  machineTemplate:"}, theirs: true},
		"KubeadmControlPlane: version without v":      {change: []string{kcp, "  version: 1.34.1\n  machineTemplate:"}},
		"KubeadmControlPlane: CoreDNS latest":         {change: add(cluster, "      dns: {imageTag: latest}\n"), theirs: true},
		"KubeadmControlPlane: CoreDNS 1.12":           {change: add(cluster, "      dns: {imageTag: v1.12.0_a}\n")},
		"KubeadmControlPlane: tag of etcd":            {change: add(cluster, "      etcd: {local: {imageTag: 'a:b'}}\n"), theirs: true},
		"KubeadmControlPlane: expiry of 6 days":       {change: controlPlane("  rollout: {before: {certificatesExpiryDays: 6}}\n"), theirs: true},
		"KubeadmControlPlane: expiry of 400 days":     {change: controlPlane("  rollout: {before: {certificatesExpiryDays: 400}}\n"), why: "every machine would be replaced again and again"},
		"KubeadmControlPlane: authorities end first":  {change: add(cluster, "      certificateValidityPeriodDays: 100\n      caCertificateValidityPeriodDays: 99\n"), theirs: true},
		"KubeadmControlPlane: name without random":    {change: controlPlane("  machineNaming: {template: a}\n"), theirs: true},
		"KubeadmControlPlane: argument twice":         {change: []string{`[{name: v, value: "2"}]`, `[{name: v, value: "2"}, {name: v, value: "3"}]`}, theirs: true, why: "kubeadm takes it: two issuers of service accounts"},
		"KubeadmControlPlane: argument repeated":      {change: []string{`[{name: v, value: "2"}]`, `[{name: v, value: "2"}, {name: v, value: "2"}]`}, theirs: true},

		"MachineDeployment: nothing may go":           {change: []string{rolling, "{maxSurge: 0, maxUnavailable: 0}"}, theirs: true},
		"MachineDeployment: surge in words":           {change: []string{rolling, "{maxSurge: half}"}, theirs: true},
		"MachineDeployment: labels do not match":      {change: add(deployment, "  selector: {matchLabels: {a: b}}\n"), theirs: true},
		"MachineDeployment: another cluster":          {change: []string{"    spec:\n      clusterName: eu\n", "    spec:\n      clusterName: us\n"}, theirs: true},
		"MachineDeployment: no version":               {change: []string{"      version: v1.34.1\n", ""}, why: "Fairlead installs what the version says"},
		"MachineDeployment: no replicas":              {change: []string{"  replicas: 3\n", ""}},
		"MachineDeployment: negative gap":             {change: []string{rolling, "{maxSurge: 1, maxUnavailable: -1}"}, why: "less than no machine cannot be missing"},
		"MachineDeployment: name without random":      {change: add(deployment, "  machineNaming: {template: a}\n"), theirs: true},
		"taint of Kubernetes":                         {change: taint("node.kubernetes.io/not-ready"), theirs: true},
		"taint of Cluster API":                        {change: taint("node.cluster.x-k8s.io/uninitialized"), theirs: true},
		"taint of a cloud":                            {change: taint("node.cloudprovider.kubernetes.io/shutdown"), theirs: true},
		"taint of a control plane on a worker":        {change: taint("node-role.kubernetes.io/control-plane"), theirs: true},
		"taint out of service":                        {change: taint("node.kubernetes.io/out-of-service")},
		"taint twice":                                 {change: add(machine, "      taints: [{key: a, effect: NoSchedule, propagation: Always}, {key: a, effect: NoSchedule, propagation: OnInitialization}]\n"), theirs: true},
		"taint with a value that no Node has":         {change: add(machine, "      taints: [{key: a, value: 'a b!', effect: NoSchedule, propagation: Always}]\n"), theirs: true},
		"MachineHealthCheck: everything":              {change: []string{selector, "selector: {}"}, theirs: true},
		"MachineHealthCheck: another cluster":         {change: []string{selector, "selector: {matchLabels: {cluster.x-k8s.io/cluster-name: us}}"}, theirs: true},
		"MachineHealthCheck: 20 seconds":              {change: add(checks, "    nodeStartupTimeoutSeconds: 20\n"), theirs: true},
		"MachineHealthCheck: no startup":              {change: add(checks, "    nodeStartupTimeoutSeconds: 0\n")},
		"MachineHealthCheck: limit that is no number": {change: []string{limit, "unhealthyLessThanOrEqualTo: many"}, theirs: true},
		"MachineHealthCheck: range the wrong way":     {change: []string{limit, "unhealthyInRange: '[3-1]'"}, why: "no number is in it"},
		"MachineHealthCheck: range of words":          {change: []string{limit, "unhealthyInRange: '[a-b]'"}, theirs: true},
		"MachineHealthCheck: condition of itself":     {change: add(checks, "    unhealthyMachineConditions: [{type: Ready, status: 'False', timeoutSeconds: 60}]\n"), theirs: true},
		"MachineHealthCheck: condition of etcd":       {change: add(checks, "    unhealthyMachineConditions: [{type: EtcdMemberHealthy, status: 'False', timeoutSeconds: 60}]\n"), why: "the members of etcd are looked after as a whole"},

		"KubeadmConfig: path twice":            {change: add(config, "      files: [{path: /a, content: a}, {path: /a, content: b}]\n"), theirs: true},
		"KubeadmConfig: two contents":          {change: add(config, "      files: [{path: /a, content: a, contentFrom: {secret: {name: s, key: k}}}]\n"), theirs: true},
		"KubeadmConfig: two passwords":         {change: add(config, "      users: [{name: a, passwd: a, passwdFrom: {secret: {name: s, key: k}}}]\n"), theirs: true},
		"KubeadmConfig: Ignition unasked":      {change: add(config, "      ignition: {containerLinuxConfig: {additionalConfig: 'systemd: {}'}}\n"), theirs: true},
		"KubeadmConfig: table of Ignition":     {change: add(config, "      format: ignition\n      diskSetup: {partitions: [{device: /dev/a, layout: true, tableType: mbr}]}\n"), theirs: true},
		"KubeadmConfig: filesystem replaced":   {change: add(config, "      format: ignition\n      diskSetup: {filesystems: [{device: /dev/a, filesystem: ext4, label: a, replaceFS: ntfs}]}\n"), theirs: true},
		"KubeadmConfig: gzip of Ignition":      {change: add(config, "      format: ignition\n      files: [{path: /a, encoding: gzip+base64, content: H4sIAAAAAAAAA0sEAEO+t+gBAAAA}]\n"), theirs: true, why: "Ignition unpacks it"},
		"KubeadmConfig: more than a disk":      {change: add(config, "      diskSetup: {partitions: [{device: /dev/a, diskLayout: [{percentage: 60}, {percentage: 60}]}]}\n"), theirs: true},
		"KubeadmConfig: layout and diskLayout": {change: add(config, "      diskSetup: {partitions: [{device: /dev/a, layout: true, diskLayout: [{percentage: 60}]}]}\n"), theirs: true},
		"KubeadmConfig: empty lists":           {change: add(config, "      files: []\n"), theirs: true, why: "it asks for nothing"},

		"MachineDrainRule: order of what is left": {change: selects(rule, "{drain: {behavior: Skip, order: 5}}"), theirs: true},
		"MachineDrainRule: the same twice":        {change: selects(rule, "{drain: {behavior: Skip}, machines: [{selector: {matchLabels: {a: b}}}, {selector: {matchLabels: {a: b}}}]}"), theirs: true},
		"MachineDrainRule: selects by nothing":    {change: selects(rule, "{drain: {behavior: Skip}, machines: [{}]}"), theirs: true},
		"ClusterResourceSet: no resources":        {change: selects(set, "{clusterSelector: {matchLabels: {a: b}}, resources: []}"), theirs: true},
		"ClusterResourceSet: every cluster":       {change: selects(set, "{clusterSelector: {}, resources: [{kind: ConfigMap, name: c}]}"), theirs: true},
		"ClusterResourceSet: another kind":        {change: selects(set, "{clusterSelector: {matchLabels: {a: b}}, resources: [{kind: Pod, name: c}]}"), theirs: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll(replaced(t, newest, c.change...))
			want := c.theirs == (c.why == "")
			if got := len(problems) > 0; got != want {
				t.Errorf("Cluster API refuses it: %v; Fairlead refuses it: %v, want %v (%s); problems %v", c.theirs, got, want, c.why, problems)
			}
		})
	}
}
