package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBounds: a value that upstream's resource definitions refuse is a problem that says what
// the field takes.
func TestBounds(t *testing.T) {
	const (
		kcp  = "KubeadmControlPlane prod/eu-cp"
		md   = "MachineDeployment prod/eu-md-0"
		kct  = "KubeadmConfigTemplate prod/w"
		mhc  = "MachineHealthCheck prod/eu-hc"
		at   = "spec.template.spec."
		conf = "spec.kubeadmConfigSpec."

		machine = "      minReadySeconds: 5\n"
		config  = "preKubeadmCommands: [echo hello]"
		cluster = "    clusterConfiguration:\n"
	)
	gates := "      readinessGates: [{conditionType: example.com/a}, {conditionType: example.com/a}]\n"
	for name, c := range map[string]struct {
		reason string
		from   string // newest where empty
		change []string
		want   []wantProblem
	}{
		"low": {
			change: []string{cluster, cluster + "      certificateValidityPeriodDays: 365\n      caCertificateValidityPeriodDays: 0\n"},
			want:   []wantProblem{{kcp, conf + "clusterConfiguration.caCertificateValidityPeriodDays", "must be at least 1, is 0", ""}},
		},
		"high": {
			reason: "it would overflow when kubeadm is told",
			change: []string{cluster, cluster + "      caCertificateValidityPeriodDays: 200000\n"},
			want:   []wantProblem{{kcp, conf + "clusterConfiguration.caCertificateValidityPeriodDays", "must be at most 36500, is 200000", ""}},
		},
		"required": {
			change: []string{config, "diskSetup: {partitions: [{layout: true}]}"},
			want:   []wantProblem{{kct, at + "diskSetup.partitions[0].device", "is required", ""}},
		},
		"null": {
			reason: "API servers take null as not there",
			change: []string{config, "diskSetup: {partitions: [{layout: true, device: null}]}"},
			want:   []wantProblem{{kct, at + "diskSetup.partitions[0].device", "is required", ""}},
		},
		"empty text": {
			change: []string{machine, machine + "      readinessGates: [{conditionType: ''}]\n"},
			want:   []wantProblem{{md, at + "readinessGates[0].conditionType", "must not be empty", ""}},
		},
		"empty entry": {
			change: []string{config, "preKubeadmCommands: [echo hello, '']"},
			want:   []wantProblem{{kct, at + "preKubeadmCommands[1]", "must not be empty", ""}},
		},
		"long text": {
			reason: "characters count, not bytes",
			change: []string{config, "ntp: {servers: [" + strings.Repeat("ä", 512) + ", " + strings.Repeat("ä", 513) + "]}"},
			want:   []wantProblem{{kct, at + "ntp.servers[1]", "must have at most 512 characters, has 513", ""}},
		},
		"long list": {
			change: []string{config, "ntp: {servers: [" + strings.Repeat("a, ", 100) + "a]}"},
			want:   []wantProblem{{kct, at + "ntp.servers", "must have at most 100 entries, has 101", ""}},
		},
		"pattern": {
			change: []string{machine, machine + "      taints: [{key: a, value: 'a b!', effect: NoSchedule, propagation: Always}]\n"},
			want: []wantProblem{{
				md, at + "taints[0].value", `must be empty, or letters, digits, -, _ and ., which begin and end with a letter or digit, is "a b!"`, "",
			}},
		},
		"key that is there twice": {
			change: []string{machine, machine + gates},
			want:   []wantProblem{{md, at + "readinessGates[1]", "has the same conditionType as another entry", "keep one of them"}},
		},
		"one of two keys": {
			reason: "a taint may be there with two effects",
			change: []string{machine, machine + "      taints: [{key: a, effect: NoSchedule, propagation: Always}, {key: a, effect: NoExecute, propagation: Always}, {key: a, effect: NoExecute, propagation: OnInitialization}]\n"},
			want:   []wantProblem{{md, at + "taints[2]", "has the same key and effect as another entry", "keep one of them"}},
		},
		"two of one": {
			change: []string{config, "diskSetup: {partitions: [{device: /dev/a, layout: true, diskLayout: [{percentage: 5}]}]}"},
			want:   []wantProblem{{kct, at + "diskSetup.partitions[0]", "must have exactly one of layout and diskLayout, has 2", ""}},
		},
		"none of one": {
			change: []string{config, "diskSetup: {partitions: [{device: /dev/a}]}"},
			want:   []wantProblem{{kct, at + "diskSetup.partitions[0]", "must have exactly one of layout and diskLayout, has 0", ""}},
		},
		"environment from nowhere": {
			reason: "a kubelet does not run such a component",
			change: []string{cluster, cluster + "      controllerManager: {extraEnvs: [{name: A, value: a, valueFrom: {}}, {name: B, value: b, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: C, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: D, valueFrom: {fieldRef: {}}}, {name: E, valueFrom: {fieldRef: {fieldPath: status.podIP}, configMapKeyRef: {}}}]}\n"},
			want: []wantProblem{
				{kcp, conf + "clusterConfiguration.controllerManager.extraEnvs[0].valueFrom", "Forbidden: must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef, with its fields", ""},
				{kcp, conf + "clusterConfiguration.controllerManager.extraEnvs[1].valueFrom", "Forbidden: only one of value and valueFrom may be set", ""},
				{kcp, conf + "clusterConfiguration.controllerManager.extraEnvs[3].valueFrom", "Forbidden: must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef, with its fields", ""},
				{kcp, conf + "clusterConfiguration.controllerManager.extraEnvs[4].valueFrom", "Forbidden: must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef, with its fields", ""},
			},
		},
		"v1beta1": {
			reason: "each version has its own bounds",
			from:   older, change: []string{config, "users: [{name: '', gecos: a}]"},
			want: []wantProblem{{kct, at + "users[0].name", "Required value", ""}},
		},
		"label": {
			reason: "the object itself is labelled, not its template",
			change: []string{"metadata: {name: w, namespace: prod}", "metadata: {name: w, namespace: prod, labels: {a: 'b c'}}"},
			want: []wantProblem{{
				kct, "metadata.labels.a",
				`"a: b c" is not a label: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`, "",
			}},
		},
		"annotation": {
			change: []string{"metadata: {name: w, namespace: prod}", "metadata: {name: w, namespace: prod, annotations: {a/b/c: ''}}"},
			want: []wantProblem{{
				kct, "metadata.annotations.a/b/c",
				`"a/b/c" is not a name of an annotation: a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`, "",
			}},
		},
		"long annotation": {
			change: []string{"metadata: {name: w, namespace: prod}", "metadata: {name: w, namespace: prod, annotations: {a: " + strings.Repeat("b", 256<<10) + "}}"},
			want:   []wantProblem{{kct, "metadata.annotations", "must have at most 262144 bytes together, have 262145", ""}},
		},
		"version of CoreDNS": {
			reason: "Cluster API reads a version in the tag",
			change: []string{cluster, cluster + "      dns: {imageTag: latest}\n"},
			want:   []wantProblem{{kcp, conf + "clusterConfiguration.dns.imageTag", `Invalid value: "latest": must be a version of CoreDNS such as "v1.12.0"`, ""}},
		},
		"version of CoreDNS that is good": {
			change: []string{cluster, cluster + "      dns: {imageTag: v1.12.0_company.1}\n"},
		},
		"surge in quotes": {
			reason: "Cluster API takes it",
			change: []string{"  version: v1.34.1\n  machineTemplate:", "  version: v1.34.1\n  rollout: {strategy: {rollingUpdate: {maxSurge: \"1\"}}}\n  machineTemplate:"},
		},
		"another rule says it": {
			reason: "one problem is enough",
			change: []string{"selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}}\n", "selector: {}\n"},
			want:   []wantProblem{{mhc, "spec.selector", "Required value: an empty selector would select every machine", ""}},
		},
		"empty and not required": {
			reason: "nothing is asked for",
			change: []string{config, "files: []\n      ntp: {}\n      verbosity: 1\n      bootCommands: []", machine, machine + "      taints: []\n      failureDomain: ''\n", "      failureDomain: a\n", ""},
		},
		"filled in by a webhook": {
			reason: "spec.selector and the type of the strategy, which the schema requires",
		},
	} {
		t.Run(name, func(t *testing.T) {
			from := c.from
			if from == "" {
				from = newest
			}
			_, problems := decodeAll(replaced(t, from, c.change...))
			var got []wantProblem
			for _, p := range problems {
				got = append(got, wantProblem{p.Object, p.Field, p.Message, p.Hint})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}
