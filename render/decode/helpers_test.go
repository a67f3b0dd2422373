package decode_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The kinds of a provider that exists for these tests only.
type testCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              testClusterSpec `json:"spec,omitempty"`
	Status            struct{}        `json:"status,omitempty"`
}

type testClusterSpec struct {
	Region  string `json:"region,omitempty"`
	Bastion string `json:"bastion,omitempty"`
}

type testMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Template struct {
			Spec testMachineSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec,omitempty"`
}

type testMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              testMachineSpec `json:"spec"`
}

type testMachineSpec struct {
	Flavor string `json:"flavor,omitempty"`
	Disk   int    `json:"disk,omitempty"`
}

const testGroup = "infrastructure.cluster.x-k8s.io"

func testKinds() []fleet.Kind {
	return []fleet.Kind{{
		Provider: "test", Role: fleet.InfrastructureCluster,
		Group: testGroup, Kind: "TestCluster", Versions: []string{"v1beta2", "v1beta1"},
		New: func(string) any { return &testCluster{} },
		Normalise: func(v any) (any, field.ErrorList) {
			return v.(*testCluster).Spec, nil
		},
		Refused: map[string]string{"spec.bastion": "use a jump host"},
	}, {
		Provider: "test", Role: fleet.InfrastructureMachineTemplate,
		Group: testGroup, Kind: "TestMachineTemplate", Versions: []string{"v1beta2", "v1beta1"},
		New: func(string) any { return &testMachineTemplate{} },
		Normalise: func(v any) (any, field.ErrorList) {
			spec := v.(*testMachineTemplate).Spec.Template.Spec
			if spec.Flavor == "" {
				return nil, field.ErrorList{field.Required(field.NewPath("spec", "template", "spec", "flavor"), "")}
			}
			return spec, nil
		},
	}, {
		Provider: "test", Role: fleet.InfrastructureMachineTemplate,
		Group: testGroup, Kind: "SameMachineTemplate", Versions: []string{"v1beta2"},
		New: func(string) any { return &testMachineTemplate{} },
		Normalise: func(v any) (any, field.ErrorList) {
			return v.(*testMachineTemplate).Spec.Template.Spec, nil
		},
	}, {
		Provider: "test", Role: fleet.InfrastructureMachine,
		Group: testGroup, Kind: "TestMachine", Versions: []string{"v1beta2", "v1beta1"},
		New:       func(string) any { return &testMachine{} },
		Normalise: func(v any) (any, field.ErrorList) { return v.(*testMachine).Spec, nil },
	}, {
		Provider: "other", Role: fleet.InfrastructureMachineTemplate,
		Group: testGroup, Kind: "OtherMachineTemplate", Versions: []string{"v1beta2"},
		New: func(string) any { return &testMachineTemplate{} },
		Normalise: func(v any) (any, field.ErrorList) {
			return v.(*testMachineTemplate).Spec.Template.Spec, nil
		},
	}}
}

// newest is a cluster of one control-plane machine and one worker in v1beta2.
const newest = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu, namespace: prod}
spec:
  clusterNetwork:
    pods: {cidrBlocks: [10.1.0.0/16]}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: eu-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestCluster, name: eu}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TestCluster
metadata: {name: eu, namespace: prod}
spec: {region: fra}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: eu-cp, namespace: prod}
spec:
  version: v1.34.1
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestMachineTemplate, name: m}
      deletion: {nodeDrainTimeoutSeconds: 10}
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs: [{name: v, value: "2"}]
    joinConfiguration:
      nodeRegistration:
        kubeletExtraArgs: [{name: cloud-provider, value: external}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-md-0, namespace: prod}
spec:
  clusterName: eu
  replicas: 3
  rollout:
    strategy:
      rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}
  template:
    metadata:
      labels: {node-role.kubernetes.io/worker: "", tier: web}
    spec:
      clusterName: eu
      version: v1.34.1
      failureDomain: a
      minReadySeconds: 5
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: w}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestMachineTemplate, name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec:
  template:
    spec:
      preKubeadmCommands: [echo hello]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TestMachineTemplate
metadata: {name: m, namespace: prod}
spec: {template: {spec: {flavor: small}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: eu-hc, namespace: prod}
spec:
  clusterName: eu
  selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}}
  checks:
    unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]
  remediation:
    triggerIf: {unhealthyLessThanOrEqualTo: 40%}
`

// older is the same cluster in v1beta1.
const older = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: eu, namespace: prod}
spec:
  clusterNetwork:
    pods: {cidrBlocks: [10.1.0.0/16]}
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: eu-cp, namespace: prod}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: TestCluster, name: eu}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: TestCluster
metadata: {name: eu, namespace: prod}
spec: {region: fra}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: eu-cp, namespace: prod}
spec:
  version: 1.34.1
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: TestMachineTemplate, name: m}
    nodeDrainTimeout: 10s
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs: {v: "2"}
    joinConfiguration:
      nodeRegistration:
        kubeletExtraArgs: {cloud-provider: external}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: eu-md-0, namespace: prod}
spec:
  clusterName: eu
  replicas: 3
  minReadySeconds: 5
  strategy:
    rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}
  template:
    metadata:
      labels: {node-role.kubernetes.io/worker: "", tier: web}
    spec:
      clusterName: eu
      version: v1.34.1
      failureDomain: a
      bootstrap:
        configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: w}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: TestMachineTemplate, name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: w, namespace: prod}
spec:
  template:
    spec:
      preKubeadmCommands: [echo hello]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: TestMachineTemplate
metadata: {name: m, namespace: prod}
spec: {template: {spec: {flavor: small}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: eu-hc, namespace: prod}
spec:
  clusterName: eu
  selector: {matchLabels: {cluster.x-k8s.io/deployment-name: eu-md-0}}
  unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]
  maxUnhealthy: 40%
`

// replaced returns manifests with pairs of old and new text exchanged. Every old
// text must be there.
func replaced(t *testing.T, manifests string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(manifests, pairs[i]) {
			t.Fatalf("the manifests have no %q", pairs[i])
		}
		manifests = strings.ReplaceAll(manifests, pairs[i], pairs[i+1])
	}
	return manifests
}

// objects splits manifests into documents.
func objects(manifests string) []render.Object {
	var out []render.Object
	for _, doc := range strings.Split(manifests, "\n---\n") {
		out = append(out, render.Object{File: "prod/eu.yaml", YAML: []byte(doc)})
	}
	return out
}

func decodeAll(manifests string) ([]fleet.Cluster, []fleet.Problem) {
	return decode.New("f1", testKinds()).Decode("prod", objects(manifests))
}

// mustDecode decodes manifests of one good cluster.
func mustDecode(t *testing.T, manifests string) fleet.Cluster {
	t.Helper()
	clusters, problems := decodeAll(manifests)
	for _, p := range problems {
		t.Errorf("problem: %s", p)
	}
	if len(clusters) != 1 {
		t.Fatalf("got %d clusters, want 1", len(clusters))
	}
	return clusters[0]
}
