package decode

import (
	"fmt"
	"slices"
	"strings"
)

// subjects are the objects whose fields are changed, in each version.
func subjects() []subject {
	const controlPlane = "Cluster DevCluster KubeadmControlPlane DevMachineTemplate Secret"
	var out []subject
	for _, version := range []string{"v1beta2", "v1beta1"} {
		class, plain := "class-"+version, "plain-"+version
		out = append(out,
			subject{kind: "ClusterClass.cluster.x-k8s.io", version: version, overlay: class},
			subject{kind: "Cluster.cluster.x-k8s.io", version: version, overlay: class, below: "spec.topology"},
			// What it configures kubeadm with is copied: the KubeadmControlPlane has it.
			subject{kind: "KubeadmControlPlaneTemplate.controlplane.cluster.x-k8s.io", version: version, overlay: class, without: "spec.template.spec.kubeadmConfigSpec."},
			subject{kind: "Cluster.cluster.x-k8s.io", version: version, overlay: plain, without: "spec.topology"},
			subject{kind: "KubeadmControlPlane.controlplane.cluster.x-k8s.io", version: version, overlay: plain, only: controlPlane},
			subject{kind: "KubeadmConfigTemplate.bootstrap.cluster.x-k8s.io", version: version, overlay: plain, only: controlPlane + " MachineDeployment KubeadmConfigTemplate"},
			subject{kind: "KubeadmConfig.bootstrap.cluster.x-k8s.io", version: version, overlay: plain, only: controlPlane + " Machine KubeadmConfig DevMachine"},
			subject{kind: "MachineDeployment.cluster.x-k8s.io", version: version, overlay: plain},
			subject{kind: "MachineSet.cluster.x-k8s.io", version: version, overlay: plain},
			subject{kind: "Machine.cluster.x-k8s.io", version: version, overlay: plain},
			subject{kind: "MachineHealthCheck.cluster.x-k8s.io", version: version, overlay: plain},
			subject{kind: "MachineDrainRule.cluster.x-k8s.io", version: version, overlay: plain},
			subject{kind: "ClusterResourceSet.addons.cluster.x-k8s.io", version: version, overlay: plain},
		)
	}
	return append(out, providerSubjects()...)
}

// seeds are what fields hold, by their name, that cannot hold one field alone.
func seeds(version string) map[string]string {
	condition := func(kind string) string {
		if version == "v1beta1" {
			return "[{type: " + kind + ", status: Unknown, timeout: 60s}]"
		}
		return "[{type: " + kind + ", status: Unknown, timeoutSeconds: 60}]"
	}
	argument := "[{name: a, value: b}]"
	if version == "v1beta1" {
		argument = "{a: b}"
	}
	return map[string]string{
		"unhealthyNodeConditions":    condition("Ready"),
		"unhealthyConditions":        condition("Ready"),
		"unhealthyMachineConditions": condition("example.com/a"),

		"nodeRegistration":  "{taints: [{key: a, effect: NoSchedule}]}",
		"taints":            "[{key: a, effect: NoSchedule, propagation: Always}]",
		"readinessGates":    "[{conditionType: example.com/a}]",
		"availabilityGates": "[{conditionType: Paused}]",
		"matchExpressions":  "[{key: a, operator: In, values: [b]}]",
		"external":          `{endpoints: ["https://e:2379"], caFile: /a, certFile: /b, keyFile: /c}`,
		"bootstrapTokens":   "[{token: abcdef.0123456789abcdef}]",
		"files":             "[{path: /a}]",
		"users":             "[{name: a}]",
		"secret":            "{name: s, key: a}",
		"extraVolumes":      "[{name: a, hostPath: /a, mountPath: /b}]",
		"extraEnvs":         "[{name: A}]",
		"secretKeyRef":      "{name: s, key: a}",
		"configMapKeyRef":   "{name: s, key: a}",
		"fileKeyRef":        "{volumeName: v, path: p, key: a}",
		"resourceFieldRef":  "{resource: limits.cpu}",
		"fieldRef":          "{fieldPath: spec.nodeName}",
		"filesystems":       "[{device: /dev/a, filesystem: ext4, label: a}]",
		"partitions":        "[{device: /dev/a, diskLayout: [{percentage: 50}]}]",
		"file":              "{kubeConfigPath: /k}",
		"kubeConfig":        "{user: {exec: {command: a}}}",
		"env":               "[{name: A, value: b}]",
		"strings":           "[{key: a, value: b}]",
		"extraArgs":         argument,
		"kubeletExtraArgs":  argument,
		"strategy":          "{type: RollingUpdate}",
	}
}

