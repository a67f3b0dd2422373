package released_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

const class = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: k, namespace: classes}
spec:
  kubernetesVersions: [v1.33.5, v1.34.1]
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: k}}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: k}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: k}}
  workers:
    machineDeployments:
    - class: w
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: k}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: k}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: k, namespace: classes}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: k, namespace: classes}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: k, namespace: classes}
spec: {template: {spec: {kubeadmConfigSpec: {files: @FILES@}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: k, namespace: classes}
spec: {template: {spec: {users: @USERS@}}}
`

const classed = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: prod}
spec:
  topology:
    classRef: {name: k, namespace: classes}
    version: v1.34.1
    controlPlane: {replicas: 3}
    workers: {machineDeployments: [{class: w, name: md, replicas: 1}]}
`

// TestPatchedLibraries holds that machines of clusters stay whose class is in a folder with patched
// lists: released versions put the items of a patch first, in libraries, too.
func TestPatchedLibraries(t *testing.T) {
	lists := func(files, users string) []byte {
		return []byte(strings.NewReplacer("@FILES@", files, "@USERS@", users).Replace(class))
	}
	tree := func(files map[string]string, objects []byte) fstest.MapFS {
		out := fstest.MapFS{
			"fleet.yaml":                    {Data: []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {clusters: {include: [\"clusters/**\", \"classes/**\"]}}\n")},
			"clusters/x/kustomization.yaml": {Data: []byte("resources: [c.yaml]\n")},
			"clusters/x/c.yaml":             {Data: []byte(classed)},
			"base/kustomization.yaml":       {Data: []byte("resources: [all.yaml]\n")},
			"base/all.yaml":                 {Data: objects},
			"classes/k/kustomization.yaml":  {Data: []byte("resources: [../../base]\n")},
		}
		for name, content := range files {
			out[name] = &fstest.MapFile{Data: []byte(content)}
		}
		return out
	}
	now := rendered(t, tree(map[string]string{"classes/k/kustomization.yaml": `resources: [../../base]
patches:
- patch: |
    apiVersion: controlplane.cluster.x-k8s.io/v1beta2
    kind: KubeadmControlPlaneTemplate
    metadata: {name: k, namespace: classes}
    spec: {template: {spec: {kubeadmConfigSpec: {files: [{path: /c, content: c}, {path: /b, content: bb}]}}}}
- patch: |
    apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
    kind: KubeadmConfigTemplate
    metadata: {name: k, namespace: classes}
    spec: {template: {spec: {users: [{name: v, shell: /s}]}}}
`}, lists("[{path: /a, content: a}, {path: /b, content: b}]", "[{name: u}, {name: v}]")))
	before := rendered(t, tree(nil, lists("[{path: /c, content: c}, {path: /b, content: bb}, {path: /a, content: a}]", "[{name: v, shell: /s}, {name: u}]")))
	if len(now.Pools()) != 2 || len(before.Pools()) != 2 {
		t.Fatalf("%d and %d pools, want 2", len(now.Pools()), len(before.Pools()))
	}
	for i, p := range now.Pools() {
		for _, h := range before.Pools()[i].Former {
			if h.Schema() != "1" {
				continue
			}
			if same, _ := p.Has(h); !same {
				t.Errorf("pool %s: machines with the hash %s of a released version roll: the pool has %s %v", p.Name, h, p.Template, p.Former)
			}
		}
	}
	old, other := now.Topology.Older, before.Topology.Older
	for i := range old {
		for name, b := range old[i].Pools {
			p := now.ControlPlane.At(old[i].Version, b)
			former := other[i].Pools[name].Former
			if same, _ := p.Has(former[len(former)-1]); !same {
				t.Errorf("pool %s at %s: machines with the hash %s roll: it has %s %v", name, old[i].Version, former[len(former)-1], b.Template, b.Former)
			}
		}
	}
	if len(old) == 0 {
		t.Error("the class has no older version")
	}
}
