package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pooled is small with a MachinePool beside its MachineDeployment, which people hold.
func pooled(t *testing.T, change ...string) string {
	t.Helper()
	out, changes := small, append([]string{
		"  variables:\n  - name: size", `    machinePools:
    - class: worker
      failureDomains: [a]
      deletion: {nodeDrainTimeoutSeconds: 7}
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: small}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachinePoolTemplate, name: small}
  variables:
  - name: size`,
		"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: CloudClusterTemplate", `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudMachinePoolTemplate
metadata: {name: small}
spec: {template: {spec: {image: none}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudClusterTemplate`,
		"  - name: size\n    enabledIf", `  - name: pools
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachinePoolTemplate, matchResources: {machinePoolClass: {names: ["work*"]}}}
      jsonPatches:
      - {op: replace, path: /spec/template/spec/image, valueFrom: {template: "{{ .builtin.machinePool.topologyName }} {{ .builtin.machinePool.version }}"}}
    - selector: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, matchResources: {machinePoolClass: {names: [worker]}}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/preKubeadmCommands, value: [echo pool]}
    - selector: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, matchResources: {machineDeploymentClass: {names: [worker]}}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/preKubeadmCommands, value: [echo deployment]}
  - name: size
    enabledIf`,
		"{machineDeployments: [{class: worker, name: md-0}]}", `
      machineDeployments: [{class: worker, name: md-0, metadata: {annotations: {topology.cluster.x-k8s.io/hold-upgrade-sequence: ""}}}]
      machinePools: [{class: worker, name: mp-0, replicas: 2, metadata: {labels: {team: web}}, minReadySeconds: 5}]`,
	}, change...)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(out, changes[i]) {
			t.Fatalf("there is no %q", changes[i])
		}
		out = strings.Replace(out, changes[i], changes[i+1], 1)
	}
	return out
}

// TestMachinePools: a class makes MachinePools and what they are made from, with the patches for their class, and they
// are upgraded after the MachineDeployments, also while people hold these.
func TestMachinePools(t *testing.T) {
	class, clusters := compiled(t, parsed(t, pooled(t)))
	if len(class.Problems) > 0 {
		t.Fatal(lines(class.Problems))
	}
	made, problems := class.Expand(clusters[0])
	if len(problems) > 0 {
		t.Fatal(lines(problems))
	}
	got := map[string]any{}
	for _, e := range made.Objects {
		switch kind := text(e.Raw, "kind"); kind {
		case "MachinePool", "CloudMachinePool", "KubeadmConfig", "KubeadmConfigTemplate":
			got[kind+" "+text(e.Raw, "metadata", "name")] = e.Raw["spec"]
		}
	}
	labels := map[string]any{
		"cluster.x-k8s.io/cluster-name": "eu-1", "team": "web", "topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/pool-name": "mp-0",
	}
	want := map[string]any{
		"CloudMachinePool eu-1-mp-0-gwjpm":      map[string]any{"image": "mp-0 v1.34.1"},
		"KubeadmConfig eu-1-mp-0-m4tdj":         map[string]any{"preKubeadmCommands": []any{"echo pool"}},
		"KubeadmConfigTemplate eu-1-md-0-zvzt9": map[string]any{"template": map[string]any{"spec": map[string]any{"preKubeadmCommands": []any{"echo deployment"}}}},
		"MachinePool eu-1-mp-0-57bcd": map[string]any{
			"clusterName": "eu-1", "replicas": int64(2), "failureDomains": []any{"a"},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
				"clusterName": "eu-1", "version": "v1.34.1", "minReadySeconds": int64(5), "deletion": map[string]any{"nodeDrainTimeoutSeconds": int64(7)},
				"bootstrap":         map[string]any{"configRef": map[string]any{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "eu-1-mp-0-m4tdj"}},
				"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CloudMachinePool", "name": "eu-1-mp-0-gwjpm"},
			}},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	upgrade := []any{made.Upgrade.Order, made.Upgrade.Deferred}
	if d := cmp.Diff([]any{[]string{"eu-1-md-0-b4m89", "eu-1-mp-0-57bcd"}, map[string]string{"eu-1-md-0-b4m89": "topology.cluster.x-k8s.io/hold-upgrade-sequence of md-0"}}, upgrade); d != "" {
		t.Errorf("upgrade: -want +got:\n%s", d)
	}
}

// TestMachinePoolProblems: what is wrong with machine pools of a class or of its cluster is a problem of the field.
func TestMachinePoolProblems(t *testing.T) {
	for name, tc := range map[string]struct{ old, with, want string }{
		"no such class":    {"machinePools: [{class: worker", "machinePools: [{class: other", `spec.topology.workers.machinePools[0].class: ClusterClass default/small has no class of machine pools called "other" (it has worker)`},
		"no name":          {"name: mp-0", "name: ''", "spec.topology.workers.machinePools[0].name: is required"},
		"a name twice":     {"machinePools: [{class: worker, ", "machinePools: [{class: worker, name: mp-0}, {class: worker, ", `spec.topology.workers.machinePools[1].name: another pool is called "mp-0" too`},
		"a class twice":    {"    machinePools:\n", "    machinePools:\n    - {class: worker, bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: small}}, infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachinePoolTemplate, name: small}}}\n", `spec.workers.machinePools[1].class: another class of machines is called "worker" too`},
		"no template":      {"kind: CloudMachinePoolTemplate, name: small}\n  variables", "kind: CloudMachinePoolTemplate, name: other}\n  variables", "spec.workers.machinePools[0].infrastructure.templateRef: refers to CloudMachinePoolTemplate default/other, which the overlay does not hold"},
		"selects no class": {`names: ["work*"]`, `names: ["*-work"]`, `spec.patches[0].definitions[0].selector.matchResources.machinePoolClass.names[0]: patch "pools" selects nothing`},
		"a star within":    {`names: ["work*"]`, `names: ["w*k"]`, "a * may be the first or the last letter only"},
		"a name of a pool": {"      failureDomains: [a]\n", "      naming: {template: '{{ .machineDeployment.topologyName }}'}\n", "spec.workers.machinePools[0].naming.template: makes no name"},
	} {
		t.Run(name, func(t *testing.T) {
			class, clusters := compiled(t, parsed(t, pooled(t, tc.old, tc.with)))
			problems := class.Problems
			if len(problems) == 0 {
				_, problems = class.Expand(clusters[0])
			}
			if got := strings.Join(lines(problems), "\n"); !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
