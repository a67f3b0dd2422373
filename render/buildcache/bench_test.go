package buildcache

import (
	"testing"
	"testing/fstest"

	"fairlead.dev/render/kustomize"
)

func objectsOf(tb testing.TB) []kustomize.Object {
	tree := fstest.MapFS{
		"clusters/a/kustomization.yaml": {Data: []byte("namespace: a\nresources: [../../base]\n")},
		"base/kustomization.yaml":       {Data: []byte("resources: [all.yaml]\n")},
		"base/all.yaml": {Data: []byte(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: a}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: a}
spec: {kubeadmConfigSpec: {files: [{path: /a, content: a}, {path: /b, content: b}], preKubeadmCommands: [a, b]}}
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
`)},
	}
	k := kustomize.New(kustomize.DefaultLimits())
	s, problem := k.Scan(tree, "clusters/a")
	if problem != nil {
		tb.Fatal(problem)
	}
	objects, problem := k.Build(s)
	if problem != nil {
		tb.Fatal(problem)
	}
	return objects
}

func BenchmarkEncode(b *testing.B) {
	objects := objectsOf(b)
	for b.Loop() {
		if _, err := encode(objects); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	bytes, err := encode(objectsOf(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes", len(bytes))
	for b.Loop() {
		if _, err := decode(bytes); err != nil {
			b.Fatal(err)
		}
	}
}
