package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// lone is a Machine that stands alone, made of the same as those of newest.
const lone = `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata:
  name: gpu-1
  namespace: prod
  labels: {node-role.kubernetes.io/worker: "", tier: web}
  annotations: {cluster.x-k8s.io/skip-remediation: ""}
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: eu, uid: 1a}]
spec:
  clusterName: eu
  version: v1.34.1
  failureDomain: a
  minReadySeconds: 5
  deletion: {nodeDrainTimeoutSeconds: 10, nodeVolumeDetachTimeoutSeconds: 20}
  readinessGates: [{conditionType: example.com/gpu}]
  taints: [{key: gpu, effect: NoSchedule, propagation: Always}]
  bootstrap:
    configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: gpu-1}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: TestMachine, name: gpu-1}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: gpu-1, namespace: prod}
spec:
  preKubeadmCommands: [echo hello]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TestMachine
metadata: {name: gpu-1, namespace: prod}
spec: {flavor: small}
`

// loneOlder is the same in v1beta1, without what that does not have.
const loneOlder = `
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Machine
metadata:
  name: gpu-1
  namespace: prod
  labels: {node-role.kubernetes.io/worker: "", tier: web}
  annotations: {cluster.x-k8s.io/skip-remediation: ""}
spec:
  clusterName: eu
  version: 1.34.1
  failureDomain: a
  nodeDrainTimeout: 10s
  nodeVolumeDetachTimeout: 20s
  readinessGates: [{conditionType: example.com/gpu}]
  bootstrap:
    configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: gpu-1}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: TestMachine, name: gpu-1}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: gpu-1, namespace: prod}
spec:
  preKubeadmCommands: [echo hello]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: TestMachine
metadata: {name: gpu-1, namespace: prod}
spec: {flavor: small}
`

