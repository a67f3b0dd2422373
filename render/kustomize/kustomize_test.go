package kustomize_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
)

func files(archive string) fstest.MapFS {
	t := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		t[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return t
}

// build returns what the overlay in dir renders, each object after a comment
// with its file.
func build(tree fstest.MapFS, dir string) (string, *fleet.Problem) {
	k := kustomize.New(kustomize.DefaultLimits())
	s, problem := k.Scan(tree, dir)
	if problem != nil {
		return "", problem
	}
	objects, problem := k.Build(s)
	if problem != nil {
		return "", problem
	}
	var b strings.Builder
	for _, o := range objects {
		data, err := documents.Marshal([]*yaml.Node{o.Node})
		if err != nil {
			return "", &fleet.Problem{Message: err.Error()}
		}
		fmt.Fprintf(&b, "# %s\n%s", o.File, data)
	}
	return b.String(), nil
}

// What kustomize does with Cluster API's kinds.
func TestBuild(t *testing.T) {
	cases := map[string]struct {
		reason  string
		archive string
		want    string
	}{
		"FilesMergeByPath": {
			reason: "a patch changes the file with the same path where it is, adds another at the end and keeps the third; commands are replaced",
			archive: `
-- o/kustomization.yaml --
resources: [../base]
patches: [{path: patch.yaml}]
-- o/patch.yaml --
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs:
        - {name: v, value: "9"}
        - {name: audit, value: "on"}
    initConfiguration:
      nodeRegistration:
        taints:
        - {key: a, effect: NoSchedule, value: new}
    files:
    - {path: /b, content: new}
    - {path: /c, content: c}
    users:
    - {name: root, shell: zsh}
    preKubeadmCommands: [three]
-- base/kustomization.yaml --
resources: [cp.yaml]
-- base/cp.yaml --
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs:
        - {name: v, value: "1"}
        - {name: w, value: "2"}
    initConfiguration:
      nodeRegistration:
        taints:
        - {key: a, effect: NoExecute}
        - {key: a, effect: NoSchedule}
    files:
    - {path: /a, content: a}
    - {path: /b, content: b, owner: root}
    users:
    - {name: root}
    - {name: guest}
    preKubeadmCommands: [one, two]
`,
			want: `# base/cp.yaml
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs:
          - {name: v, value: "9"}
          - {name: w, value: "2"}
          - {name: audit, value: "on"}
    initConfiguration:
      nodeRegistration:
        taints:
          - {key: a, effect: NoExecute}
          - {key: a, effect: NoSchedule, value: new}
    files:
      - {path: /a, content: a}
      - {path: /b, content: new, owner: root}
      - {path: /c, content: c}
    users:
      - {name: root, shell: zsh}
      - {name: guest}
    preKubeadmCommands: [three]
`,
		},
		"V1Beta1MapsStayMaps": {
			reason: "extraArgs of v1beta1 is a mapping",
			archive: `
-- o/kustomization.yaml --
resources: [cp.yaml]
patches:
- patch: |
    apiVersion: controlplane.cluster.x-k8s.io/v1beta1
    kind: KubeadmControlPlane
    metadata: {name: cp}
    spec: {kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: {v: "9"}}}}}
-- o/cp.yaml --
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: {v: "1", w: "2"}}}}
`,
			want: `# o/cp.yaml
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: {v: "9", w: "2"}}}}
`,
		},
		"TopologyMergesByName": {
			reason: "pools and variables of a topology are found by name, and keep their places",
			archive: `
-- o/kustomization.yaml --
resources: [c.yaml]
patches:
- patch: |
    apiVersion: cluster.x-k8s.io/v1beta2
    kind: Cluster
    metadata: {name: c}
    spec:
      topology:
        variables: [{name: b, value: 3}]
        workers: {machineDeployments: [{name: md-1, replicas: 5}]}
-- o/c.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  topology:
    variables: [{name: a, value: 1}, {name: b, value: 2}]
    workers: {machineDeployments: [{name: md-0, replicas: 1}, {name: md-1, replicas: 1}]}
`,
			want: `# o/c.yaml
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  topology:
    variables: [{name: a, value: 1}, {name: b, value: 3}]
    workers: {machineDeployments: [{name: md-0, replicas: 1}, {name: md-1, replicas: 5}]}
`,
		},
		"OwnConfiguration": {
			reason: "a configuration that differs from the built-in one wins, in a base too",
			archive: `
-- o/kustomization.yaml --
resources: [../base]
namePrefix: x-
-- base/kustomization.yaml --
resources: [c.yaml]
configurations: [config.yaml]
namespace: prod
-- base/config.yaml --
namespace:
- {kind: Cluster, group: cluster.x-k8s.io, version: v1beta2, path: spec/infrastructureRef/namespace, create: true}
nameReference:
- kind: Widget
  fieldSpecs: [{kind: Cluster, path: spec/widget}]
-- base/c.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  infrastructureRef: {kind: K, name: c}
  widget: w
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
`,
			want: `# base/c.yaml
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: x-c, namespace: prod}
spec:
  infrastructureRef: {kind: K, name: c, namespace: prod}
  widget: x-w
# base/c.yaml
apiVersion: example.com/v1
kind: Widget
metadata: {name: x-w, namespace: prod}
`,
		},
		"OldFields": {
			reason: "deprecated fields do what they did",
			archive: `
-- o/kustomization.yaml --
bases: [../base]
commonLabels: {team: a}
patchesStrategicMerge:
- patch.yaml
- |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: m}
  data: {b: "2"}
patchesJson6902:
- target: {version: v1, kind: ConfigMap, name: m}
  patch: '[{"op": "add", "path": "/data/c", "value": "3"}]'
-- o/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data: {a: "1"}
-- base/kustomization.yaml --
resources: [m.yaml]
-- base/m.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data: {z: "0"}
`,
			want: `# base/m.yaml
apiVersion: v1
data:
  a: "1"
  b: "2"
  c: "3"
  z: "0"
kind: ConfigMap
metadata:
  name: m
  labels:
    team: a
`,
		},
		"PlainFiles": {
			reason:  "a byte order mark, Windows line ends, aliases, merge keys and odd file names are no trouble",
			archive: "-- o/kustomization.yaml --\r\nresources: ['my file.yaml']\r\n-- o/my file.yaml --\n\ufeffapiVersion: v1\r\nkind: ConfigMap\r\nmetadata: &m\r\n  name: m\r\ndata:\r\n  <<: {a: \"1\", b: \"1\"}\r\n  b: \"2\"\r\n  t: |\r\n    one\r\n    two\r\n",
			want: `# o/my file.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: m
data:
  b: "2"
  t: |
    one
    two
  a: "1"
`,
		},
		"Transformers": {
			reason: "built-in transformers that only compute may be configured",
			archive: `
-- o/kustomization.yaml --
resources: [m.yaml]
transformers:
- t.yaml
- |
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: p}
  prefix: x-
  fieldSpecs: [{path: metadata/name}]
-- o/t.yaml --
apiVersion: builtin
kind: NamespaceTransformer
metadata: {name: n, namespace: prod}
-- o/m.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
`,
			want: `# o/m.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: x-m, namespace: prod}
`,
		},
		"NamesNamespaceReplicas": {
			reason: "references follow the prefix, the suffix of generated names and the namespace",
			archive: `
-- o/kustomization.yaml --
resources: [c.yaml]
namePrefix: eu-
namespace: prod
replicas: [{name: md, count: 7}]
secretGenerator: [{name: ca, literals: [a=b]}]
buildMetadata: [originAnnotations]
-- o/c.yaml --
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: c}
spec:
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp, namespace: old}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AnyCluster, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AnyCluster
metadata: {name: c}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp, labels: {cluster.x-k8s.io/cluster-name: c}}
spec:
  machineTemplate: {infrastructureRef: {kind: AnyMachineTemplate, name: m}}
  kubeadmConfigSpec: {files: [{path: /a, contentFrom: {secret: {name: ca, key: a}}}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AnyMachineTemplate
metadata: {name: m}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: md}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: md}
spec:
  clusterName: c
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: c}}
  template:
    spec:
      clusterName: c
      bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: md}}
      infrastructureRef: {kind: AnyMachineTemplate, name: m}
`,
			want: `# o/kustomization.yaml
apiVersion: v1
kind: Secret
metadata:
  name: eu-ca-k695gkmbtk
  namespace: prod
type: Opaque
data:
  a: Yg==
# o/c.yaml
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: eu-md, namespace: prod}
# o/c.yaml
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: eu-c, namespace: prod}
spec:
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: eu-cp, namespace: prod}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AnyCluster, name: eu-c}
# o/c.yaml
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: eu-md, namespace: prod}
spec:
  clusterName: eu-c
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: eu-c}}
  template:
    spec:
      clusterName: eu-c
      bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: eu-md}}
      infrastructureRef: {kind: AnyMachineTemplate, name: eu-m}
  replicas: 7
# o/c.yaml
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: eu-cp, labels: {cluster.x-k8s.io/cluster-name: eu-c}, namespace: prod}
spec:
  machineTemplate: {infrastructureRef: {kind: AnyMachineTemplate, name: eu-m}}
  kubeadmConfigSpec: {files: [{path: /a, contentFrom: {secret: {name: eu-ca-k695gkmbtk, key: a}}}]}
# o/c.yaml
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AnyCluster
metadata: {name: eu-c, namespace: prod}
# o/c.yaml
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AnyMachineTemplate
metadata: {name: eu-m, namespace: prod}
`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problem := build(files(tc.archive), "o")
			if problem != nil {
				t.Fatalf("%s: %s", tc.reason, problem)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