// mutations is the table; of several that fit a field the first counts.
func mutations() []mutation {
	return slices.Concat(rebootMutations(), variableMutations(), topologyMutations(), distributionMutations(), kubeadmMutations(), coreMutations())
}

// rebootMutations are of references to templates of a remediation, which no overlay here has.
func rebootMutations() (out []mutation) {
	other := map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "X", "name": "x"}
	for _, ref := range []string{".healthCheck.remediation.templateRef", ".machineHealthCheck.remediationTemplate"} {
		for _, kind := range []string{"ClusterClass ", "Cluster "} {
			below := "spec."
			if kind == "Cluster " {
				below = "spec.topology."
			}
			for _, of := range []string{"controlPlane", "workers.machineDeployments"} {
				for _, f := range []string{"apiVersion", "kind", "name"} {
					out = append(out, mutation{field: kind + below + of + ref + "." + f, at: below + of + ref, to: other, problem: "which the overlay does not hold"})
				}
			}
		}
	}
	for _, ref := range []string{"spec.remediation.templateRef", "spec.remediationTemplate"} {
		for _, f := range []string{"apiVersion", "kind", "name"} {
			out = append(out, mutation{field: "MachineHealthCheck " + ref + "." + f, at: ref, to: other, problem: "which the overlay does not hold"})
		}
	}
	return out
}

// withVariable is a class whose variable i has another schema.
func withVariable(i int, schema string) string {
	all := []string{"text", "number", "list", "object", "unset"}
	schemas := []string{
		"{type: string}", "{type: integer}", "{type: array, items: {type: string}}",
		"{type: object, properties: {a: {type: string}}}", "{type: string, default: d}",
	}
	schemas[i] = schema
	for j, name := range all {
		all[j] = fmt.Sprintf("{name: %s, required: %t, schema: {openAPIV3Schema: %s}}", name, j == 0, schemas[j])
	}
	return "spec: {variables: [" + strings.Join(all, ", ") + "]}"
}

