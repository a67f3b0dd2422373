package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/render/topology"
)

// hostedClass is a class whose control plane has no machines, with machine pools that a cloud keeps.
const hostedClass = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: hosted}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudClusterTemplate, name: hosted}
  controlPlane:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudPlaneTemplate, name: hosted}
  workers:
    machinePools:
    - class: worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: hosted}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachinePoolTemplate, name: hosted}
  patches:
  - name: tier
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudPlaneTemplate, matchResources: {controlPlane: true}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/title, valueFrom: {template: "{{ .builtin.controlPlane.name }} {{ .builtin.controlPlane.version }}"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudClusterTemplate
metadata: {name: hosted}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudPlaneTemplate
metadata: {name: hosted}
spec: {template: {spec: {region: west, version: v1.30.0}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: CloudMachinePoolTemplate
metadata: {name: hosted}
spec: {template: {spec: {size: large}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: hosted}
spec: {template: {spec: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1}
spec:
  topology:
    classRef: {name: hosted}
    version: v1.34.1
    controlPlane: {metadata: {labels: {team: web}}}
    workers: {machinePools: [{class: worker, name: mp-0, replicas: 2}]}
`

// TestHosted: a control plane without machines gets the version of the topology, and pools that a cloud keeps are made
// without a bootstrap configuration.
func TestHosted(t *testing.T) {
	class, clusters := compiled(t, keptPools(parsed(t, hostedClass)))
	if len(class.Problems) > 0 {
		t.Fatal(lines(class.Problems))
	}
	made, problems := class.Expand(clusters[0])
	if len(problems) > 0 {
		t.Fatal(lines(problems))
	}
	var kinds []string
	specs := map[string]any{}
	for _, e := range made.Objects {
		kind := text(e.Raw, "kind")
		kinds, specs[kind] = append(kinds, kind), e.Raw["spec"]
	}
	if d := cmp.Diff([]string{"CloudCluster", "CloudPlane", "Cluster", "CloudMachinePool", "MachinePool"}, kinds); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	name := text(made.Objects[1].Raw, "metadata", "name")
	want := map[string]any{"region": "west", "version": "v1.34.1", "title": name + " v1.34.1"}
	if d := cmp.Diff(want, specs["CloudPlane"]); d != "" {
		t.Errorf("control plane: -want +got:\n%s", d)
	}
	pool := specs["MachinePool"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	if d := cmp.Diff(map[string]any{"dataSecretName": ""}, pool["bootstrap"]); d != "" {
		t.Errorf("bootstrap: -want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CloudPlane", "name": name}, specs["Cluster"].(map[string]any)["controlPlaneRef"]); d != "" {
		t.Errorf("reference: -want +got:\n%s", d)
	}
	if again, _ := class.Expand(clusters[0]); asYAML(t, again.Objects) != asYAML(t, made.Objects) {
		t.Error("a second expansion differs: the first changed the templates")
	}
}

// keptPools says of the templates of machine pools that a cloud keeps these.
func keptPools(objects []topology.Object) []topology.Object {
	for i := range objects {
		objects[i].Kept = text(objects[i].Raw, "kind") == "CloudMachinePoolTemplate"
	}
	return objects
}

// TestHostedProblems: what is for machines of a control plane is refused where it has none, and a bootstrap
// configuration where a cloud sets up the machines.
func TestHostedProblems(t *testing.T) {
	const plane = "kind: CloudPlaneTemplate, name: hosted}\n  workers"
	inClass := func(fields string) [2]string {
		return [2]string{plane, "kind: CloudPlaneTemplate, name: hosted}\n    " + fields + "\n  workers"}
	}
	inTopology := func(fields string) [2]string {
		return [2]string{"{metadata: {labels: {team: web}}}", "{" + fields + "}"}
	}
	const (
		patch      = "      jsonPatches:\n      - {op: add, path: /spec/template/spec/title, "
		planePatch = "kind: CloudPlaneTemplate, matchResources: {controlPlane: true}}\n" + patch
		poolPatch  = "kind: CloudMachinePoolTemplate, matchResources: {machinePoolClass: {names: [worker]}}}\n" + patch
	)
	const machines = "is for machines of the control plane, and "
	for name, tc := range map[string]struct {
		change [2]string
		want   string
	}{
		"machines of the class":             {inClass("machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachinePoolTemplate, name: hosted}}"), "spec.controlPlane.machineInfrastructure.templateRef: " + machines + "CloudPlane has none (leave it out)"},
		"a health check of the class":       {inClass("healthCheck: {checks: {nodeStartupTimeoutSeconds: 600}}"), "spec.controlPlane.healthCheck: " + machines},
		"time limits of the class":          {inClass("deletion: {nodeDrainTimeoutSeconds: 5}"), "spec.controlPlane.deletion: " + machines},
		"gates of the class":                {inClass("readinessGates: [{conditionType: a}]"), "spec.controlPlane.readinessGates: " + machines},
		"taints of the class":               {inClass("taints: [{key: a, effect: NoSchedule, propagation: Always}]"), "spec.controlPlane.taints: " + machines},
		"replicas":                          {inTopology("replicas: 3"), "spec.topology.controlPlane.replicas: " + machines + "the CloudPlane of ClusterClass default/hosted has none (leave it out)"},
		"a rollout":                         {inTopology("rollout: {after: '2026-01-01T00:00:00Z'}"), "spec.topology.controlPlane.rollout: " + machines},
		"a health check":                    {inTopology("healthCheck: {checks: {nodeStartupTimeoutSeconds: 600}}"), "spec.topology.controlPlane.healthCheck: " + machines},
		"a health check that is off":        {inTopology("healthCheck: {enabled: false}"), "spec.topology.controlPlane.healthCheck: " + machines},
		"time limits":                       {inTopology("deletion: {nodeDrainTimeoutSeconds: 5}"), "spec.topology.controlPlane.deletion: " + machines},
		"gates":                             {inTopology("readinessGates: [{conditionType: a}]"), "spec.topology.controlPlane.readinessGates: " + machines},
		"taints":                            {inTopology("taints: [{key: a, effect: NoSchedule, propagation: Always}]"), "spec.topology.controlPlane.taints: " + machines},
		"a bootstrap configuration":         {[2]string{"kind: KubeadmConfigTemplate\nmetadata: {name: hosted}\nspec: {template: {spec: {}}}", "kind: KubeadmConfigTemplate\nmetadata: {name: hosted}\nspec: {template: {spec: {preKubeadmCommands: [a]}}}"}, `spec.workers.machinePools[0].bootstrap.templateRef: refers to KubeadmConfigTemplate default/hosted, which configures machines, and the cloud sets up those of pool "mp-0" by itself (let spec.template.spec of it be {})`},
		"a configuration that is not there": {[2]string{"{{ .builtin.controlPlane.version }}", "{{ .builtin.controlPlane.machineTemplate.infrastructureRef.name }}"}, `patch "tier" fails`},
		"the name of no object":             {[2]string{planePatch + `valueFrom: {template: "{{ .builtin.controlPlane.name }} {{ .builtin.controlPlane.version }}"}}`, poolPatch + "valueFrom: {variable: builtin.machinePool.bootstrap.configRef.name}}"}, `patch "tier" fails`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(hostedClass, tc.change[0]) {
				t.Fatalf("there is no %q", tc.change[0])
			}
			class, clusters := compiled(t, keptPools(parsed(t, strings.Replace(hostedClass, tc.change[0], tc.change[1], 1))))
			problems := class.Problems
			if len(problems) == 0 {
				_, problems = class.Expand(clusters[0])
			}
			if got := strings.Join(lines(problems), "\n"); !strings.Contains(got, tc.want) || len(problems) != 1 {
				t.Errorf("got %q, want %q alone", got, tc.want)
			}
		})
	}
	if got := strings.Join(problemsOf(t, "    machineInfrastructure:\n      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachineTemplate, name: small}\n", "", "matchResources: {controlPlane: true}", "matchResources: {machineDeploymentClass: {names: [worker]}}"), "\n"); !strings.Contains(got, "spec.controlPlane.machineInfrastructure.templateRef: needs kind, name and apiVersion") {
		t.Errorf("a control plane of machines without a template of these: %q", got)
	}
}
