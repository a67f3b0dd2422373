package decode_test

import (
	"encoding/json"
	"testing"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func ptr[T any](v T) *T { return &v }

func TestDecodeBothVersionsToOneModel(t *testing.T) {
	machines := fleet.Object{
		GVK:       schema.GroupVersionKind{Group: testGroup, Version: "v1beta2", Kind: "TestMachineTemplate"},
		Namespace: "prod", Name: "m", File: "prod/eu.yaml", Spec: json.RawMessage(`{"flavor":"small"}`),
	}
	want := fleet.Cluster{
		Fleet: "f1", Key: fleet.Key{Namespace: "prod", Name: "eu"}, Overlay: "prod",
		Provider: "test",
		Infrastructure: fleet.Object{
			GVK:       schema.GroupVersionKind{Group: testGroup, Version: "v1beta2", Kind: "TestCluster"},
			Namespace: "prod", Name: "eu", File: "prod/eu.yaml", Spec: json.RawMessage(`{"region":"fra"}`),
		},
		Network: clusterv1.ClusterNetwork{Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.1.0.0/16"}}},
		ControlPlane: fleet.Pool{
			Name: "eu-cp", Role: "control-plane", Replicas: 1, Version: "v1.34.1",
			Bootstrap: fleet.Bootstrap{Spec: json.RawMessage(`{"clusterConfiguration":{"apiServer":{"extraArgs":[{"name":"v","value":"2"}]}},` +
				`"joinConfiguration":{"nodeRegistration":{"kubeletExtraArgs":[{"name":"cloud-provider","value":"external"}]}}}`)},
			Infrastructure: machines,
			Strategy:       "RollingUpdate", MaxSurge: 1, MaxRemediations: 1, DeletionOrder: "Oldest",
			Labels: map[string]string{
				"cluster.x-k8s.io/cluster-name": "eu", "cluster.x-k8s.io/control-plane": "", "cluster.x-k8s.io/control-plane-name": "eu-cp",
			},
			NodeDrainTimeoutSeconds: 10,
		},
		Workers: []fleet.Pool{{
			Name: "eu-md-0", Role: "worker", Replicas: 3, Version: "v1.34.1", FailureDomain: "a",
			Bootstrap:      fleet.Bootstrap{Spec: json.RawMessage(`{"preKubeadmCommands":["echo hello"]}`)},
			Infrastructure: machines,
			Strategy:       "RollingUpdate", MaxSurge: 2, MaxUnavailable: 1, MaxRemediations: -1, DeletionOrder: "Random",
			MinReadySeconds: 5,
			Labels: map[string]string{
				"cluster.x-k8s.io/cluster-name": "eu", "cluster.x-k8s.io/deployment-name": "eu-md-0",
				"node-role.kubernetes.io/worker": "", "tier": "web",
			},
			NodeLabels: map[string]string{"node-role.kubernetes.io/worker": ""},
		}},
		HealthChecks: []clusterv1.MachineHealthCheck{{
			TypeMeta:   metav1.TypeMeta{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineHealthCheck"},
			ObjectMeta: metav1.ObjectMeta{Name: "eu-hc", Namespace: "prod"},
			Spec: clusterv1.MachineHealthCheckSpec{
				ClusterName: "eu",
				Selector:    metav1.LabelSelector{MatchLabels: map[string]string{"cluster.x-k8s.io/deployment-name": "eu-md-0"}},
				Checks: clusterv1.MachineHealthCheckChecks{
					NodeStartupTimeoutSeconds: ptr(int32(600)),
					UnhealthyNodeConditions:   []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "Unknown", TimeoutSeconds: ptr(int32(300))}},
				},
				Remediation: clusterv1.MachineHealthCheckRemediation{TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf{
					UnhealthyLessThanOrEqualTo: ptr(intstr.FromString("40%")),
				}},
			},
		}},
		Secrets:    map[string]fleet.SecretData{},
		ConfigMaps: map[string]map[string]string{},

		NamespaceLabels: map[string]string{"kubernetes.io/metadata.name": "prod"},
	}
	for name, manifests := range map[string]string{"v1beta2": newest, "v1beta1": older} {
		t.Run(name, func(t *testing.T) {
			got := mustDecode(t, manifests)
			// Literal hashes: a change of them rolls every machine of every fleet.
			if diff := cmp.Diff([][]fleet.TemplateHash{{"3-2a2f12d142e8125a8ed0", "2-2a2f12d142e8125a8ed0", "1-2a2f12d142e8125a8ed0"}, {"3-68d58f108e319e101d2e", "2-68d58f108e319e101d2e", "1-68d58f108e319e101d2e"}}, [][]fleet.TemplateHash{
				append([]fleet.TemplateHash{got.ControlPlane.Template}, got.ControlPlane.Former...), append([]fleet.TemplateHash{got.Workers[0].Template}, got.Workers[0].Former...),
			}); diff != "" {
				t.Errorf("template hashes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff("486fbf2abd20d116cb06844ee99b2f05b6a887bbad0ad3c203e750c314cc6a8c", got.Digest); diff != "" {
				t.Errorf("digest (-want +got):\n%s", diff)
			}
			got.ControlPlane.Template, got.Workers[0].Template, got.Digest = "", "", ""
			got.ControlPlane.Former, got.Workers[0].Former = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Any object may say that it has no variables.
func TestNoSubstitution(t *testing.T) {
	mustDecode(t, replaced(t, newest, "{name: eu-cp, namespace: prod}", "{name: eu-cp, namespace: prod, annotations: {fairlead.dev/substitute: disabled}}"))
}