// variableMutations are those of the schemas of variables. Variable 0 of the class
// is a text, then come a number, a list, an object and one that is not set.
func variableMutations() []mutation {
	const schema = ".openAPIV3Schema."
	at := func(variable int, keyword string) string {
		return fmt.Sprintf("spec.variables.%d.schema.openAPIV3Schema.%s", variable, keyword)
	}
	any1 := []any{map[string]any{"pattern": "^z"}}
	out := []mutation{
		{field: schema + "type", to: "integer", problem: "must be of type integer"},
		{field: schema + "properties", at: at(3, "properties"), to: map[string]any{"b": map[string]any{"type": "string"}}, problem: "has no such field"},
		{field: schema + "additionalProperties", given: withVariable(3, "{type: object, additionalProperties: {type: string}}"), at: at(3, "additionalProperties.type"), to: "integer", problem: "must be of type integer"},
		{field: schema + "maxProperties", at: at(3, "maxProperties"), to: 0, problem: "at most 0"},
		{field: schema + "minProperties", at: at(3, "minProperties"), to: 2, problem: "at least 2"},
		{field: schema + "required", at: at(3, "required"), to: []any{"b"}, problem: "Required value"},
		{field: schema + "items", at: at(2, "items.type"), to: "integer", problem: "must be of type integer"},
		{field: schema + "maxItems", at: at(2, "maxItems"), to: 1, problem: "at most 1"},
		{field: schema + "minItems", at: at(2, "minItems"), to: 3, problem: "at least 3"},
		{field: schema + "uniqueItems", given: withVariable(4, "{type: array, items: {type: string}, default: [a, a]}"), at: at(4, "uniqueItems"), to: true, problem: "uplicate"},
		{field: schema + "format", at: at(0, "format"), to: "ipv4", problem: "ipv4"},
		{field: schema + "maxLength", at: at(0, "maxLength"), to: 2, problem: "may not be more than 2"},
		{field: schema + "minLength", at: at(0, "minLength"), to: 9, problem: "at least 9"},
		{field: schema + "pattern", at: at(0, "pattern"), to: "^z", problem: "should match '^z'"},
		{field: schema + "maximum", at: at(1, "maximum"), to: 4, problem: "less than or equal to 4"},
		{field: schema + "exclusiveMaximum", given: withVariable(1, "{type: integer, maximum: 5}"), at: at(1, "exclusiveMaximum"), to: true, problem: "less than 5"},
		{field: schema + "minimum", at: at(1, "minimum"), to: 6, problem: "greater than or equal to 6"},
		{field: schema + "exclusiveMinimum", given: withVariable(1, "{type: integer, minimum: 5}"), at: at(1, "exclusiveMinimum"), to: true, problem: "greater than 5"},
		{field: schema + "x-kubernetes-preserve-unknown-fields", given: withVariable(3, "{type: object, x-kubernetes-preserve-unknown-fields: true}"), at: at(3, "x-kubernetes-preserve-unknown-fields"), to: false, problem: "has no such field"},
		{field: schema + "enum", at: at(0, "enum"), to: []any{"z"}, problem: `supported values: "z"`},
		{field: schema + "default", at: at(4, "default"), to: "e"},
		{field: schema + "x-kubernetes-int-or-string", given: withVariable(1, "{x-kubernetes-int-or-string: true}"), at: at(1, "x-kubernetes-int-or-string"), to: false, problem: "type"},
		{field: schema + "allOf", at: at(0, "allOf"), to: any1, problem: "should match '^z'"},
		{field: schema + "anyOf", at: at(0, "anyOf"), to: any1, problem: "anyOf"},
		{field: schema + "oneOf", at: at(0, "oneOf"), to: any1, problem: "oneOf"},
		{field: schema + "not", at: at(0, "not.pattern"), to: "^a", problem: "not"},
	}
	rule := schema + "x-kubernetes-validations."
	text := withVariable(0, "{type: string, x-kubernetes-validations: [{rule: self == 'z'}]}")
	return append(out,
		mutation{field: rule + "rule", given: withVariable(0, "{type: string, x-kubernetes-validations: [{rule: 'true'}]}"), to: "self == 'z'", problem: "failed rule"},
		mutation{field: rule + "message", given: text, to: "in these words", problem: "in these words"},
		mutation{field: rule + "messageExpression", given: text, to: "'of ' + self", problem: "of abc"},
		mutation{field: rule + "reason", given: text, to: "FieldValueForbidden", problem: "Forbidden"},
		mutation{field: rule + "fieldPath", given: withVariable(3, "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self.a == 'z'}]}"), at: at(3, "x-kubernetes-validations.0.fieldPath"), to: ".a", problem: "spec.topology.variables[3].value.a"},
	)
}

