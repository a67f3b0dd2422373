package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// classy are a class, its templates and a cluster of it.
const classy = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: dev}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: dev}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: dev}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: dev}
  workers:
    machineDeployments:
    - class: worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: dev}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: dev}
  patches:
  - name: backend
    definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: DevMachineTemplate
        matchResources: {controlPlane: true, machineDeploymentClass: {names: [worker]}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/backend, value: {inMemory: {}}}
  - name: files
    definitions:
    - selector:
        apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
        kind: KubeadmConfigTemplate
        matchResources: {machineDeploymentClass: {names: [worker]}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/files/-, value: {path: /etc/b, content: b}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: dev}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: dev}
spec: {template: {spec: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: dev}
spec: {template: {spec: {kubeadmConfigSpec: {}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: dev}
spec: {template: {spec: {files: [{path: /etc/a, content: a}]}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1}
spec:
  topology:
    classRef: {name: dev}
    version: v1.34.1
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: md-0, replicas: 1}]}
`

// other is a cluster without a class.
var other = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-2}
spec:
  topology:
    classRef: {name: dev}
    version: v1.34.1
    controlPlane: {replicas: 1}
`

func decodeClassy(manifests string) ([]fleet.Cluster, []fleet.Problem) {
	var in []render.Object
	for _, doc := range strings.Split(manifests, "\n---\n") {
		_, rest, _ := strings.Cut(doc, "kind: ")
		kind, _, _ := strings.Cut(rest, "\n")
		in = append(in, render.Object{File: kind + ".yaml", YAML: []byte(doc)})
	}
	return decode.New("f", inmemory.Kinds()).Decode("prod", in)
}

// Problems with what a class makes name what people wrote.
func TestTopologyProblems(t *testing.T) {
	const class, cluster = "ClusterClass.yaml: ClusterClass default/dev: ", "Cluster.yaml: Cluster default/eu-1: "
	cases := map[string]struct {
		reason string
		change []string
		want   []string
	}{
		"none": {reason: "a template may be incomplete until it is patched"},
		"field of a cluster": {
			"what the topology says is said of the topology",
			[]string{"controlPlane: {replicas: 1}\n    workers", "controlPlane: {replicas: 2}\n    workers"},
			[]string{cluster + "spec.topology.controlPlane.replicas: Invalid value: 2: must be odd: etcd runs on these machines and needs a majority"},
		},
		"field of a pool": {
			"what a pool says is said of the pool",
			[]string{"name: md-0, replicas: 1", "name: md-0, replicas: 20000"},
			[]string{cluster + "spec.topology.workers.machineDeployments[0].replicas: Invalid value: 20000: must be at most 10000"},
		},
		"unknown field of a topology": {
			"a topology is read as strictly as all",
			[]string{"name: md-0, replicas: 1", "name: md-0, replica: 1"},
			[]string{cluster + `spec.topology.workers.machineDeployments[0].replica: unknown field (did you mean "replicas"?)`},
		},
		"refused field of a topology": {
			"what is not honoured is refused",
			[]string{"name: md-0, replicas: 1", "name: md-0, replicas: 1, healthCheck: {remediation: {templateRef: {apiVersion: x.io/v1, kind: X, name: x}}}"},
			[]string{cluster + "spec.topology.workers.machineDeployments[0].healthCheck.remediation.templateRef: names X default/x, which the overlay does not hold (the overlay holds no X)"},
		},
		"field of the class": {
			"what the class says is said of the class",
			[]string{"    - class: worker\n", "    - class: worker\n      rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}\n"},
			[]string{class + `spec.workers.machineDeployments[0].rollout.strategy.rollingUpdate: Invalid value: "0 and 0": maxSurge and maxUnavailable must not both be 0: no machine could ever be replaced`},
		},
		"name of the class": {
			"so are the names that it gives",
			[]string{"    - class: worker\n", "    - class: worker\n      naming: {template: \"{{ .machineDeployment.topologyName }}_\"}\n"},
			[]string{class + `spec.workers.machineDeployments[0].naming.template: "md-0_" is not a name:`},
		},
		"one name for two pools": {
			"the pools of a topology are told apart by the names that the class gives them",
			[]string{
				"  controlPlane:\n    templateRef", "  controlPlane:\n    naming: {template: \"{{ .cluster.name }}\"}\n    templateRef",
				"    - class: worker\n", "    - class: worker\n      naming: {template: \"{{ .cluster.name }}\"}\n",
			},
			[]string{class + `spec.controlPlane.templateRef.name: control plane and a MachineDeployment, MachineSet or Machine are both called "eu-1" (rename one of them)`},
		},
		"external patch": {
			"what asks a server is refused",
			[]string{"  - name: backend\n", "  - name: asks\n    external: {generatePatchesExtension: x}\n  - name: backend\n"},
			[]string{class + "spec.patches[0].external: is not supported: it needs an extension of the Runtime SDK, which is a server, and rendering calls no server; write patches as definitions"},
		},
		"field of a template": {
			"what a template says is said of the template",
			[]string{"content: a}", "content: a, contentFrom: {secret: {name: s, key: k}}}"},
			[]string{
				"KubeadmConfigTemplate.yaml: KubeadmConfigTemplate default/dev: spec.template.spec.files[0].contentFrom: Forbidden: only one of content and contentFrom may be set" +
					` (patch "files" of ClusterClass default/dev adds to the list)`,
			},
		},
		"unknown field of a template": {
			"templates are read strictly, patched or not",
			[]string{"{kubeadmConfigSpec: {}}", "{kubeadmConfigSpec: {preKubeadmCommand: []}}"},
			[]string{`KubeadmControlPlaneTemplate.yaml: KubeadmControlPlaneTemplate default/dev: spec.template.spec.kubeadmConfigSpec.preKubeadmCommand: unknown field (did you mean "preKubeadmCommands"?)`},
		},
		"patch with an unknown field": {
			"what a patch sets is said of the patch",
			[]string{"value: {inMemory: {}}}", "value: {inMemory: {}, inMemroy: {}}}"},
			[]string{class + `spec.patches[0].definitions[0].jsonPatches[0]: patch "backend" sets spec.template.spec.backend.inMemroy: unknown field (did you mean "inMemory"?)`},
		},
		"patch with an unknown value": {
			"so is a value that the kind refuses",
			[]string{"value: {inMemory: {}}}", "value: {}}"},
			[]string{class + `spec.patches[0].definitions[0].jsonPatches[0]: patch "backend" sets spec.template.spec.backend.inMemory: Required value:`},
		},
		"secret that is not there": {
			"references are followed",
			[]string{"content: a}", "contentFrom: {secret: {name: s, key: k}}}"},
			[]string{"KubeadmConfigTemplate.yaml: KubeadmConfigTemplate default/dev: spec.template.spec.files[0].contentFrom.secret: refers to Secret default/s, which the overlay does not hold (add it to the overlay; patch \"files\" of ClusterClass default/dev adds to the list)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decodeClassy(replaced(t, classy, tc.change...))
			if len(clusters) == 0 != (len(tc.want) > 0) {
				t.Errorf("%s: got %d clusters", tc.reason, len(clusters))
			}
			var got []string
			for i, p := range problems {
				s := p.String()
				if i < len(tc.want) && strings.HasSuffix(tc.want[i], ":") && strings.HasPrefix(s, tc.want[i]) {
					s = tc.want[i]
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A problem of one cluster of a class leaves the others alone; one of the class
// holds all of them back.
func TestTopologyMembers(t *testing.T) {
	both := classy + "---\n" + other
	cases := map[string]struct {
		change []string
		held   []string
	}{
		"none":     {nil, nil},
		"cluster":  {[]string{"name: md-0, replicas: 1", "name: md-0, replica: 1"}, []string{"default/eu-1"}},
		"class":    {[]string{"op: add, path: /spec/template/spec/backend", "op: move, path: /spec/template/spec/backend"}, []string{"default/eu-1", "default/eu-2"}},
		"template": {[]string{"{kubeadmConfigSpec: {}}", "{kubeadmConfigSpec: {x: 1}}"}, []string{"default/eu-1", "default/eu-2"}},
		"template of another namespace": {[]string{
			"metadata: {name: dev}", "metadata: {name: dev, namespace: classes}", "classRef: {name: dev}", "classRef: {name: dev, namespace: classes}",
			"{kubeadmConfigSpec: {}}", "{kubeadmConfigSpec: {x: 1}}",
		}, []string{"default/eu-1", "default/eu-2"}},
		// Only what is expanded of the class counts: eu-2 has no workers.
		"patch of workers": {[]string{"path: /spec/template/spec/files/-", "path: /spec/template/spec/none/-"}, []string{"default/eu-1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decodeClassy(replaced(t, both, tc.change...))
			held := map[string]bool{}
			for _, p := range problems {
				held[p.Cluster.String()] = true
			}
			for _, k := range tc.held {
				if !held[k] {
					t.Errorf("%s is not held back", k)
				}
			}
			if len(held) != len(tc.held) || len(clusters) != 2-len(tc.held) {
				t.Errorf("held back are %v, %d clusters are left: want %v", held, len(clusters), tc.held)
			}
		})
	}
}

// A template that is used by a class and by an object of its own is checked as
// it is.
func TestTemplateOfTwo(t *testing.T) {
	_, problems := decodeClassy(classy + `---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: extra}
spec:
  clusterName: eu-1
  template:
    spec:
      clusterName: eu-1
      version: v1.34.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: dev}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: dev}
`)
	if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), "DevMachineTemplate.yaml: DevMachineTemplate default/dev: spec.template.spec.backend.inMemory: Required value") {
		t.Errorf("got %v, want one problem of the template", problems)
	}
}

// A change of a class changes the template of machines, and so rolls them; its
// name, labels and place do not.
func TestTopologyTemplates(t *testing.T) {
	hashes := func(change ...string) [2]fleet.TemplateHash {
		clusters, problems := decodeClassy(replaced(t, classy, change...))
		if len(clusters) != 1 {
			t.Fatal(problems)
		}
		return [2]fleet.TemplateHash{clusters[0].ControlPlane.Template, clusters[0].Workers[0].Template}
	}
	was := hashes()
	same := [2]bool{true, true}
	cases := map[string]struct {
		change []string
		want   [2]bool
	}{
		"name of the class":    {[]string{"name: dev}\nspec:\n  infrastructure:", "name: other}\nspec:\n  infrastructure:", "classRef: {name: dev}", "classRef: {name: other}"}, same},
		"name of a template":   {[]string{"KubeadmConfigTemplate, name: dev", "KubeadmConfigTemplate, name: other", "kind: KubeadmConfigTemplate\nmetadata: {name: dev}", "kind: KubeadmConfigTemplate\nmetadata: {name: other}"}, same},
		"labels":               {[]string{"name: md-0, replicas: 1", "name: md-0, replicas: 1, metadata: {labels: {a: b}}"}, same},
		"value of a patch":     {[]string{"content: b", "content: c"}, [2]bool{true, false}},
		"version":              {[]string{"version: v1.34.1", "version: v1.34.2"}, [2]bool{false, false}},
		"template of the pool": {[]string{"content: a", "content: d"}, [2]bool{true, false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			is := hashes(tc.change...)
			if got := [2]bool{is[0] == was[0], is[1] == was[1]}; got != tc.want {
				t.Errorf("same templates of control plane and workers: %v, want %v", got, tc.want)
			}
		})
	}
}
