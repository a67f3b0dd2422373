package released_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// A plain is a sources.Tree of files in memory, whose digest is their only state.
type plain struct{ fs.FS }

// Digest implements sources.Tree.
func (t plain) Digest(name string) (string, error) {
	_, err := fs.Stat(t, name)
	return name, err
}

const ordered = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: c}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: m}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  replicas: 3
  version: v1.34.1
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}
  kubeadmConfigSpec:
    files: @FILES@
    clusterConfiguration:
      apiServer:
        extraArgs: @ARGS@
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: md}
spec:
  clusterName: c
  replicas: 1
  selector: {matchLabels: {}}
  template:
    spec:
      clusterName: c
      version: v1.34.1
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: k}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: k}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          taints: @TAINTS@
`

// TestPatchedLists holds that machines of overlays with patched lists stay: released versions
// put the items of a patch first, two levels of overlays twice.
func TestPatchedLists(t *testing.T) {
	lists := func(files, args, taints string) string {
		return strings.NewReplacer("@FILES@", files, "@ARGS@", args, "@TAINTS@", taints).Replace(ordered)
	}
	patches := func(files, args, taints string) string {
		return "patches:\n- target: {kind: KubeadmControlPlane}\n  patch: |\n    apiVersion: controlplane.cluster.x-k8s.io/v1beta2\n    kind: KubeadmControlPlane\n    metadata: {name: cp}\n" +
			"    spec: {kubeadmConfigSpec: {files: " + files + ", clusterConfiguration: {apiServer: {extraArgs: " + args + "}}}}\n" +
			"- patch: |\n    apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\n    kind: KubeadmConfigTemplate\n    metadata: {name: k}\n" +
			"    spec: {template: {spec: {joinConfiguration: {nodeRegistration: {taints: " + taints + "}}}}}\n"
	}
	now := rendered(t, fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [all.yaml]\n")},
		"base/all.yaml": {Data: []byte(lists("[{path: /a, content: a}, {path: /b, content: b}, {path: /c, content: c}]",
			`[{name: v, value: "1"}, {name: profiling, value: "false"}]`, "[{key: k, effect: NoSchedule}, {key: l, effect: NoExecute}]"))},
		"middle/kustomization.yaml": {Data: []byte("resources: [../base]\nnamespace: team\n" + patches("[{path: /b, content: '${B}'}]",
			`[{name: profiling, value: "true"}]`, "[{key: l, effect: NoExecute, value: x}]"))},
		"clusters/x/kustomization.yaml": {Data: []byte("resources: [../../middle]\n" + patches("[{path: /d, content: d}, {path: /c, content: cc}]",
			`[{name: max-requests-inflight, value: "5"}]`, "[{key: z, effect: NoSchedule}]"))},
		"clusters/x/.env": {Data: []byte("B=bb\n")},
	})
	before := rendered(t, fstest.MapFS{
		"clusters/x/kustomization.yaml": {Data: []byte("resources: [all.yaml]\nnamespace: team\n")},
		"clusters/x/all.yaml": {Data: []byte(lists("[{path: /d, content: d}, {path: /c, content: cc}, {path: /b, content: bb}, {path: /a, content: a}]",
			`[{name: max-requests-inflight, value: "5"}, {name: profiling, value: "true"}, {name: v, value: "1"}]`,
			"[{key: z, effect: NoSchedule}, {key: l, effect: NoExecute, value: x}, {key: k, effect: NoSchedule}]"))},
	})
	if now.Digest != before.Digest {
		t.Errorf("the digest is %s, want that of the former order, %s", now.Digest, before.Digest)
	}
	for i, p := range now.Pools() {
		old := before.Pools()[i]
		if p.Template != old.Template {
			t.Errorf("pool %s: the hash is %s in the new order and %s in the former one", p.Name, p.Template, old.Template)
		}
		for _, h := range old.Former {
			if same, _ := p.Has(h); !same {
				t.Errorf("pool %s: machines with the hash %s of a released version roll: the pool has %s %v", p.Name, h, p.Template, p.Former)
			}
		}
	}
}

// rendered returns the only cluster of a tree.
func rendered(t *testing.T, tree fstest.MapFS) fleet.Cluster {
	t.Helper()
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	b := render.New(render.Options{Decoder: decode.New("released", registry.Kinds())})
	f, err := b.Render(context.Background(), fleet.Revision{}, plain{tree})
	if err != nil || len(f.Clusters) != 1 {
		t.Fatalf("got %d clusters, error %v, problems %v", len(f.Clusters), err, f.Problems)
	}
	return f.Clusters[0]
}