func topologyMutations() []mutation {
	const class, health = "ClusterClass ", "healthCheck: {checks: {nodeStartupTimeoutSeconds: 60}}"
	const oldHealth = "machineHealthCheck: {nodeStartupTimeout: 60s}"
	pool := func(more string) string {
		return "spec: {topology: {workers: {machineDeployments: [{name: md-0, class: small, replicas: 2, " + more + "}]}}}"
	}
	patch := `spec: {patches: [{name: text, definitions: [{selector: {apiVersion: %s, kind: KubeadmConfigTemplate,
		matchResources: {machineDeploymentClass: {names: [small]}}}, jsonPatches: [{op: remove, path: /spec/none}]}]}]}`
	out := []mutation{
		{field: class + "spec.kubernetesVersions", to: []any{"v1.33.1"}, problem: "is not in kubernetesVersions"},
		{field: class + "spec.variables.name", at: "spec.variables.3.name", to: "other", problem: `no variable "object"`},
		{field: class + "spec.variables.required", given: withVariable(4, "{type: string}"), at: "spec.variables.4.required", to: true, problem: "must be set"},
		{field: class + "v1beta2 spec.patches.name", given: fmt.Sprintf(patch, "bootstrap.cluster.x-k8s.io/v1beta2"), problem: "textx"},
		{field: class + "v1beta1 spec.patches.name", given: fmt.Sprintf(patch, "bootstrap.cluster.x-k8s.io/v1beta1"), problem: "textx"},
		{field: class + "spec.patches.enabledIf", to: "false"},
		{field: ".selector.apiVersion", to: "bootstrap.cluster.x-k8s.io/v1", problem: "selects nothing"},
		{field: ".selector.kind", to: "DevMachineTemplate", problem: "selects nothing"},
		{field: ".matchResources.controlPlane", at: "spec.patches.2.definitions.0.selector.matchResources.controlPlane", problem: "selects nothing"},
		{field: ".matchResources.infrastructureCluster", at: "spec.patches.3.definitions.0.selector.matchResources.infrastructureCluster", problem: "selects nothing"},
		{field: ".matchResources.machineDeploymentClass.names", to: []any{"other"}, problem: "selects nothing"},
		{field: ".matchResources.machinePoolClass.names", to: []any{"other"}, problem: "selects nothing"},
		{field: ".jsonPatches.op", at: "spec.patches.2.definitions.0.jsonPatches.0.op", to: "remove", problem: "no such path"},
		{field: ".jsonPatches.path", to: "/spec/template/spec/postKubeadmCommands/-", problem: "no such path"},
		{field: ".jsonPatches.value", at: "spec.patches.0.definitions.0.jsonPatches.2.value", to: "echo b"},
		{field: ".jsonPatches.valueFrom.variable", to: "unset"},
		{field: ".jsonPatches.valueFrom.template", at: "spec.patches.0.definitions.0.jsonPatches.1.valueFrom.template", to: "echo x"},
		{field: class + "spec.workers.machineDeployments.class", given: "spec: {patches: []}", to: "other", problem: "no class of machines"},
		{field: class + "spec.workers.machinePools.class", given: "spec: {patches: []}", to: "other", problem: "no class of machine pools"},

		{field: "Cluster spec.topology.version", to: "v1.35.1"},
		{field: "Cluster spec.topology.classRef.name", to: "z", problem: "ClusterClass prod/z is neither"},
		{field: "Cluster spec.topology.classRef.namespace", to: "z", problem: "ClusterClass z/c is neither"},
		{field: "Cluster spec.topology.class", to: "z", problem: "ClusterClass prod/z is neither"},
		{field: "Cluster spec.topology.classNamespace", to: "z", problem: "ClusterClass z/c is neither"},
		{field: "Cluster spec.topology.controlPlane.replicas", to: 1},
		{field: "Cluster spec.topology.variables.name", to: "z", problem: `no variable "z"`},
		{field: "Cluster spec.topology.variables.value", at: "spec.topology.variables.1.value", to: 6},
		{field: "Cluster spec.topology.workers.machineDeployments.class", to: "other", problem: "no class of machines"},
		{field: "Cluster spec.topology.workers.machinePools.class", to: "other", problem: "no class of machine pools"},
		{field: ".variables.overrides.name", to: "unset"},
		{field: "Cluster spec.topology.controlPlane.healthCheck.enabled", given: "spec: {topology: {controlPlane: {" + health + "}}}", to: false},
		{field: "Cluster spec.topology.controlPlane.machineHealthCheck.enable", given: "spec: {topology: {controlPlane: {" + oldHealth + "}}}", to: false},
		{field: "Cluster spec.topology.workers.machineDeployments.healthCheck.enabled", given: pool(health), to: false},
		{field: "Cluster spec.topology.workers.machineDeployments.machineHealthCheck.enable", given: pool(oldHealth), to: false},
	}
	for _, ref := range []string{".templateRef", ".ref"} {
		out = append(out,
			mutation{field: ref + ".name", to: "other"},
			mutation{field: ref + ".kind", to: "OtherTemplate", problem: "which the overlay does not hold"},
			mutation{field: ref + ".apiVersion", problem: "refers to version"},
		)
	}
	for _, naming := range []string{".naming", ".namingStrategy", "ClusterClass spec.infrastructureNamingStrategy"} {
		out = append(out, mutation{field: naming + ".template", to: "{{ .cluster.name }}-named"})
	}
	return out
}

