package topology_test

import (
	"strings"
	"testing"
)

// small is a class with a cluster of it.
const small = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: small}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudClusterTemplate, name: small}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: small}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachineTemplate, name: small}
  workers:
    machineDeployments:
    - class: worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: small}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachineTemplate, name: small}
  variables:
  - name: size
    schema: {openAPIV3Schema: {type: integer, minimum: 1, default: 1}}
  patches:
  - name: size
    enabledIf: "true"
    definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: CloudMachineTemplate
        matchResources: {controlPlane: true}
      jsonPatches:
      - {op: add, path: /spec/template/spec/size, valueFrom: {variable: size}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudClusterTemplate
metadata: {name: small}
spec: {template: {spec: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: small}
spec: {template: {spec: {kubeadmConfigSpec: {}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudMachineTemplate
metadata: {name: small}
spec: {template: {spec: {}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: small}
spec: {template: {spec: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1}
spec:
  topology:
    classRef: {name: small}
    version: v1.34.1
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: md-0}]}
    variables: []
`

// problemsOf changes small and returns what is wrong with the class and, if
// nothing is, with the expansion.
func problemsOf(t *testing.T, change ...string) []string {
	t.Helper()
	manifests := small
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(manifests, change[i]) {
			t.Fatalf("there is no %q", change[i])
		}
		manifests = strings.Replace(manifests, change[i], change[i+1], 1)
	}
	class, clusters := compiled(t, parsed(t, manifests))
	if len(class.Problems) > 0 {
		return lines(class.Problems)
	}
	_, problems := class.Expand(clusters[0])
	return lines(problems)
}
