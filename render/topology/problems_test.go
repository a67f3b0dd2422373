package topology_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProblems(t *testing.T) {
	const (
		class    = "ClusterClass.yaml: ClusterClass default/small: "
		cluster  = "Cluster.yaml: Cluster default/eu-1: "
		schema   = "schema: {openAPIV3Schema: {type: integer, minimum: 1, default: 1}}"
		from     = "valueFrom: {variable: size}"
		names    = "    - class: worker\n"
		pools    = "{machineDeployments: [{class: worker, name: md-0}]}"
		values   = "variables: []"
		selector = "matchResources: {controlPlane: true}"
		version  = "    version: v1.34.1\n"
		patches  = "spec.patches[0].definitions[0]"
	)
	cases := map[string]struct {
		change []string
		want   []string
	}{
		"nothing": {nil, nil},

		"no template": {[]string{"kind: CloudClusterTemplate, name: small", "kind: CloudClusterTemplate, name: other"}, []string{
			class + "spec.infrastructure.templateRef: refers to CloudClusterTemplate default/other, which the overlay does not hold (add it beside the class)",
		}},
		"no reference": {[]string{"    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudClusterTemplate, name: small}", "    naming: {}"}, []string{
			class + "spec.infrastructure.templateRef: needs kind, name and apiVersion",
		}},
		"another version": {[]string{"apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind"}, []string{
			class + "spec.workers.machineDeployments[0].bootstrap.templateRef: refers to version v1beta1 of KubeadmConfigTemplate default/small; it is written in v1beta2 (write apiVersion: bootstrap.cluster.x-k8s.io/v1beta2)",
		}},
		"another control plane": {[]string{"kind: KubeadmControlPlaneTemplate, name", "kind: RKE2ControlPlaneTemplate, name"}, []string{
			class + "spec.controlPlane.templateRef: refers to RKE2ControlPlaneTemplate default/small, which the overlay does not hold (add it beside the class)",
		}},
		"no control plane": {[]string{
			"apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name", "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudClusterTemplate, name",
		}, []string{
			class + "spec.controlPlane.templateRef: must refer to a template of a control plane, such as a KubeadmControlPlaneTemplate, not to CloudClusterTemplate",
		}},
		"two classes of a name": {[]string{names, names + "      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: small}}\n      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: CloudMachineTemplate, name: small}}\n" + names}, []string{
			class + `spec.workers.machineDeployments[1].class: another class of machines is called "worker" too (rename one of them)`,
		}},
		"name of a variable": {[]string{"- name: size\n    schema", "- name: a.b\n    schema"}, []string{
			class + `spec.variables[0].name: Invalid value: "a.b": must not be "builtin" nor have a dot in it`,
			class + patches + `.jsonPatches[0].valueFrom.variable: patch "size" takes a value from "size", which is no variable of the class`,
		}},
		"default against the schema": {[]string{schema, "schema: {openAPIV3Schema: {type: integer, minimum: 1, default: 0}}"}, []string{
			class + "spec.variables[0].schema.openAPIV3Schema.default: Invalid value: 0: should be greater than or equal to 1",
		}},
		"no type": {[]string{schema, "schema: {openAPIV3Schema: {minimum: 1}}"}, []string{
			class + "spec.variables[0].schema.openAPIV3Schema.type: Required value: must not be empty for specified object fields",
		}},
		"no rule": {[]string{schema, `schema: {openAPIV3Schema: {type: integer, x-kubernetes-validations: [{rule: "self >"}]}}`}, []string{
			class + `spec.variables[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule: Invalid value: "self >": compilation failed: ERROR: <input>:1:7: Syntax error: mismatched input '<EOF>' expecting`,
		}},
		"rule about the past": {[]string{schema, `schema: {openAPIV3Schema: {type: integer, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}`}, []string{
			class + "spec.variables[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule: Forbidden: oldSelf is not supported: what a value was before is not in the commit that is rendered",
		}},
		"operation": {[]string{"op: add", "op: move"}, []string{
			class + patches + `.jsonPatches[0].op: "move" is not an operation of patch "size" (use one of: add, replace, remove)`,
		}},
		"path": {[]string{"path: /spec/template/spec/size", "path: /metadata/name"}, []string{
			class + patches + `.jsonPatches[0].path: patch "size" may change what is below /spec/ only, not /metadata/name`,
		}},
		"index": {[]string{"path: /spec/template/spec/size", "path: /spec/template/spec/list/3"}, []string{
			class + patches + `.jsonPatches[0].path: patch "size" cannot reach element 3 of a list (add to a list in front with 0 or at its end with -, or replace all of it)`,
		}},
		"value and variable": {[]string{from, "value: 1, " + from}, []string{class + patches + `.jsonPatches[0]: patch "size" needs one of value and valueFrom`}},
		"no value":           {[]string{from, "valueFrom: {}"}, []string{class + patches + `.jsonPatches[0].valueFrom: patch "size" needs one of variable and template`}},
		"no builtin": {[]string{from, "valueFrom: {variable: builtin.cluster.uid}"}, []string{
			class + patches + `.jsonPatches[0].valueFrom.variable: patch "size" takes a value from "builtin.cluster.uid", which is no variable of the class`,
		}},
		"template": {[]string{from, `valueFrom: {template: "{{ if }}"}`}, []string{
			class + patches + `.jsonPatches[0].valueFrom.template: the template of patch "size" cannot be read: line 1: missing value for if`,
		}},
		"enabledIf": {[]string{`enabledIf: "true"`, `enabledIf: "{{ now }}"`}, []string{
			class + `spec.patches[0].enabledIf: the template of patch "size" cannot be read: line 1: function "now" not defined`,
		}},
		"selector of nothing": {[]string{selector, "matchResources: {}"}, []string{
			class + patches + `.selector.matchResources: patch "size" selects nothing (use controlPlane, infrastructureCluster, machineDeploymentClass or machinePoolClass)`,
		}},
		"selector of another kind": {[]string{selector, "matchResources: {infrastructureCluster: true, machineDeploymentClass: {names: [x*, a*b]}}"}, []string{
			class + patches + `.selector.matchResources.infrastructureCluster: patch "size" selects nothing: the class refers to no CloudMachineTemplate of infrastructure.cluster.x-k8s.io/v1beta2 there`,
			class + patches + `.selector.matchResources.machineDeploymentClass.names[0]: patch "size" selects nothing: the class refers to no CloudMachineTemplate of infrastructure.cluster.x-k8s.io/v1beta2 there`,
			class + patches + `.selector.matchResources.machineDeploymentClass.names[1]: "a*b": a * may be the first or the last letter only`,
		}},
		"name template": {[]string{names, names + `      naming: {template: "{{ .cluster.name | upper }}"}` + "\n"}, []string{
			class + `spec.workers.machineDeployments[0].naming.template: cannot be read: line 1: function "upper" not defined`,
		}},

		"version": {[]string{version, "    version: 1.34\n"}, []string{cluster + `spec.topology: cannot be read: json: cannot unmarshal number into Go struct field Topology.spec.topology.version of type string`}},
		"no version": {[]string{version, "    version: latest\n"}, []string{
			cluster + `spec.topology.version: "latest" must be a version of Kubernetes such as "v1.34.1"`,
		}},
		"version of the class": {[]string{"spec:\n  infrastructure:", "spec:\n  kubernetesVersions: [v1.33.0, v1.34.0]\n  infrastructure:"}, []string{
			cluster + `spec.topology.version: "v1.34.1" is not in kubernetesVersions of ClusterClass default/small (it has v1.33.0, v1.34.0)`,
		}},
		"pool of no class": {[]string{pools, "{machineDeployments: [{class: big, name: md-0}]}"}, []string{
			cluster + `spec.topology.workers.machineDeployments[0].class: ClusterClass default/small has no class of machines called "big" (it has worker)`,
		}},
		"pools of one name": {[]string{pools, "{machineDeployments: [{class: worker, name: md-0}, {class: worker, name: md-0}]}"}, []string{
			cluster + `spec.topology.workers.machineDeployments[1].name: another pool is called "md-0" too (rename one of them)`,
		}},
		"names of pools": {[]string{names, names + `      naming: {template: "{{ .cluster.name }}"}` + "\n", pools, "{machineDeployments: [{class: worker, name: a}, {class: worker, name: b}]}"}, []string{
			class + `spec.workers.machineDeployments[0].naming.template: names two pools of Cluster default/eu-1 "eu-1": a and b (put {{ .machineDeployment.topologyName }} into it)`,
		}},
		"name of nothing": {[]string{names, names + `      naming: {template: "{{ .machinePool.topologyName }}"}` + "\n"}, []string{
			class + `spec.workers.machineDeployments[0].naming.template: makes no name: line 1:15: at <.machinePool.topologyName>: map has no entry for key "machinePool"`,
		}},
		"order of versions": {[]string{"spec:\n  infrastructure:", "spec:\n  kubernetesVersions: [v1.34.1, v1.33.0, 1.35.0, latest]\n  infrastructure:"}, []string{
			class + "spec.kubernetesVersions[1]: v1.33.0 must be newer than v1.34.1 (sort them from the oldest to the newest)",
			class + `spec.kubernetesVersions[2]: "1.35.0" must be a version of Kubernetes such as "v1.34.1"`,
			class + `spec.kubernetesVersions[3]: "latest" must be a version of Kubernetes such as "v1.34.1"`,
		}},
		"same version": {[]string{"spec:\n  infrastructure:", "spec:\n  kubernetesVersions: [v1.34.1, v1.34.1]\n  infrastructure:"}, []string{
			class + "spec.kubernetesVersions[1]: v1.34.1 must be newer than v1.34.1 (sort them from the oldest to the newest)",
		}},
		"builds of a version": {[]string{"spec:\n  infrastructure:", "spec:\n  kubernetesVersions: [v1.34.1, v1.34.1+b.2, v1.34.1+a.1]\n  infrastructure:"}, nil},
		"gap between versions": {[]string{"spec:\n  infrastructure:", "spec:\n  kubernetesVersions: [v1.32.0, v1.34.1]\n  infrastructure:"}, []string{
			class + "spec.kubernetesVersions[1]: a version of minor 33 must come before v1.34.1 (list a version of each minor: clusters are upgraded through all of them)",
		}},
		"version without v": {[]string{"version: v1.34.1", "version: 1.34.1"}, nil},
		"concurrency": {[]string{"metadata: {name: eu-1}", "metadata: {name: eu-1, annotations: {topology.cluster.x-k8s.io/upgrade-concurrency: '0'}}"}, []string{
			cluster + `metadata.annotations.topology.cluster.x-k8s.io/upgrade-concurrency: "0" must be a number of pools, at least 1`,
		}},
		"health of nothing": {[]string{"controlPlane: {replicas: 1}", "controlPlane: {replicas: 1, healthCheck: {enabled: true}}"}, []string{
			cluster + `spec.topology.controlPlane.healthCheck.enabled: neither the Cluster nor ClusterClass default/small says what is healthy`,
		}},

		"unknown variable": {[]string{values, "variables: [{name: sise, value: 2}]"}, []string{
			cluster + `spec.topology.variables[0].name: ClusterClass default/small has no variable "sise" (it has size)`,
		}},
		"variable twice": {[]string{values, "variables: [{name: size, value: 2}, {name: size, value: 2}]"}, []string{
			cluster + `spec.topology.variables[1].name: variable "size" is set twice (keep one of them)`,
		}},
		"variable against the schema": {[]string{values, "variables: [{name: size, value: 0}]"}, []string{
			cluster + `spec.topology.variables[0].value: variable "size": Invalid value: 0: should be greater than or equal to 1`,
		}},
		"override against the schema": {[]string{pools, "{machineDeployments: [{class: worker, name: md-0, variables: {overrides: [{name: size, value: x}]}}]}"}, []string{
			cluster + `spec.topology.workers.machineDeployments[0].variables.overrides[0].value: variable "size": Invalid value: "string": must be of type integer: "string"`,
		}},
		"variable against a rule": {
			[]string{schema, `schema: {openAPIV3Schema: {type: integer, x-kubernetes-validations: [{rule: "self % 2 == 0", message: must be even}]}}`, values, "variables: [{name: size, value: 3}]"},
			[]string{cluster + `spec.topology.variables[0].value: variable "size": Invalid value: 3: must be even`},
		},
		"unknown field of a variable": {
			[]string{schema, "schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}", values, "variables: [{name: size, value: {b: x}}]"},
			[]string{cluster + `spec.topology.variables[0].value.b: variable "size": Forbidden: the schema of the variable has no such field`},
		},
		"required variable": {[]string{schema, "required: true\n    schema: {openAPIV3Schema: {type: integer}}"}, []string{
			cluster + `spec.topology.variables: variable "size" of ClusterClass default/small must be set`,
		}},

		"variable without value": {[]string{schema, "schema: {openAPIV3Schema: {type: integer}}"}, []string{
			class + patches + `.jsonPatches[0].valueFrom.variable: patch "size" fails for CloudMachineTemplate default/small: the variable "size" has no value (give the variable a value or a default, or the patch an enabledIf)`,
		}},
		"path of nothing": {[]string{"path: /spec/template/spec/size", "path: /spec/template/spec/a/size"}, []string{
			class + patches + `.jsonPatches[0]: patch "size" cannot add /spec/template/spec/a/size of CloudMachineTemplate default/small: the template has no such path`,
		}},
		"removal of nothing": {[]string{"{op: add, path: /spec/template/spec/size, " + from + "}", "{op: remove, path: /spec/template/spec/size}"}, []string{
			class + patches + `.jsonPatches[0]: patch "size" cannot remove /spec/template/spec/size of CloudMachineTemplate default/small: the template has no such path`,
		}},
		"replacement of nothing": {[]string{"{op: add, path: /spec/template/spec/size, " + from + "}", "{op: replace, path: /spec/template/spec/size, " + from + "}"}, []string{
			class + patches + `.jsonPatches[0]: patch "size" cannot replace /spec/template/spec/size of CloudMachineTemplate default/small: the template has no such path`,
		}},
		"template that fails": {[]string{from, `valueFrom: {template: "{{ fail \"no\" }}"}`}, []string{
			class + patches + `.jsonPatches[0].valueFrom.template: patch "size" fails for CloudMachineTemplate default/small: line 1:3: at <fail "no">: error calling fail: no (give the variable a value or a default, or the patch an enabledIf)`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := problemsOf(t, tc.change...)
			for i, want := range tc.want {
				if i < len(got) && strings.HasPrefix(got[i], want) && len(got[i]) < len(want)+200 {
					got[i] = want // the library has its own words after ours
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A class that takes too much is one problem, after a time that a person waits.
func TestHostileClasses(t *testing.T) {
	const (
		schema = "schema: {openAPIV3Schema: {type: integer, minimum: 1, default: 1}}"
		value  = "valueFrom: {variable: size}"
		op     = "      - {op: add, path: /spec/template/spec/size, valueFrom: {variable: size}}\n"
		work   = "the class takes too much work"
	)
	var pools []string
	for i := range 200 {
		pools = append(pools, fmt.Sprintf("{class: worker, name: md-%d}", i))
	}
	many := []string{"[{class: worker, name: md-0}]", "[" + strings.Join(pools, ", ") + "]", "{controlPlane: true}", "{controlPlane: true, machineDeploymentClass: {names: ['*']}}"}
	cases := map[string]struct {
		change []string
		want   string
	}{
		"slow template for each pool": {append(many, value, `valueFrom: {template: "{{ range until 1000 }}{{ range until 10 }}{{ end }}{{ end }}"}`), work},
		"large values": {append(many, op, strings.Repeat(op, 200), schema,
			"schema: {openAPIV3Schema: {type: string, default: "+strings.Repeat("x", 100_000)+"}}"), work},
		"large variable for each template": {[]string{
			op, strings.Repeat(strings.Replace(op, value, "valueFrom: {template: '{{ set (dict) \"x\" 1 }}'}", 1), 500), schema,
			"schema: {openAPIV3Schema: {type: string, default: " + strings.Repeat("x", 100_000) + "}}",
		}, work},
		"elements of a large variable": {[]string{
			op, strings.Repeat(strings.Replace(op, "variable: size", "variable: 'size[0]'", 1), 1000), schema,
			"schema: {openAPIV3Schema: {type: array, items: {type: integer}, default: [" + strings.Repeat("1,", 49_999) + "1]}}",
		}, work},
		"costly rule": {[]string{
			schema, `schema: {openAPIV3Schema: {type: array, items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}]}}`,
			"variables: []", "variables: [{name: size, value: [" + strings.Repeat("1,", 999) + "1]}]",
		}, "cost limit exceeded"},
		"many rules": {[]string{schema, "schema: {openAPIV3Schema: {type: integer, x-kubernetes-validations: [" + strings.Repeat("{rule: 'self > 0'}, ", 600) + "]}}"}, "600 CEL rules"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			got := problemsOf(t, tc.change...)
			t.Logf("took %s", time.Since(start))
			if len(got) == 0 || len(got) > 2 || !strings.Contains(got[0], tc.want) {
				t.Errorf("got %.300q, want one problem with %q", got, tc.want)
			}
		})
	}
}