func kubeadmMutations() []mutation {
	out := []mutation{
		{field: ".external.endpoints", to: []any{"https://f:2379"}},
		{field: ".resourceFieldRef.divisor", to: "2"},
		{field: ".bootstrapTokens.token", to: "abcdef.0123456789abcdee"},
		{field: ".diskLayout.partitionType", to: "Linux"},
		{field: ".dns.imageTag", to: "v1.12.0"},
		{field: ".secret.name", to: "t"},
		{field: ".secret.key", to: "b"},
	}
	const ignition = "format: ignition"
	for _, kind := range []struct{ below, given string }{
		{"KubeadmControlPlane spec.kubeadmConfigSpec", "spec: {kubeadmConfigSpec: {" + ignition + "}}"},
		{"KubeadmConfigTemplate spec.template.spec", "spec: {template: {spec: {" + ignition + "}}}"},
		{"KubeadmConfig spec", "spec: {" + ignition + "}"},
	} {
		for _, f := range []string{"name", "config"} {
			out = append(out, mutation{field: kind.below + ".joinConfiguration.discovery.file.kubeConfig.user.authProvider." + f, given: strings.Replace(kind.given, ignition,
				"joinConfiguration: {discovery: {file: {kubeConfigPath: /k, kubeConfig: {user: {authProvider: {name: a}, exec: null}}}}}", 1)})
		}
		config, given := kind.below+".ignition.containerLinuxConfig", kind.given
		out = append(out,
			mutation{field: config + ".additionalConfig", given: given, to: "systemd: {units: [{name: a.service}]}"},
			mutation{field: config + ".strict", given: given},
			mutation{field: kind.below + ".diskSetup.partitions.layout", given: strings.Replace(given, ignition, "diskSetup: {partitions: [{device: /dev/a, layout: true}]}", 1)},
		)
	}
	return out
}

