package decode_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	metal3 "fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/render/decode"
)

// rebooted is a cluster whose workers are rebooted before they are replaced.
const rebooted = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu, namespace: prod}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: eu}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-cp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: eu, namespace: prod}
spec: {controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}, virtualIP: {}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-cp, namespace: prod}
spec:
  version: v1.34.2
  replicas: 1
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: eu}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: eu, namespace: prod}
spec: {template: {spec: {image: {url: "https://images/eu.raw", checksum: "https://images/eu.sum", checksumType: sha256, diskFormat: raw}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: eu-hc, namespace: prod}
spec:
  clusterName: eu
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}
  remediation: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3RemediationTemplate, name: reboot}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3RemediationTemplate
metadata: {name: reboot, namespace: prod}
spec: {template: {spec: {strategy: {type: Reboot, retryLimit: 2, timeoutSeconds: 300}}}}
`

// TestReboots: a health check may name how machines are rebooted before they are replaced.
func TestReboots(t *testing.T) {
	kinds := slices.Concat(testKinds(), metal3.Kinds())
	const old = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: eu-hc, namespace: prod}
spec:
  clusterName: eu
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}
  remediation: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3RemediationTemplate, name: reboot}}`
	for name, tc := range map[string]struct {
		change  []string
		want    fleet.RebootRules
		problem string
	}{
		"as it is": {nil, fleet.RebootRules{Provider: "metal3", RetryLimit: 2, Timeout: 5 * time.Minute}, ""},
		"defaults": {[]string{"retryLimit: 2, timeoutSeconds: 300", ""}, fleet.RebootRules{Provider: "metal3", RetryLimit: 1, Timeout: 10 * time.Minute}, ""},
		"v1beta1": {[]string{old, `apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: eu-hc, namespace: prod}
spec:
  clusterName: eu
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}]
  remediationTemplate: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3RemediationTemplate, name: reboot}`}, fleet.RebootRules{Provider: "metal3", RetryLimit: 2, Timeout: 5 * time.Minute}, ""},
		"not there": {[]string{"Metal3RemediationTemplate, name: reboot", "Metal3RemediationTemplate, name: other"}, fleet.RebootRules{}, "names Metal3RemediationTemplate prod/other, which the overlay does not hold"},
		"another kind": {
			[]string{"Metal3RemediationTemplate, name: reboot", "Metal3MachineTemplate, name: eu"},
			fleet.RebootRules{},
			"is not supported: Metal3MachineTemplate is no template of a remediation that is built in",
		},
	} {
		clusters, problems := decode.New("f1", kinds).Decode("prod", objects(replaced(t, rebooted, tc.change...)))
		switch {
		case tc.problem != "":
			if len(problems) != 1 || !strings.Contains(problems[0].Message, tc.problem) || !strings.HasPrefix(problems[0].Field, "spec.remediation.templateRef") {
				t.Errorf("%s: %v, want %s", name, problems, tc.problem)
			}
		case len(problems) > 0 || len(clusters) != 1:
			t.Errorf("%s: %v", name, problems)
		default:
			if d := cmp.Diff(map[string]fleet.RebootRules{"eu-hc": tc.want}, clusters[0].Reboots); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
	_, rest, _ := strings.Cut(rebooted, "kind: Metal3RemediationTemplate\n")
	template := "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3RemediationTemplate\n" + strings.Replace(rest, "reboot", "reboot", 1)
	other := replaced(t, newest, "  remediation:", "  remediation:\n    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3RemediationTemplate, name: reboot}\n   ") + "\n---\n" + template
	if _, problems := decode.New("f1", kinds).Decode("prod", objects(other)); len(problems) == 0 || !strings.Contains(problems[0].Message, "is for machines of provider metal3") {
		t.Errorf("machines of another provider: %v", problems)
	}
}