// TestMachine decodes Machines that stand alone: pools of one machine, of their
// name, that nothing replaces.
func TestMachine(t *testing.T) {
	for name, manifests := range map[string]string{"v1beta2": newest + lone, "v1beta1": newest + loneOlder} {
		t.Run(name, func(t *testing.T) {
			c := mustDecode(t, manifests)
			got, ok := c.Pool("gpu-1")
			if !ok {
				t.Fatalf("there is no pool gpu-1: %v", c.Pools())
			}
			if n := c.MachineName(&got, 0); n != "gpu-1" {
				t.Errorf("the machine is called %s", n)
			}
			like, _ := c.Pool("eu-md-0")
			want := fleet.Pool{
				Name: "gpu-1", Role: fleet.RoleWorker, Kind: "Machine", Replicas: 1, Version: "v1.34.1",
				Bootstrap: like.Bootstrap, FailureDomain: "a", Strategy: "OnDelete", MaxRemediations: -1,
				Labels:                  map[string]string{"cluster.x-k8s.io/cluster-name": "eu", "node-role.kubernetes.io/worker": "", "tier": "web"},
				NodeLabels:              map[string]string{"node-role.kubernetes.io/worker": ""},
				Annotations:             map[string]string{"cluster.x-k8s.io/skip-remediation": ""},
				NodeDrainTimeoutSeconds: 10, NodeVolumeDetachTimeoutSeconds: 20,
			}
			want.Template, want.Former, want.Infrastructure = got.Template, got.Former, got.Infrastructure
			if name == "v1beta2" {
				want.MinReadySeconds, want.Taints = 5, got.Taints
				if len(got.Taints) != 1 || got.Taints[0].Key != "gpu" {
					t.Errorf("taints %v", got.Taints)
				}
			}
			if want.ReadinessGates = got.ReadinessGates; len(got.ReadinessGates) != 1 {
				t.Errorf("readiness gates %v", got.ReadinessGates)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got.Infrastructure.GVK.Kind != "TestMachine" || string(got.Infrastructure.Spec) != `{"flavor":"small"}` || got.Template == "" {
				t.Errorf("infrastructure %v of template %q", got.Infrastructure, got.Template)
			}
			if labels := c.MachineLabels(&got); labels["cluster.x-k8s.io/deployment-name"] != "" || labels["tier"] != "web" {
				t.Errorf("health checks and drain rules select it by %v", labels)
			}
		})
	}
}

// TestMachineProblems: what cannot stand alone is refused, with the reason.
func TestMachineProblems(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		pairs  []string
		field  string
		want   string
	}{
		"control plane": {
			"etcd needs an order",
			[]string{"tier: web}\n  annotations: {cluster.x-k8s.io/skip", "cluster.x-k8s.io/control-plane: \"\"}\n  annotations: {cluster.x-k8s.io/skip"},
			"metadata.labels[cluster.x-k8s.io/control-plane]", "only a KubeadmControlPlane keeps",
		},
		"of a MachineSet": {
			"it would be there twice",
			[]string{"kind: Cluster, name: eu, uid: 1a}", "kind: MachineSet, name: eu-md-0-abc, uid: 1a, controller: true}"},
			"metadata.ownerReferences[0]", "it is made by MachineSet eu-md-0-abc",
		},
		"data": {
			"a bootstrap secret of Cluster API's",
			[]string{"kind: KubeadmConfig, name: gpu-1}\n", "kind: KubeadmConfig, name: gpu-1}\n    dataSecretName: gpu-1\n"},
			"spec.bootstrap.dataSecretName", "use configRef with a KubeadmConfig",
		},
		"template": {
			"a template is for pools",
			[]string{"kind: KubeadmConfig, name: gpu-1}", "kind: KubeadmConfigTemplate, name: w}"},
			"spec.bootstrap.configRef", "must refer to a KubeadmConfig, not to KubeadmConfigTemplate",
		},
		"infrastructure of a pool": {
			"a template is for pools",
			[]string{"kind: TestMachine, name: gpu-1}", "kind: TestMachineTemplate, name: m}"},
			"spec.infrastructureRef", "must refer to an InfrastructureMachine",
		},
		"infrastructure of a machine": {
			"a machine is for one that stands alone",
			[]string{"kind: TestMachineTemplate, name: m}\n---\napiVersion: bootstrap", "kind: TestMachine, name: gpu-1}\n---\napiVersion: bootstrap"},
			"spec.template.spec.infrastructureRef", "must refer to an InfrastructureMachineTemplate",
		},
		"version": {"too new", []string{"clusterName: eu\n  version: v1.34.1", "clusterName: eu\n  version: v1.35.0"}, "spec.version", "v1.35.0"},
		"name":    {"the Node has it", []string{"name: gpu-1\n  namespace", "name: gpu.1\n  namespace"}, "metadata.name", "also the name of the Node"},
		"taint": {
			"for control planes",
			[]string{"{key: gpu, effect", "{key: node-role.kubernetes.io/control-plane, effect"},
			"spec.taints[0].key", "control-plane machines",
		},
		"no cluster": {"it belongs to none", []string{"clusterName: eu\n  version", "clusterName: us\n  version"}, "spec.clusterName", "does not hold"},
		"same name":  {"pools are told apart by name", []string{"name: gpu-1\n  namespace", "name: eu-md-0\n  namespace"}, "metadata.name", "both called"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeAll(replaced(t, newest+lone, test.pairs...))
			for _, p := range problems {
				if p.Field == test.field && strings.Contains(p.Message+p.Hint, test.want) {
					return
				}
			}
			t.Errorf("%s: no problem of %s with %q in %v", test.reason, test.field, test.want, problems)
		})
	}
}

// TestOwnedMachineSet: one that a MachineDeployment makes is refused, since its
// machines would be there twice.
func TestOwnedMachineSet(t *testing.T) {
	set := asMachineSet(t, newest, "  rollout:\n    strategy:\n      rollingUpdate: {maxSurge: 50%, maxUnavailable: 50%}\n", "",
		"metadata: {name: eu-md-0, namespace: prod}",
		"metadata: {name: eu-md-0, namespace: prod, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: md, uid: 1a, controller: true}]}")
	_, problems := decodeAll(set)
	if len(problems) != 1 || problems[0].Field != "metadata.ownerReferences[0]" || !strings.Contains(problems[0].Message, "made by MachineSet md") {
		t.Errorf("got %v", problems)
	}
}