func coreMutations() []mutation {
	const missing = "which the overlay does not hold"
	out := []mutation{
		{field: ".unhealthyInRange", to: "[1-3]"},
		{field: ".unhealthyRange", to: "[1-3]"},
		{field: ".deletion.order", to: "Oldest"},
		{field: ".deletePolicy", to: "Oldest"},
		{field: "KubeadmControlPlane spec.replicas", to: 3},
		{field: "KubeadmControlPlane spec.version", to: "v1.34.2"},
		{field: ".spec.version", to: "v1.34.0"},
		{field: "spec.version", to: "v1.34.0"},
		{field: ".matchExpressions.operator", to: "NotIn"},
		{field: ".availabilityGates.conditionType", to: "RollingOut"},
		{field: ".cidrBlocks", to: []any{"10.2.0.0/16"}},
		{field: ".controlPlaneEndpoint.host", given: "spec: {controlPlaneEndpoint: {host: a, port: 6443}}"},
		{field: ".controlPlaneEndpoint.port", given: "spec: {controlPlaneEndpoint: {host: a, port: 6443}}"},
		{field: ".timeout", to: "77s"},

		{field: "KubeadmControlPlaneTemplate spec.template.metadata.annotations", to: map[string]any{"cluster.x-k8s.io/paused": ""}},
		{field: "MachineDrainRule metadata.namespace", problem: "of which the overlay holds none"},
		{field: "ClusterResourceSet spec.resources.name", to: "other"},
		{field: "ClusterResourceSet spec.strategy", to: "Reconcile"},
		{field: "Machine metadata.ownerReferences.controller", problem: "it is made by"},
		{field: "MachineSet metadata.ownerReferences.controller", problem: "it is made by"},
		{field: "Machine spec.clusterName", problem: missing},
		{field: "MachineHealthCheck spec.clusterName", problem: missing},
		{field: ".clusterName", problem: "must be the same"},
	}
	for _, of := range []string{"init", "join"} {
		out = append(out, mutation{
			field:   "KubeadmControlPlane spec.kubeadmConfigSpec." + of + "Configuration.timeouts.controlPlaneComponentHealthCheckSeconds",
			problem: "must be the same in initConfiguration and joinConfiguration",
		})
	}
	for _, kind := range []string{"Cluster", "KubeadmControlPlane", "MachineDeployment", "MachineSet", "Machine", "MachineHealthCheck", "ClusterResourceSet"} {
		out = append(out, mutation{field: kind + " metadata.annotations", to: map[string]any{"cluster.x-k8s.io/paused": ""}})
	}
	for _, e := range []string{"key", "operator", "values"} {
		m := mutation{field: "ClusterResourceSet spec.clusterSelector.matchExpressions." + e, given: "spec: {clusterSelector: {matchExpressions: [{key: stage, operator: In, values: [prod]}]}}"}
		if e == "operator" {
			m.to = "NotIn"
		}
		out = append([]mutation{m}, out...)
	}
	for _, kind := range []string{"MachineDeployment", "MachineSet"} {
		out = append(out,
			mutation{field: kind + " spec.selector.matchLabels", problem: "must match spec.selector"},
			mutation{field: kind + " spec.template.metadata.labels", to: map[string]any{"tier": "web", "a": "c"}},
		)
		for _, e := range []string{"key", "operator", "values"} {
			m := mutation{field: kind + " spec.selector.matchExpressions." + e, given: "spec: {template: {metadata: {labels: {a: b}}}}", problem: "must match spec.selector"}
			if e == "operator" {
				m.to = "NotIn"
			}
			out = append([]mutation{m}, out...)
		}
	}
	for _, ref := range []string{".controlPlaneRef", ".infrastructureRef", ".configRef"} {
		out = append(out, mutation{field: ref + ".name", to: "other"}, mutation{field: ref + ".kind", problem: missing}, mutation{field: ref + ".apiGroup", problem: missing},
			mutation{field: ref + ".apiVersion", to: "other.x-k8s.io/v1beta1", problem: missing},
			mutation{field: ref + ".namespace", problem: "references do not leave it"},
		)
	}
	for _, strategy := range []string{"spec.rollout.strategy", "spec.rolloutStrategy"} {
		plain, template := "KubeadmControlPlane "+strategy, "KubeadmControlPlaneTemplate spec.template."+strategy
		out = append(out,
			mutation{field: plain + ".rollingUpdate.maxSurge", given: "spec: {replicas: 3}", to: 0},
			mutation{field: template + ".rollingUpdate.maxSurge", to: 0},
			mutation{field: plain + ".type", to: "OnDelete", problem: "is not a value"},
			mutation{field: template + ".type", to: "OnDelete", problem: "is not a value"},
		)
	}
	for _, naming := range []string{".machineNaming.template", ".machineNamingStrategy.template"} {
		out = append(out,
			mutation{field: "MachineDeployment spec" + naming, to: "{{ .machineSet.name }}-a-{{ .random }}"},
			mutation{field: "MachineSet spec" + naming, to: "{{ .machineSet.name }}-a-{{ .random }}"},
			mutation{field: naming, to: "{{ .kubeadmControlPlane.name }}-a-{{ .random }}"},
		)
	}
	return append(out, mutation{field: ".strategy.type", to: "OnDelete"}, mutation{field: ".rollingUpdate.maxSurge", to: 2})
}
