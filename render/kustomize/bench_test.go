package kustomize_test

import (
	"testing"
	"testing/fstest"

	"fairlead.dev/render/kustomize"
)

// BenchmarkBuild builds an overlay of the usual size with a patch that kustomize merges, and
// with one that has a keyed list.
func BenchmarkBuild(b *testing.B) {
	for name, patch := range map[string]string{
		"plain": "{topology: {version: v1.34.2}}",
		"keyed": "{topology: {version: v1.34.2, workers: {machineDeployments: [{name: md-1, replicas: 5}]}}}",
	} {
		b.Run(name, func(b *testing.B) {
			k := kustomize.New(kustomize.DefaultLimits())
			tree := usual(patch)
			for b.Loop() {
				s, problem := k.Scan(tree, "clusters/a")
				if problem != nil {
					b.Fatal(problem)
				}
				if _, problem := k.Build(s); problem != nil {
					b.Fatal(problem)
				}
			}
		})
	}
}

// usual returns an overlay of a base with a Cluster and its templates. patch is the spec of
// a patch of the Cluster.
func usual(patch string) fstest.MapFS {
	return files(`
-- clusters/a/kustomization.yaml --
namespace: a
resources: [../../base]
patches: [{path: patch.yaml}]
-- clusters/a/patch.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}"}
spec: ` + patch + `
-- base/kustomization.yaml --
resources: [cluster.yaml, class.yaml]
-- base/cluster.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: "${CLUSTER_NAME}"}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  topology:
    classRef: {name: k}
    version: v1.34.1
    controlPlane: {replicas: 3}
    variables: [{name: image, value: ubuntu}, {name: flavor, value: small}]
    workers: {machineDeployments: [{class: w, name: md-0, replicas: 1}, {class: w, name: md-1, replicas: 1}]}
-- base/class.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: k}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: c}}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: cp}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: m}}
  workers:
    machineDeployments:
    - class: w
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: k}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: m}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: cp}
spec: {template: {spec: {kubeadmConfigSpec: {files: [{path: /a, content: a}, {path: /b, content: b}], preKubeadmCommands: [a, b]}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: c}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: k}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {criSocket: 'unix:///x'}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m}
spec: {template: {spec: {backend: {inMemory: {}}}}}
`)
}
